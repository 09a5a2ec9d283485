import { chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { approve, callsOf, designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { implementerWriting } from '../support/languages/repository.ts';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { agentos, type Ended, WITHOUT_SANDBOX } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';

const BRANCH = 'agentos/42-add-a-number';

interface Item {
  status: string;
  attempts: number;
  error: { code: string; message: string; hint: string } | null;
}

async function itemOf(repository: TestRepository): Promise<Item> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/summary.json`)).items[0];
}

interface Bench {
  repository: TestRepository;
  implement: (...args: string[]) => Promise<Ended>;
  /** The phases that the implementer was called for. */
  phases: () => Promise<string[]>;
}

/** The usual sample with other files, and an implementer that behaves well and is counted. */
async function bench(files: Record<string, string | null>): Promise<Bench> {
  const repository = await designedRepository([]);
  for (const [path, text] of Object.entries(files)) {
    if (text === null) await rm(join(repository.root, path));
    else await repository.write(path, text);
    if (text?.startsWith('#!')) await chmod(join(repository.root, path), 0o755);
  }
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Their tests');
  await approve(repository, '42', lldFor('42'));
  const state = join(repository.home, '..', 'calls.jsonl');
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const flags = ['--implementer', implementer({ state }), '--reviewer', reviewer, ...WITHOUT_SANDBOX];
  return {
    repository,
    implement: (...args) =>
      agentos(['implement', '42', '--trust', ...args, ...flags], {
        cwd: repository.root,
        env: { HOME: repository.home },
      }),
    phases: async () => (await callsOf(state)).map(({ phase }) => phase),
  };
}

const scripted = (test: string, more: object = {}): Record<string, string> => ({
  'package.json': JSON.stringify({ name: 'sample', type: 'module', scripts: { test }, ...more }),
});

test('a test script that is not understood fails before anything is made or paid for, and doctor says so', async () => {
  const { repository, implement, phases } = await bench({
    ...scripted('lab test/*.js', { devDependencies: { '@hapi/lab': '*' } }),
  });
  const before = repository.git('for-each-ref');
  const { code, stdout } = await implement();
  expect(code).toBe(1);
  expect(stdout).toContain("[COORDINATOR] Implementations will fail. Can't tell how to run the tests");
  expect(stdout).toContain('"lab test/*.js" starts no known test runner');
  const { error, attempts } = await itemOf(repository);
  expect(error).toMatchObject({ code: 'tests-undetected' });
  expect(error?.hint).toMatch(/agentos\.yaml.*command:.*runner: tap.*runner: junit/);
  expect(attempts).toBe(1);
  expect(await phases()).toEqual([]);
  expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
  expect(repository.git('for-each-ref')).toBe(before);

  const keys = { ANTHROPIC_API_KEY: 'sk-ant-0123456789', GEMINI_API_KEY: 'gem-0123456789' };
  await repository.write('uv.lock', '');
  const options = { cwd: repository.root, env: { HOME: repository.home, ...keys } };
  const doctor = await agentos(['doctor'], options);
  const lines = doctor.stdout.trimEnd().split('\n');
  const at = lines.findIndex((line) => /^\S+ +tests /.test(line));
  expect(lines.filter((line) => /^\S+ +tests /.test(line))).toHaveLength(1);
  expect(lines[at]).toMatch(/^note +tests +tests-undetected: lab test\/\*\.js$/);
  expect(lines[at + 1]).toMatch(/^ +Name the runner in agentos\.yaml/);
  expect(doctor.stdout).toMatch(/^note +set-up +uv: not found, needed for: npm install .* && uv sync --frozen$/m);
  expect(lines.at(-1)).toMatch(/^agentos implement is not ready: .*Designs can be made: agentos lld --all$/);
  expect(doctor.stdout).not.toMatch(/^Ready/m);

  await repository.write(
    'agentos.yaml',
    "tests: { command: 'node --test', runner: node }\nimplement: { setup: false }\n",
  );
  const mended = await agentos(['doctor'], options);
  expect(mended.stdout).toMatch(/^ok +tests +node --test \(node\)$/m);
  expect(mended.stdout).toMatch(/^Ready/m);
});

test.each<[string, Record<string, string | null>, string]>([
  [
    'the command is not there',
    { 'agentos.yaml': 'tests: { command: no-such-runner, runner: tap }\n' },
    'the tests could not be started',
  ],
  [
    'there are test files, and none is run',
    { ...scripted("node --test 'none/*.js'") },
    'although there are test files: test/main.test.js',
  ],
  [
    'its report is missing',
    { 'agentos.yaml': 'tests: { command: echo fine, runner: junit, report: out.xml }\n' },
    'the tests wrote no report',
  ],
  [
    'what they import is not built, and the build fails',
    {
      'package.json': '{ "type": "module", "scripts": { "test": "node --test", "build": "cp -r sources dist" } }\n',
      'test/main.test.js': "import '../dist/main.js';\n",
    },
    "cp: cannot stat 'sources': No such file or directory",
  ],
  [
    'no test file can be loaded',
    { 'src/main.js': 'export const nothing = 0;\n' },
    'no test passed, and 1 file(s) could not be loaded, test/main.test.js first',
  ],
  [
    'it never ends',
    { 'agentos.yaml': 'tests: { command: sleep 600, runner: tap, timeout: 1s }\n' },
    'the tests did not end in time',
  ],
])('a baseline in which nothing runs fails before anything is paid for: %s', async (_, files, said) => {
  const { repository, implement, phases } = await bench(files);
  const { code } = await implement('--max-retries', '0');
  expect(code).toBe(1);
  const { error } = await itemOf(repository);
  expect(error).toMatchObject({ code: 'tests-cannot-run' });
  expect(error?.message).toContain(said);
  expect(await phases()).toEqual([]);
});

test('a set-up that fails shows what its tool says first, and nobody is called', async () => {
  const said = [
    'npm warn deprecated x',
    'npm error code E404',
    'npm error 404 no such package',
    'npm notice New version',
  ];
  const setup = `printf '%s\\n' ${said.map((line) => `'${line}'`).join(' ')} >&2; exit 1`;
  const { repository, implement, phases } = await bench({
    'agentos.yaml': `implement:\n  setup: ${JSON.stringify(setup)}\n`,
  });
  expect((await implement()).code).toBe(1);
  const { error } = await itemOf(repository);
  expect(error).toMatchObject({ code: 'setup-failed' });
  expect(error?.message).toMatch(/: npm error code E404 \| npm error 404 no such package\.$/);
  expect(await phases()).toEqual([]);
});

test('where no file has a test yet, there is nothing to run: that is a baseline', async () => {
  const { repository, implement } = await bench({ 'package.json': '{ "type": "module" }', 'test/main.test.js': null });
  expect((await implement()).code).toBe(0);
  expect(repository.git('show', `${BRANCH}:docs/reports/42.md`)).toContain('| green | holds | `node --test` |');
});

/** Runs of the tests go wrong as a file outside says, one after another: a line each, the first for the next run. */
async function faulty(): Promise<Bench & { faults: (...list: string[]) => Promise<void> }> {
  const found = await bench(scripted('sh ./fault.sh && node --test'));
  const { repository } = found;
  const file = join(repository.home, '..', 'faults');
  await repository.write(
    'fault.sh',
    `next=$(head -n 1 '${file}' 2>/dev/null)
sed -i 1d '${file}'
case $next in
  kill) kill -9 $PPID ;;
  missing) exit 127 ;;
  silent) exit 1 ;;
  slow) sleep 6 ;;
esac
`,
  );
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Faults');
  return { ...found, faults: (...list) => writeFile(file, list.map((fault) => `${fault}\n`).join('')) };
}

test('runs of the tests that are killed or can’t start are made again, and nobody is called again for them', async () => {
  const { repository, implement, phases, faults } = await faulty();
  //            baseline      red              green
  await faults('kill', 'well', 'missing', 'well', 'kill');
  const { code, stdout } = await implement('--max-retries', '3');
  expect(stdout).toContain('the tests were killed');
  expect(stdout).toContain('the tests could not be started');
  expect(code).toBe(0);
  expect((await itemOf(repository)).attempts).toBe(4);
  expect(await phases()).toEqual(['tests', 'code']);
});

test('an old test that fails now and then is run again before the code is blamed, and the report says so', async () => {
  const { repository, implement, phases } = await bench(scripted('node --test'));
  const file = join(repository.home, '..', 'runs');
  await repository.write(
    'test/shaky.test.js',
    `import assert from 'node:assert/strict';
import { appendFileSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

test('shaky', () => {
  appendFileSync('${file}', 'x');
  // The baseline is the first run; the code is seen with coverage, without it, and once more.
  assert.ok(![2, 3].includes(readFileSync('${file}', 'utf8').length));
});
`,
  );
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Shaky');
  const { code, stdout } = await implement('--max-retries', '0');
  expect(stdout).toMatch(/green-1: failed [^]*green-1-again: passed/);
  expect(code).toBe(0);
  expect(await phases()).toEqual(['tests', 'code']);
  expect(repository.git('show', `${BRANCH}:docs/reports/42.md`)).toContain(
    '"shaky" (test/shaky.test.js) failed in one run and passed in the next',
  );
});

test('a set-up and tests that are silent for longer than the idle bound are not ended: they have bounds of their own', async () => {
  const { repository, implement, faults } = await faulty();
  await repository.write('agentos.yaml', 'implement: { setup: sleep 6 }\n');
  await faults('slow');
  const { code, stdout } = await implement('--max-retries', '0', '--idle-timeout', '4s');
  expect(stdout).not.toContain('sign of life');
  expect(code).toBe(0);
});

test('a run without a report is no result: with the cause gone, the item goes on from there without another paid call', async () => {
  const { repository, implement, phases, faults } = await faulty();
  //            baseline  red, and whatever it says    green, without coverage, the base
  await faults('well', 'silent', 'silent', 'silent', 'silent', 'silent');
  expect((await implement('--max-retries', '0')).code).toBe(1);
  expect((await itemOf(repository)).error).toMatchObject({ code: 'tests-cannot-run' });
  expect(await phases()).toEqual(['tests', 'code']);
  const again = await implement('--max-retries', '0');
  expect(again.stdout).toMatch(/reverse: \d new tests? fails? again without the code/);
  expect(again.code).toBe(0);
  expect(await phases()).toEqual(['tests', 'code']);
});

const GUARD_FILE = 'test/main-stays.test.js';
const PLAN = {
  tests: [
    {
      'test/item-42.test.js': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/item-42.js';

for (const kind of ['native', 'plain'])
  test(\`010 adds the number (\${kind})\`, { skip: kind === 'native' }, () => assert.equal(item42(1), 43));
`,
      [GUARD_FILE]: `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answer } from '../src/main.js';

test('020 the answer stays', () => assert.equal(answer, 42));
`,
    },
  ],
  code: [{ 'src/item-42.js': 'export const item42 = (value) => value + 42;\n' }],
};

test('a scenario of type Guard passes before and after the code; a variant that can’t run here may be skipped', async () => {
  const lld = (id: string): string =>
    lldFor(id).replace('| 020 | Refuses text | Auto |', '| 020 | The answer stays | Guard |');
  const repository = await designedRepository(['42'], lld);
  const plan = await implementerWriting(repository, PLAN);
  const reviewer = await reviewerSaying(repository, 'APPROVED');
  const args = ['implement', '42', '--implementer', plan, '--reviewer', reviewer];
  const { code, stdout } = await agentos(args, { cwd: repository.root, env: { HOME: repository.home } });
  expect(stdout).toMatch(/reverse: \d new tests? fails? again without the code/);
  expect(stdout).not.toContain('guards-1');
  expect(code).toBe(0);
  const report = repository.git('show', `${BRANCH}:docs/reports/42.md`);
  expect(report).toContain('| 020 | The answer stays | Guard | `020 the answer stays` |');
  expect(report).toContain('passes before the code, as a guard does');
});

test('a test that passes before the code is asked about: a guard by the reviewer’s word, or back to its writer', async () => {
  const repository = await designedRepository(['42']);
  const state = join(repository.home, '..', 'calls.jsonl');
  const plan = await implementerWriting(repository, { ...PLAN, state });
  const models = await scriptedModels(repository);
  const args = ['implement', '42', '--implementer', plan, '--max-rounds', '1', ...models.flags];
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  await models.answer(
    'review-tests',
    '42',
    review({ verdict: 'REVISE', tier2: ['**020:** assert that text is refused.'] }),
  );
  const refused = await agentos(args, options);
  expect(refused.code).toBe(1);
  expect((await itemOf(repository)).error?.message).toMatch(
    /gate red: .*020 the answer stays.* passes before the code/,
  );
  expect(await models.calls()).toEqual(['review-tests 42']);

  await agentos(['clean', '--discard', '42'], options);
  await models.answer('review-tests', '42', '## Tier 3: SUGGESTIONS\n### Guard\n- **020:** text is refused already\n');
  const { code, stdout } = await agentos(args, options);
  expect(stdout).toMatch(/reverse: \d new tests? fails? again without the code/);
  expect(code).toBe(0);
  expect(await models.calls()).toEqual(['review-tests 42', 'review-tests 42', 'review-code 42']);
  const report = repository.git('show', `${BRANCH}:docs/reports/42.md`);
  expect(report).toContain('scenario 020 (Refuses text) is a guard, by the reviewer');
});

test('a design’s reviewer who names a guard has its type set, and nothing else changes', async () => {
  const repository = await testRepository({ 42: ISSUE });
  const models = await scriptedModels(repository);
  const named = review({ verdict: 'APPROVED' }).replace('- Nothing more.', '### Guard\n- 020 holds before the change.');
  await models.answer('review-lld', '42', named);
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const { code } = await agentos(['lld', '42', ...models.flags], options);
  expect(code).toBe(0);
  const lld = await repository.read('docs/lld/LLD-42.md');
  expect(lld).toContain('| 010 | Adds the number | Auto |');
  expect(lld).toContain('| 020 | Refuses text | Guard |');
  expect(await models.calls()).toEqual(['lld 42', 'review-lld 42']);
});
