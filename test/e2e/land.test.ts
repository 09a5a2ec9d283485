import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { finishedBranch, moduleWithTest, projectRepository, testOf } from '../support/branches.ts';
import { fakeGitHub } from '../support/hosts/github.ts';
import { hostedProject } from '../support/hosts/project.ts';
import { designedRepository, implementer, reviewerSaying } from '../support/implement.ts';
import { vendorEnv } from '../support/models.ts';
import { agentos, PROJECT, startAgentos, WITHOUT_SANDBOX } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { type Answer, startVendor } from '../support/vendor/index.ts';

interface Landed {
  exitCode: number;
  landing: { branch: string | null; onto: string; base: string };
  retryCommand: string | null;
  items: {
    id: string;
    status: string;
    costUsd: number;
    reason: string | null;
    error: { code: string; message: string } | null;
  }[];
}

const placed = (repository: TestRepository) => ({ cwd: repository.root, env: { HOME: repository.home } });

const land = (repository: TestRepository, ...args: string[]) => agentos(['land', ...args], placed(repository));

/** The last line of `--json`. */
function summaryIn(stdout: string): Landed {
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Landed;
}

function eventsIn(stdout: string): Record<string, unknown>[] {
  const lines = stdout.trimEnd().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const testsRun = (stdout: string): unknown[] =>
  eventsIn(stdout)
    .filter(({ type }) => type === 'tests-ran')
    .map(({ step }) => step);

/** All that belongs to the user, and what is left of a landing. */
const ofTheUser = (repository: TestRepository): string =>
  [
    repository.git('status', '--porcelain', '--branch', '--untracked-files=all'),
    repository.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags'),
  ].join('\n');

test('finished branches become one branch, what is built on first, and nothing else is touched', async () => {
  const repository = await projectRepository();
  const later = await finishedBranch(repository, '57', { files: moduleWithTest('57'), tests: ['item 57'] });
  await finishedBranch(repository, '42', { files: moduleWithTest('42'), on: later, tests: ['item 42'] });
  await finishedBranch(repository, '9', { files: moduleWithTest('9'), tests: ['item 9'], dependsOn: ['42'] });
  await repository.write('untracked.txt', 'mine\n');
  const before = ofTheUser(repository);

  const planned = await land(repository, '--all', '--dry-run', '--json');
  expect(planned.code, planned.stderr).toBe(0);
  const plan = JSON.parse(planned.stdout) as { workflow: string; items: { id: string; after: string[] }[] };
  expect(plan).toMatchObject({ workflow: 'land', costCeilingUsd: 0 });
  expect(plan.items.map(({ id, after }) => [id, after])).toEqual([
    ['57', []],
    ['42', ['57']],
    ['9', ['42']],
  ]);
  expect(ofTheUser(repository)).toBe(before);
  expect(await repository.list('.agentos')).toEqual([]);

  const ended = await land(repository, '--all', '--json');
  expect(ended.code, ended.stderr).toBe(0);
  const { landing, items } = summaryIn(ended.stdout);
  expect(landing.branch).toMatch(/^agentos\/land-\d{4}-\d\d-\d\d$/);
  expect(items.map(({ id, status }) => [id, status])).toEqual([
    ['57', 'succeeded'],
    ['42', 'succeeded'],
    ['9', 'succeeded'],
  ]);
  const branch = landing.branch ?? '';
  expect(repository.git('log', '--first-parent', '--format=%s', `main..${branch}`).split('\n')).toEqual([
    'Merge agentos/9-item',
    'Merge agentos/42-item',
    'Merge agentos/57-item',
  ]);
  expect(ofTheUser(repository).replace(new RegExp(`refs/heads/${branch} .*\n`), '')).toBe(before);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);
  // The same again is the same branch; what is merged is not landed again.
  expect(summaryIn((await land(repository, '57', '42', '9', '--json')).stdout).landing.branch).toBe(branch);
  repository.git('merge', '--quiet', branch);
  const merged = await land(repository, '--all');
  expect([merged.code, merged.stdout]).toEqual([0, 'Nothing to do: no finished branch waits to be merged.\n']);
});

test('what breaks the tests, conflicts, or builds on such a branch is out, with the reason; the rest is landed', async () => {
  const repository = await projectRepository();
  await repository.write('test/red.test.js', testOf('red before', '', '1', '2'));
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Red');
  const main = (answer: string) => ({ 'src/main.js': `export const answer = ${answer};\n` });
  const branches: [id: string, files: Record<string, string>, on?: string][] = [
    ['1', moduleWithTest('1')],
    ['2', main('41')],
    // In conflict with 2 as long as that is in, and with 4 in the end.
    ['3', main('6 * 7')],
    ['4', main('40 + 2')],
    ['5', moduleWithTest('5'), 'agentos/4-item'],
    ['6', { ...moduleWithTest('6'), 'test/flaky.test.js': inHome('flaky', FAILS_ONCE) }],
  ];
  for (const [id, files, on = 'main'] of branches) {
    const tests = `test/item-${id}.test.js` in files ? [`item ${id}`] : [];
    await finishedBranch(repository, id, { files, on, tests });
  }
  const ended = await land(repository, '--all', '--json');
  expect(ended.code, ended.stderr).toBe(1);
  const { landing, items, retryCommand } = summaryIn(ended.stdout);
  const byId = new Map(items.map((item) => [item.id, item]));
  expect(items.map(({ id, status }) => [id, status])).toEqual([
    ['1', 'succeeded'],
    ['2', 'failed'],
    ['3', 'succeeded'],
    ['4', 'discuss'],
    ['5', 'cancelled'],
    ['6', 'succeeded'],
  ]);
  expect(byId.get('2')?.error?.code).toBe('branch-breaks');
  expect(byId.get('2')?.error?.message).toMatch(
    /^The tests fail with it, on top of 1: "the answer" \(test\/main\.test\.js\) passed before and fails now: /,
  );
  expect(byId.get('4')?.reason).toBe('conflicts with 3 in src/main.js; --resolve has the implementer settle it');
  expect(byId.get('5')?.reason).toBe('builds on 4, which is out');
  expect(retryCommand).toMatch(/^agentos resume /);
  const inIt = repository.git('log', '--format=%s', '--merges', `main..${landing.branch}`).split('\n');
  expect(inIt).toEqual(['Merge agentos/6-item', 'Merge agentos/3-item', 'Merge agentos/1-item']);
  // The base; the whole, twice; two more to find which of three it is; the rest.
  expect(testsRun(ended.stdout)).toHaveLength(6);
  expect(ended.stderr).toContain('not the same in two runs, and not blamed on a branch: "flaky"');

  const comment = await agentos(['report', '--format', 'md'], placed(repository));
  expect(comment.stdout).toMatch(/^1 item\(s\), \$0\.0000, [^;\n]+\. Run /m);
  expect(comment.stdout).toMatch(/^### Branches\n\n- \*\*1\*\* is in\n- \*\*2\*\* is out: The tests fail with it/m);

  // A person reads the same, and what to do.
  const shown = await land(repository, '2', '3');
  expect(shown.stdout).toContain('[LAND-main] 2 is out (agentos/2-item): The tests fail with it: "the answer"');
  expect(shown.stdout).toContain('[LAND-main] 3 is in (agentos/3-item)');
  expect(shown.stdout).toContain(
    'First change its branch, or build it again (agentos implement --again 2).\nFailed: 2. Retry with: agentos resume ',
  );
  expect(shown.code).toBe(1);
});

/** A test that does something in the home of the item: `home` is its folder. */
function inHome(name: string, body: string): string {
  return `import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

test('${name}', async () => {
  const home = process.env.HOME;
  ${body}
});
`;
}

/** What a run leaves elsewhere in its home is removed before the next one. */
const FAILS_ONCE = `const ran = join(home, 'test-reports', 'ran');
  if (existsSync(ran)) return;
  writeFileSync(ran, '');
  throw new Error('not yet');`;
const WAITS = `while (existsSync(join(home, 'hold'))) await new Promise((resolve) => setTimeout(resolve, 20));`;

const RESOLVER = join(PROJECT, 'test', 'support', 'implementers', 'resolver.sh');

test('a conflict waits for a person, or goes to the implementer with the gates of both sides, and is paid for once', async () => {
  const repository = await projectRepository();
  const suite = testOf('a list', "import { list } from '../src/list.js';", 'Array.isArray(list)', 'true');
  const listed = (...words: string[]) => ({
    'src/list.js': `export const list = [\n${words.map((word) => `  '${word}',\n`).join('')}];\n`,
    'test/list.test.js': [
      suite,
      ...words.map((word) => `test('${word}', () => assert.ok(list.includes('${word}')));\n`),
    ].join(''),
  });
  for (const [path, text] of Object.entries(listed())) await repository.write(path, text);
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'List');
  await finishedBranch(repository, '42', { files: listed('one'), tests: ['one'] });
  await finishedBranch(repository, '57', { files: listed('two'), tests: ['two'] });

  const waits = await land(repository, '--all', '--json');
  expect(waits.code, waits.stderr).toBe(3);
  expect(summaryIn(waits.stdout).items.map(({ status }) => status)).toEqual(['succeeded', 'discuss']);

  const calls = join(repository.home, '..', 'resolver-calls');
  const callCount = async () => (await readFile(calls, 'utf8').catch(() => '')).split('\n').filter(Boolean).length;
  const resolve = (how: string) =>
    land(
      repository,
      '--all',
      '--resolve',
      '--max-rounds',
      '2',
      '--json',
      '--implementer',
      `command:sh '${RESOLVER}' ${how} '${calls}'`,
      ...WITHOUT_SANDBOX,
    );
  const dropsOne = await resolve('ours');
  expect(dropsOne.code, dropsOne.stderr).toBe(1);
  const [, lost] = summaryIn(dropsOne.stdout).items;
  expect(lost).toMatchObject({ id: '57', status: 'failed', error: { code: 'gate-failed' } });
  expect(lost?.error?.message).toBe('gate green: "two" did not run.');
  expect(await callCount()).toBe(2);
  const cleaned = await agentos(['clean', '--json'], placed(repository));
  expect((JSON.parse(cleaned.stdout) as { kept: unknown[] }).kept).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'worktree', name: 'land-main', why: 'the next agentos land resumes in it' }),
      expect.objectContaining({ kind: 'checkpoint', name: 'land-main.db' }),
      expect.objectContaining({ kind: 'home', name: 'land-main' }),
    ]),
  );

  const settled = await resolve('slowly');
  expect(settled.code, settled.stderr).toBe(0);
  expect(await callCount()).toBe(4);
  const { landing, items } = summaryIn(settled.stdout);
  expect(items[1]?.reason).toBe('conflicts with 42 in src/list.js, test/list.test.js, settled by the implementer');
  expect(repository.git('show', `${landing.branch}:src/list.js`)).toBe("export const list = [\n  'one',\n  'two',\n];");
  expect(repository.git('show', `${landing.branch}:src/main.js`)).toBe('export const answer = 42;');
  expect(repository.git('log', '-1', '--format=%B', landing.branch ?? '')).toContain(
    'Conflicts in src/list.js, test/list.test.js settled by',
  );
  expect(settled.stdout).toContain('"why":"these files are not in conflict"');
  const gates = eventsIn(settled.stdout).filter(({ type, round }) => type === 'gate-checked' && round === 2);
  expect(gates.map(({ gate, passed, skipped }) => [gate, passed, skipped])).toEqual([
    ['green', true, null],
    ['coverage', true, 'no target'],
    // Without the code of 57, and without that of 42.
    ['reverse', true, null],
    ['reverse', true, null],
  ]);

  // The base moves: merged and tested again, but not paid for again.
  await repository.write('README.md', '# Moved\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Moved');
  const moved = await resolve('ours');
  expect(moved.code, moved.stderr).toBe(0);
  expect(await callCount()).toBe(4);
  expect(summaryIn(moved.stdout).landing.branch).toBe(landing.branch?.replace(/-2$/, '-3'));
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
});

test('killed while a model settles a conflict, a landing resumes in the middle of its work, and says what it cost', async () => {
  let stall: (() => void) | null = null;
  const reached = new Promise<void>((resolve) => {
    stall = resolve;
  });
  const settled = "export const list = ['one', 'two'];\n";
  const vendor = await startVendor({
    script: (call) => {
      const deeds: Answer[] = [
        { toolCalls: [{ name: 'read', input: { path: 'src/list.js' } }] },
        { toolCalls: [{ name: 'write', input: { path: 'src/list.js', content: settled } }] },
      ];
      if (call.toolResults.length === 1 && stall !== null) {
        stall();
        stall = null;
        return { text: 'Let me think about it.', stallAfterChars: 5 };
      }
      return deeds[call.toolResults.length] ?? { text: 'Done.' };
    },
  });
  onTestFinished(() => vendor.close());
  const repository = await projectRepository();
  const listed = (word: string) => ({
    'src/list.js': `export const list = ['${word}'];\n`,
    [`test/${word}.test.js`]: testOf(
      word,
      "import { list } from '../src/list.js';",
      `list.includes('${word}')`,
      'true',
    ),
  });
  await finishedBranch(repository, '42', { files: listed('one'), tests: ['one'] });
  await finishedBranch(repository, '57', { files: listed('two'), tests: ['two'] });
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  const args = ['land', '--all', '--resolve', '--implementer', 'anthropic:claude-opus-5', '--json'];
  const killed = startAgentos(args, options);
  await reached;
  killed.child.kill('SIGKILL');
  await killed.ended;
  expect(vendor.calls).toHaveLength(2);
  expect(vendor.calls[0]?.text).toContain('issue 57, "LLD-57.md", is merged on top of issue 42');
  expect(vendor.calls[0]?.text).toMatch(/<brought-by-the-branch>[^]*\+export const list = \['two'\];/);
  expect(vendor.calls[1]?.toolResults[0]?.text).toContain('<<<<<<<');

  const resumed = await agentos(args, options);
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(vendor.calls).toHaveLength(4);
  const { items, landing } = summaryIn(resumed.stdout);
  expect(items.map(({ id, costUsd }) => [id, costUsd > 0])).toEqual([
    ['42', false],
    ['57', true],
  ]);
  expect(`${repository.git('show', `${landing.branch}:src/list.js`)}\n`).toBe(settled);
});

test('a landing that is killed resumes after its last step; a second one is refused; Ctrl+C ends it with 130', async () => {
  const repository = await projectRepository();
  await finishedBranch(repository, '42', { files: moduleWithTest('42'), tests: ['item 42'] });
  await finishedBranch(repository, '57', { files: { 'test/held.test.js': inHome('held', WAITS) }, tests: ['held'] });
  const hold = join(repository.work, 'homes', 'land-main', 'hold');
  await repository.write(hold, '');
  const first = startAgentos(['land', '--all'], placed(repository));
  await first.printed('baseline: passed');
  const second = await land(repository, '--all');
  expect(second.code).toBe(1);
  expect(second.stdout).toContain('land main is being worked on by another run');
  first.child.kill('SIGKILL');
  await first.ended;

  const stopped = startAgentos(['land', '--all'], placed(repository));
  await stopped.printed('baseline: taken from the checkpoint');
  stopped.child.kill('SIGINT');
  const { code, stdout } = await stopped.ended;
  expect([code, stdout.includes('Resume with: agentos resume')]).toEqual([130, true]);

  await rm(hold);
  const resumed = await agentos(['resume', '--json'], placed(repository));
  expect(resumed.code, resumed.stderr).toBe(0);
  expect(testsRun(resumed.stdout).filter((step) => step === 'baseline')).toEqual([]);
  expect(summaryIn(resumed.stdout).items.map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
});

test('what can’t be landed is refused before anything starts', async () => {
  const repository = await projectRepository();
  await finishedBranch(repository, '42', { files: moduleWithTest('42') });
  const cases: [args: string[], says: string][] = [
    [[], 'Which items?\nEither agentos land 42 57, or agentos land --all'],
    [['57'], '57 has no finished branch.'],
    [['--all', '--fetch'], 'There is no remote named origin to fetch from.'],
  ];
  for (const [args, says] of cases) {
    const { code, stderr } = await land(repository, ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  }
  expect(await repository.list('.agentos')).toEqual([]);
});

test('a conflict in a workflow or in what is no text goes to no implementer', async () => {
  const repository = await projectRepository();
  const both = (word: string) => ({ '.github/workflows/ci.yml': `on: ${word}\n`, 'logo.bin': `${word}\0` });
  await finishedBranch(repository, '42', { files: both('push') });
  await finishedBranch(repository, '57', { files: both('pull_request_target') });
  const ended = await land(repository, '--all', '--resolve', '--json', '--implementer', 'command:exit 9');
  expect(ended.code, ended.stderr).toBe(3);
  expect(summaryIn(ended.stdout).items[1]?.reason).toBe(
    'conflicts with 42 in .github/workflows/ci.yml, logo.bin; only a person may settle .github/workflows/ci.yml, logo.bin',
  );
});

test('a landing becomes one pull request that closes what is in it, once, also when it is killed', async () => {
  const { repository, bare, remote } = await hostedProject();
  const github = await fakeGitHub({ bare });
  for (const id of ['42', '57', '58'])
    await finishedBranch(repository, id, {
      title: id === '57' ? 'Fixes #1 @everyone' : `Item ${id}`,
      files: id === '58' ? { 'src/main.js': 'export const answer = 41;\n' } : moduleWithTest(id),
      tests: id === '58' ? [] : [`item ${id}`],
    });
  const command = ['land', '--all', '--pr', '--source', 'github:acme/widget', '--json'];
  const options = { cwd: repository.root, env: { ...github.env, HOME: repository.home } };
  const planned = await agentos([...command, '--dry-run'], options);
  expect([planned.code, github.writes(), remote('branch', '--list', 'agentos/*')]).toEqual([0, [], '']);

  const killed = startAgentos(command, options);
  github.onPost = (path) => {
    if (path.endsWith('/pulls')) killed.child.kill('SIGKILL');
  };
  expect((await killed.ended).signal).toBe('SIGKILL');
  github.onPost = () => undefined;
  const ended = await agentos(command, options);
  // 58 breaks a test: it is out, and the others are posted all the same.
  expect(ended.code, ended.stderr).toBe(1);
  const { landing } = summaryIn(ended.stdout);
  expect(github.pulls).toMatchObject([{ title: 'Land 42, 57', draft: false, base: { ref: 'main' } }]);
  const [pull] = github.pulls;
  expect(pull?.head).toMatchObject({ ref: landing.branch, sha: remote('rev-parse', landing.branch ?? '') });
  expect(pull?.body).toMatch(/^Closes #42\nCloses #57\n/);
  expect(pull?.body).toMatch(/## Out\n\n- `58` Item 58: The tests fail with it/);
  expect(pull?.body.replace(/^Closes #\d+$/gm, '')).not.toMatch(/@(?=\w)|#\d/);
  expect(github.writes()).toHaveLength(1);
});

test('a landing beside an implementation leaves it alone, and takes what is finished', async () => {
  const repository = await designedRepository(['42']);
  await finishedBranch(repository, '57', { files: moduleWithTest('57'), tests: ['item 57'] });
  const hold = join(repository.home, '..', 'hold');
  await writeFile(hold, '');
  const models = ['--reviewer', await reviewerSaying(repository, 'APPROVED')];
  const writer = implementer({ code: 'held', hold });
  const running = startAgentos(['implement', '42', '--implementer', writer, ...models], placed(repository));
  await running.printed('held back');
  const ended = await land(repository, '--all', '--json');
  expect(ended.code, ended.stderr).toBe(0);
  expect(summaryIn(ended.stdout).items.map(({ id, status }) => [id, status])).toEqual([['57', 'succeeded']]);
  await rm(hold);
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  const after = await land(repository, '--all', '--json');
  expect(summaryIn(after.stdout).items.map(({ id, status }) => [id, status])).toEqual([
    ['42', 'succeeded'],
    ['57', 'succeeded'],
  ]);
});

test('resume --dry-run fetches nothing, even if its landing was started with --fetch', async () => {
  const { repository, remote } = await hostedProject();
  await finishedBranch(repository, '42', { files: { 'same.txt': 'one\n' } });
  await finishedBranch(repository, '57', { files: { 'same.txt': 'two\n' } });
  expect((await land(repository, '--all', '--fetch')).code).toBe(3);
  const seen = repository.git('rev-parse', 'refs/remotes/origin/main');
  const tree = remote('rev-parse', 'main^{tree}');
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  remote('update-ref', 'refs/heads/main', remote(...author, 'commit-tree', '-p', 'main', '-m', 'Newer', tree));
  const shown = await agentos(['resume', '--dry-run'], placed(repository));
  expect([shown.code, shown.stderr]).toEqual([0, '']);
  expect(repository.git('rev-parse', 'refs/remotes/origin/main')).toBe(seen);
});
