import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { callsOf, designedRepositoryIn, implementer, reviewerSaying } from '../support/implement.ts';
import { processesWith } from '../support/processes.ts';
import { agentos, type Ended, WITHOUT_SANDBOX } from '../support/program.ts';
import type { TestRepository } from '../support/repository.ts';
import { shared } from '../support/shared.ts';

/*
 * What an implementer does, and what the gates make of it: one run of the program for all that is put right in the end, and one
 * for all that is not, with an item for each case.
 */

interface ItemSummary {
  id: string;
  status: string;
  attempts: number;
  error: { code: string; message: string } | null;
}

async function itemsOf(repository: TestRepository): Promise<(id: string) => ItemSummary | undefined> {
  const run = (await repository.list('.agentos/runs')).at(-1);
  const { items } = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
  return (id) => (items as ItemSummary[]).find((item) => item.id === id);
}

/** Everything of the user's that must stay as it was. */
function checkout(repository: TestRepository): unknown {
  return {
    head: repository.git('rev-parse', 'HEAD'),
    branch: repository.git('symbolic-ref', 'HEAD'),
    status: repository.git('status', '--porcelain', '--untracked-files=all'),
    index: repository.git('ls-files', '--stage'),
  };
}

const branchOf = (id: string): string => `agentos/${id}-add-a-number`;

describe('what is put right', () => {
  const MARK = `left-behind-${process.pid}`;
  const HOW = {
    mends: 'yes',
    '43:tests': 'one-missing',
    '43:code': 'wrong',
    '44:tests': 'skipped',
    '44:code': 'nothing',
    '45:tests': 'passing',
    '46:tests': 'syntax-error',
    '46:code': 'edits-tests',
    '47:tests': 'wrong-import',
    '47:code': 'leaves-children',
    '47:mark': MARK,
    '48:tests': 'nothing',
    '49:tests': 'guts-old',
    '49:code': 'breaks-old',
    '50:tests': 'with-code',
    '50:code': 'large',
  };

  const run = shared(async ({ folder }) => {
    const repository = await designedRepositoryIn(
      folder,
      Array.from({ length: 9 }, (_, n) => `${n + 42}`),
    );
    await repository.write('src/main.js', 'export const answer = 42; // not committed\n');
    await repository.write('notes.txt', 'mine\n');
    await repository.write('agentos.yaml', 'implement:\n  coAuthor: Claude <noreply@anthropic.com>\n');
    const before = checkout(repository);
    const models = ['--implementer', implementer(HOW), '--reviewer', await reviewerSaying(repository, 'APPROVED')];
    const implement = (...args: string[]): Promise<Ended> =>
      agentos(['implement', ...args, '--parallel', '2', ...models], {
        cwd: repository.root,
        env: { HOME: repository.home },
      });
    const { code, stdout } = await implement('--all', '--max-retries', '0');
    const after = checkout(repository);
    const report = (id: string): string => repository.git('show', `${branchOf(id)}:docs/reports/${id}.md`);
    const linesOf = (id: string): string => {
      const lines = stdout.split('\n').filter((line) => line.startsWith(`[IMPL-${id}] `));
      return lines.join('\n');
    };
    return { repository, implement, code, before, after, report, linesOf, left: processesWith(MARK) };
  });

  test('an approved LLD becomes a branch: tests, code and report as commits of their own, and nothing else is touched', async () => {
    const { repository, code, before, after, report, linesOf } = await run();
    expect(linesOf('42')).toContain('reverse: 2 new tests fail again without the code');
    expect(code).toBe(0);
    expect(after).toEqual(before);
    const branch = branchOf('42');
    expect(repository.git('log', '--format=%s', `main..${branch}`).split('\n')).toEqual([
      'Report on 42: Add a number',
      'Add a number',
      'Tests for 42: Add a number',
    ]);
    const trailers = `Implemented-by: ${implementer(HOW)}\nCo-authored-by: Claude <noreply@anthropic.com>`;
    for (const [commit, expected] of Object.entries({
      [`${branch}~2`]: trailers,
      [`${branch}~1`]: trailers,
      [branch]: '',
    }))
      expect(repository.git('log', '-1', '--format=%(trailers)', commit)).toBe(expected);
    const filesOf = (commit: string): string => repository.git('show', '--format=', '--name-status', commit);
    expect(filesOf(`${branch}~2`)).toBe('A\ttest/item-42.test.js');
    expect(filesOf(`${branch}~1`)).toBe('A\tsrc/item-42.js');
    expect(filesOf(branch)).toBe('A\tdocs/reports/42.lld.md\nA\tdocs/reports/42.md');
    for (const gate of ['tests', 'red', 'frozen', 'green', 'reverse'])
      expect(report('42')).toContain(`| ${gate} | holds |`);
    expect(report('42')).toContain('status: implemented');
    expect(report('42')).toContain("Cannot find module 'src/item-42.js' imported from test/item-42.test.js");
    // Of the machine that it was made on nothing is named: neither the repository nor the folder around it.
    expect(report('42')).not.toContain(join(repository.root, '..'));
    expect(await repository.list(join(repository.work, 'worktrees'))).toEqual([]);
    expect(await repository.list('.agentos/checkpoints')).toEqual([]);
    expect(await readdir(repository.home)).toEqual([]);
  });

  test.each([
    ['43', 'missing', 'scenario 020 (Refuses text) has no test'],
    ['44', 'skipped', 'skipped'],
    ['45', 'passing', 'passes before the code is written'],
    ['46', 'not readable', "can't be loaded, for another reason than the missing code"],
    ['47', 'importing something else', "can't be loaded, for another reason than the missing code"],
    ['48', 'not written', 'no test was written'],
  ])('tests of %s that are %s are refused, and asked for again', async (id, _, said) => {
    const { repository, linesOf } = await run();
    expect(linesOf(id)).toContain(said);
    expect(repository.git('show', `${branchOf(id)}:test/item-${id}.test.js`)).toContain("test('020 refuses text'");
  });

  test.each([
    ['43', 'wrong', '"010 adds the number" (test/item-43.test.js) fails'],
    ['44', 'not written', 'no file was changed'],
    ['49', 'breaking an old test', '"the answer" (test/main.test.js) passed before and fails now'],
  ])('code of %s that is %s fails the gate green, and is asked for again', async (id, _, said) => {
    const { repository, linesOf } = await run();
    expect(linesOf(id)).toContain(said);
    expect(repository.git('show', `${branchOf(id)}:src/item-${id}.js`)).toContain(`return value + ${id};`);
  });

  test('an old test that the LLD does not change can not be emptied to let broken code pass', async () => {
    const { repository, linesOf } = await run();
    expect(linesOf('49')).toContain('undone, the LLD does not change these tests: test/main.test.js');
    expect(
      repository.git('diff', '--name-only', 'main', branchOf('49'), '--', 'src/main.js', 'test/main.test.js'),
    ).toBe('');
  });

  test('tests that are changed while the code is written are put back, and it is reported', async () => {
    const { repository, linesOf, report } = await run();
    expect(linesOf('46')).toContain(
      'undone, the tests are frozen while the code is written: test/item-46.test.js, test/more.test.js',
    );
    expect(repository.git('show', `${branchOf('46')}:test/item-46.test.js`)).toContain("item46('x')");
    expect(repository.git('ls-tree', '-r', '--name-only', branchOf('46'))).not.toContain('more.test.js');
    expect(report('46')).toContain('frozen while the code is written');
  });

  test('code that comes with the tests is set aside, kept as a whole patch, and written again when it is its turn', async () => {
    const { repository, linesOf, report } = await run();
    const undone = 'src/item-50.js, src/logo.bin, src/table.js';
    const patch = '.agentos/undone/implement-50/tests-1.patch';
    expect(linesOf('50')).toContain(`undone, only tests are written in this step: ${undone} (kept as ${patch})`);
    const other = join(repository.home, '..', 'other');
    repository.git('clone', '--quiet', '.', other);
    repository.git('-C', other, 'apply', join(repository.root, patch));
    expect(await repository.read(join(other, 'src/item-50.js'))).toContain('export function item50');
    expect((await repository.read(join(other, 'src/table.js'))).split('\n')).toHaveLength(60_001);
    const binary = await readFile(join(other, 'src/logo.bin'));
    expect([binary.length, binary[2_999]]).toEqual([3_000, 0xff]);
    expect(report('50')).toContain('| `src/a-table.js` | added | code | +60000 | -0 |');
    expect(report('50')).toContain('| `src/item-50.js` | added | code | +4 | -0 |');
  });

  test('children that an agent leaves running are ended', async () => {
    const { left, linesOf } = await run();
    expect(linesOf('47')).toContain('reverse: 2 new tests fail again without the code');
    expect(left).toEqual([]);
  });

  test('what is implemented is not pending any more', async () => {
    const { repository, implement } = await run();
    expect((await implement('--all')).stdout).toContain('Nothing to do: every approved LLD is implemented.');
    expect((await implement('42')).code).toBe(0);
    expect((await itemsOf(repository))('42')).toMatchObject({ status: 'skipped' });
  });
});

describe('what is not', () => {
  const run = shared(async ({ folder }) => {
    const repository = await designedRepositoryIn(folder, ['42', '43', '44', '45', '46']);
    const state = join(repository.home, '..', 'calls');
    const how = {
      state,
      outside: repository.root,
      '42:code': 'wrong',
      '43:code': 'hides-code',
      '44:code': 'links',
      '45:tests': 'one-missing',
      '46:code': 'deletes-all',
    };
    const reviewer = await reviewerSaying(repository, 'APPROVED');
    const models = ['--implementer', implementer(how), '--reviewer', reviewer, ...WITHOUT_SANDBOX];
    const options = { cwd: repository.root, env: { HOME: repository.home } };
    const implement = (...args: string[]): Promise<Ended> =>
      agentos(['implement', ...args, '--max-rounds', '1', '--parallel', '2', '--halt', '9', ...models], options);
    const before = checkout(repository);
    const { code, stdout } = await implement('--all');
    const itemOf = await itemsOf(repository);
    return { repository, state, implement, options, code, stdout, itemOf, before, after: checkout(repository) };
  });

  test.each([
    ['42', 'wrong', '"010 adds the number" (test/item-42.test.js) fails'],
    [
      '43',
      'ignored by git',
      'git ignores these files, so they are not part of the branch and were removed: src/item-43.js',
    ],
    ['44', 'a link out of the repository', 'no file was changed'],
    ['46', 'gone with everything else', "can't be loaded"],
  ])('code of %s that is %s fails the gate green, with nothing lost', async (id, _, said) => {
    const { repository, code, itemOf, before, after } = await run();
    expect(code).toBe(1);
    expect(itemOf(id)).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'gate-failed' } });
    expect(itemOf(id)?.error?.message).toContain('gate green');
    expect(itemOf(id)?.error?.message).toContain(said);
    expect(after).toEqual(before);
    expect(repository.git('log', '--format=%s', `main..${branchOf(id)}`)).toBe(`Tests for ${id}: Add a number`);
  });

  test('a link that points out of the repository is no code', async () => {
    expect((await run()).stdout).toContain(
      '[IMPL-44] undone, a link that points out of the repository: src/item-44.js',
    );
  });

  test('tests that are still refused after the last round fail the item, whose worktree is kept', async () => {
    const { repository, stdout, itemOf } = await run();
    expect(itemOf('45')).toMatchObject({ status: 'failed', attempts: 1, error: { code: 'gate-failed' } });
    expect(itemOf('45')?.error?.message).toContain('gate tests');
    expect(existsSync(join(repository.work, 'worktrees/implement-45'))).toBe(true);
    expect(stdout).toContain('Look at it: cd ');
    expect(stdout).toContain('Throw it away: agentos clean --discard 45\n');
  });

  test('an item whose gate failed goes on where it was when it is run again, and its writer is told why', async () => {
    const { repository, state, implement, options } = await run();
    const { stdout } = await agentos(['status', '42'], options);
    expect(stdout).toContain(`  worktree    ${join(repository.work, 'worktrees', 'implement-42')}\n`);
    expect(stdout).toMatch(/^ {2}now +failed: gate green/m);
    await writeFile(state, '');
    expect((await implement('42', '45')).code).toBe(1);
    const calls = (await callsOf(state)).toSorted((one, other) => one.id.localeCompare(other.id));
    expect(calls.map(({ id, phase, again }) => ({ id, phase, again }))).toEqual([
      { id: '42', phase: 'code', again: true },
      { id: '45', phase: 'tests', again: true },
    ]);
    expect(calls[0]?.task).toContain('"010 adds the number" (test/item-42.test.js) fails');
    expect(calls[1]?.task).toContain('scenario 020 (Refuses text) has no test');
  });
});
