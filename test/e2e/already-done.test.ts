import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readFrontMatter } from '../../src/documents/header.ts';
import { approve, callsOf, designedRepository } from '../support/implement.ts';
import { implementerWriting } from '../support/languages/repository.ts';
import { ISSUE, lldFor, type Models, review, roundOf, script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos, type Ended, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { scriptedModels } from '../support/scripted-models.ts';
import { startVendor } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];

function claim(...evidence: string[]): string {
  const items = evidence.map((cited) => `- \`${cited}\` – what is asked for, requirement 1`);
  return `# Already done: Add a number\n\n## Evidence\n${items.join('\n')}\n\n## Why\nBoth criteria are met.\n`;
}

async function bench(models: Models) {
  const vendor = await startVendor({ script: script(models) });
  onTestFinished(() => vendor.close());
  const repository = await testRepository({ 42: ISSUE });
  await repository.write('.env', 'TOKEN=never-shown-to-anybody\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Settings');
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  return {
    vendor,
    repository,
    options,
    run: (...args: string[]): Promise<Ended> => agentos(args, options),
    /** What was asked of the models, in the order of asking. */
    asked: () => vendor.calls.map((call) => taskOf(call)),
  };
}

async function lastItem(repository: TestRepository): Promise<Record<string, unknown>> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/summary.json`)).items[0];
}

async function stateIn(run: (...args: string[]) => Promise<Ended>): Promise<string | null> {
  const { stdout } = await run('lld', '42', '--dry-run', '--json', ...MODELS);
  return JSON.parse(stdout).items[0].state;
}

test('an issue that is done at the base is skipped with its evidence until the issue or a cited file changes', async () => {
  const { vendor, repository, run, asked } = await bench({ draft: () => claim('src/main.js:1', '.env:1') });
  const commit = repository.git('rev-parse', 'HEAD');
  const reason = `already done at ${commit.slice(0, 7)}: src/main.js:1, .env:1`;
  const first = await run('lld', '42', ...MODELS);
  expect(first.stdout).toContain(`[LLD-42] skipped: ${reason}`);
  expect(first.code).toBe(0);
  expect(await lastItem(repository)).toMatchObject({
    status: 'skipped',
    reason,
    outputs: ['docs/lineage/42/004-final.md'],
  });
  expect(await repository.list('docs')).toEqual(['lineage']);
  expect(await repository.list('docs/lineage/42')).toEqual([
    '001-issue.md',
    '002-draft.md',
    '003-verdict.md',
    '004-final.md',
  ]);
  const { fields } = readFrontMatter(await repository.read('docs/lineage/42/004-final.md'));
  expect(fields).toMatchObject({ issue: 42, status: 'already-done', baseCommit: commit });
  expect(fields['issueHash']).toMatch(/^[0-9a-f]{64}$/);
  expect(fields['evidence']).toEqual({
    'src/main.js:1': repository.git('rev-parse', 'HEAD:src/main.js'),
    '.env:1': repository.git('rev-parse', 'HEAD:.env'),
  });
  expect(asked()).toEqual(['draft', 'review']);
  // The reviewer is shown what is cited, but no secret.
  const shown = vendor.calls[1]?.text ?? '';
  expect(shown).toContain('src/main.js:1\n1: export const answer = 42;');
  expect(shown).toContain('.env:1\n(not shown)');
  expect(shown).not.toContain('never-shown');
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);

  // No further run asks anything, and there is nothing to implement.
  const implement = await run('implement', '42', '--implementer', 'command:false', '--reviewer', 'command:false');
  expect([implement.code, implement.stdout.includes(reason)]).toEqual([0, true]);
  expect((await run('lld', '--all', ...MODELS)).code).toBe(0);
  expect(await run('status', '42')).toMatchObject({ code: 0, stdout: expect.stringContaining('already-done') });
  expect(asked()).toHaveLength(2);

  // Another file is no reason to look again; a cited one is, as it is at HEAD, and so is the issue.
  await repository.write('src/other.js', 'export {};\n');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Another file');
  expect(await stateIn(run)).toBe('already-done');
  await repository.write('issues/42.md', `${ISSUE}- It is fast.\n`);
  expect(await stateIn(run)).toBe('new');
  await repository.write('issues/42.md', ISSUE);
  await repository.write('src/main.js', 'export const answer = 43;\n');
  expect(await stateIn(run)).toBe('already-done');
  repository.git('commit', '--quiet', '-am', 'A cited file');
  expect(await stateIn(run)).toBe('new');
  // A pipeline has no further stage for it.
  expect((await run('run', '42', '--implementer', 'command:false', ...MODELS)).code).toBe(0);
  expect(await lastItem(repository)).toMatchObject({ status: 'skipped' });
  expect(asked()).toHaveLength(4);
});

test('evidence that is not there is repaired; a claim that the reviewer refutes becomes an LLD', async () => {
  const missing = '**Text:** the criterion that text throws a TypeError is not met in `src/main.js`.';
  const { vendor, repository, run, asked } = await bench({
    draft: () => claim('src/absent.js:1-3', 'src/main.js:7'),
    repair: () => claim('src/main.js:1'),
    revise: () => lldFor('42'),
    review: (call) =>
      roundOf(call) === 1 ? review({ verdict: 'REVISE', tier2: [missing] }) : review({ verdict: 'APPROVED' }),
  });
  const { code } = await run('lld', '42', ...MODELS);
  expect(code).toBe(0);
  expect(asked()).toEqual(['draft', 'repair', 'review', 'revise', 'review']);
  expect(vendor.calls[1]?.text).toContain('src/absent.js is not a file at the base commit');
  expect(vendor.calls[1]?.text).toContain('src/main.js:7 is not in the file, which has 1 lines');
  expect(vendor.calls[2]?.text).toContain('Look for a requirement of the issue that is not met');
  expect(vendor.calls[4]?.text).toContain('Judge the design against the issue');
  const lld = await repository.read('docs/lld/LLD-42.md');
  expect(lld).toContain('status: approved');
  expect(lld).not.toContain('Already done');
});

test('an approval beside something that is missing is asked again, then a person decides: the same skip', async () => {
  const missing = '**Text:** the criterion that text throws a TypeError is not met in `src/main.js`.';
  const { repository, run, asked } = await bench({
    draft: () => claim('src/main.js:1'),
    review: () => review({ verdict: 'APPROVED', tier2: [missing] }),
  });
  expect((await run('lld', '42', ...MODELS)).code).toBe(3);
  expect(asked()).toEqual(['draft', 'review', 'review']);
  expect((await run('decide', '42', '--approve', '--reason', 'text is refused elsewhere')).code).toBe(0);
  expect((await run('lld', '42', ...MODELS)).code).toBe(0);
  expect(asked()).toHaveLength(3);
  expect(await lastItem(repository)).toMatchObject({
    status: 'skipped',
    reason: expect.stringMatching(/^already done at/),
  });
  expect(await repository.read('docs/lineage/42/005-final.md')).toContain('text is refused elsewhere');
  expect(await repository.list('docs/lld')).toEqual([]);
});

test('evidence that is never there ends in DISCUSS and can’t be approved; killed on the way, nothing is paid for twice', async () => {
  const { repository, options, run, asked } = await bench({
    draft: () => claim('src/absent.js:1'),
    repair: (call) => ({ text: claim('src/absent.js:2'), latencyMs: call.text.includes('absent.js:2') ? 300 : 0 }),
  });
  const program = startAgentos(['lld', '42', ...MODELS], options);
  await program.printed('repair-1-2');
  program.child.kill('SIGKILL');
  await program.ended;
  expect((await run('lld', '42', ...MODELS)).code).toBe(3);
  expect(asked().filter((task) => task === 'draft')).toHaveLength(1);
  expect(asked().filter((task) => task === 'repair').length).toBeLessThanOrEqual(3);
  expect(await lastItem(repository)).toMatchObject({ reason: expect.stringContaining('src/absent.js is not a file') });
  expect((await run('decide', '42', '--approve')).code).toBe(2);
});

const done = (evidence: string, verdict: 'APPROVED' | 'DISCUSS' = 'APPROVED'): string =>
  review({ verdict }).replace('## Tier 1', `## Evidence\n${evidence}\n\n## Tier 1`);

test('tests that are all green before the code: skipped with evidence at the base, a failure without, DISCUSS is asked', async () => {
  const repository = await designedRepository([], lldFor);
  const lld = lldFor('42')
    .replaceAll('src/item-42.js', 'src/main.js')
    .replace(/(\| `?src\/main\.js`? \| )Add/, '$1Modify');
  await repository.write('src/main.js', 'export const answer = 42;\nexport const item42 = (value) => value + 42;\n');
  repository.git('commit', '--quiet', '-am', 'It is there');
  await approve(repository, '42', lld);
  const text = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { item42 } from '../src/main.js';
test('010 adds the number', () => assert.equal(item42(1), 43));
test('020 refuses text', () => assert.ok(true));
`;
  const state = join(repository.home, '..', 'calls.jsonl');
  const plan = await implementerWriting(repository, { tests: [{ 'test/item-42.test.js': text }], code: [], state });
  const models = await scriptedModels(repository);
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const implementing = ['implement', '42', '--implementer', plan, '--max-rounds', '1', ...models.flags];
  const implement = (): Promise<Ended> => agentos(implementing, options);

  // A reviewer that only says yes proves nothing, nor does one that cites the new tests.
  for (const evidence of ['', '- `test/item-42.test.js:4` – the tests']) {
    await models.answer('review-tests', '42', evidence === '' ? review({ verdict: 'APPROVED' }) : done(evidence));
    const failed = await implement();
    expect(failed.code).toBe(1);
    expect(await lastItem(repository)).toMatchObject({
      status: 'failed',
      error: { code: 'gate-failed', message: expect.stringContaining('passes before the code') },
    });
  }
  await models.answer('review-tests', '42', done('- `src/main.js:2` – adds', 'DISCUSS'));
  expect((await implement()).code).toBe(3);
  expect((await agentos(['decide', '42', '--revise', 'assert that text throws'], options)).code).toBe(0);
  await models.answer('review-tests', '42', done('- `src/main.js:2` – adds'));
  await models.hold('review-tests', '42');
  const killed = startAgentos(implementing, options);
  await killed.printed('asked for review-tests 42');
  killed.child.kill('SIGKILL');
  await killed.ended;
  await models.release('review-tests', '42');
  const calls = (await models.calls()).length;
  const written = (await callsOf(state)).length;
  const skipped = await implement();
  const reason = `already done at ${repository.git('rev-parse', '--short=7', 'HEAD')}: src/main.js:2`;
  expect(skipped.stdout).toContain(`[IMPL-42] skipped: ${reason}`);
  expect(skipped.code).toBe(0);
  expect(await callsOf(state)).toHaveLength(written);
  expect((await callsOf(state)).at(-1)?.task).toContain('assert that text throws');
  expect((await models.calls()).slice(calls)).toEqual(['review-tests 42']);
  const [record = ''] = (await lastItem(repository))['outputs'] as string[];
  const { fields } = readFrontMatter(await repository.read(record));
  expect(fields).toMatchObject({ workflow: 'implement', status: 'already-done' });
  expect(Object.keys(fields['evidence'] as object)).toEqual(['src/main.js:2']);
  expect(repository.git('branch', '--list', 'agentos/*')).toBe('');
  expect(repository.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(await repository.list('.agentos/checkpoints')).toEqual([]);

  const again = await implement();
  expect([again.code, again.stdout.includes(reason)]).toEqual([0, true]);
  expect(await models.calls()).toHaveLength(calls + 1);
}, 120_000);
