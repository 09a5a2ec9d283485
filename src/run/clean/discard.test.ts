import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIn, ofTheUser, type WorktreeBench, worktreeBench } from '../../../test/support/worktree.ts';
import { parseItemId } from '../../core/ids.ts';
import { type Paths, pathsOf } from '../../core/paths.ts';
import { writeFrontMatter } from '../../documents/header.ts';
import type { Worktree } from '../../git/worktree/worktree.ts';
import { lockItem } from '../../process/lock.ts';
import { openProject } from '../project.ts';
import { discard } from './discard.ts';
import type { Cleaned } from './worktrees.ts';

const ID = parseItemId('42');
const BRANCH = 'agentos/42-title';

interface Discarding extends WorktreeBench {
  paths: Paths;
  worktree: Worktree;
  discarded(ids?: string[], options?: { dryRun?: boolean }): Promise<Cleaned>;
  branches(): string;
}

/** With an item in the middle: tests committed, code not. */
async function discarding(): Promise<Discarding> {
  const bench = await worktreeBench();
  const paths = pathsOf(bench.root, bench.base);
  const { worktree } = await bench.open();
  await writeFile(join(worktree.directory, 'x.test.js'), 'test\n');
  const tree = await worktree.snapshot();
  await worktree.setBranch(await worktree.commit({ tree, parents: [bench.head], message: 'Tests' }));
  await writeFile(join(worktree.directory, 'feature.js'), 'not committed\n');
  for (const suffix of ['', '-wal', '-shm']) await put(`${paths.checkpoint('implement', ID)}${suffix}`);
  await put(join(paths.home('implement', ID), 'reviews', 'review-1.md'));
  await put(join(paths.undone('implement', ID), '1.patch'));
  return {
    ...bench,
    paths,
    worktree,
    branches: () => bench.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/agentos'),
    discarded: async (ids = ['42'], { dryRun = false } = {}) =>
      discard(
        { ...(await openProject({ cwd: bench.root, env: bench.env, flags: {} })), paths },
        ids.map(parseItemId),
        dryRun,
      ),
  };
}

async function put(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, 'x');
}

const named = (entries: Cleaned['kept']): string[] => entries.map(({ kind, name }) => `${kind} ${name}`);
const FOLDERS = ['worktrees', 'checkpoints', 'homes', 'undone', 'worktree-state', 'locks'];

test('all of an unfinished implementation goes, and nothing of another item or of the user', async () => {
  const bench = await discarding();
  const other = await bench.open({ id: '7', branch: 'agentos/7-other' });
  await other.worktree.snapshot();
  await put(bench.paths.checkpoint('implement', parseItemId('7')));
  await put(bench.paths.checkpoint('lld', ID));
  const user = ofTheUser(bench);
  const pins = (): string[] => bench.git('for-each-ref', '--format=%(refname)', 'refs/agentos').split('\n');
  expect(pins().some((ref) => ref.includes('/implement-42/'))).toBe(true);

  const before = (await readdir(bench.base, { recursive: true })).sort();
  const planned = await bench.discarded(['42'], { dryRun: true });
  expect((await readdir(bench.base, { recursive: true })).sort()).toEqual(before);
  expect(bench.branches()).toContain(BRANCH);

  const { removed, kept } = await bench.discarded();
  expect(planned.removed).toEqual(removed);
  expect(kept).toEqual([]);
  expect(named(removed)).toEqual([
    'checkpoint implement-42.db',
    'worktree implement-42',
    `branch ${BRANCH}`,
    'home implement-42',
    'undone implement-42',
  ]);
  const left = await Promise.all(FOLDERS.map((folder) => readdir(join(bench.base, folder))));
  expect(left).toEqual([['implement-7'], ['implement-7.db', 'lld-42.db'], [], [], ['implement-7'], []]);
  expect(bench.branches()).toBe('agentos/7-other');
  expect(pins().every((ref) => ref.includes('/implement-7/'))).toBe(true);
  expect(ofTheUser(bench)).toEqual(user);
  await expect(bench.discarded()).rejects.toMatchObject({
    problem: { code: 'usage', reason: 'There is no implementation of 42 to throw away.' },
  });
});

test('nothing goes when one of the items is being worked on, or has nothing to throw away', async () => {
  const bench = await discarding();
  await expect(bench.discarded(['42', '9'])).rejects.toMatchObject({ problem: { code: 'usage' } });
  const lock = lockItem(bench.paths, { workflow: 'implement', id: ID });
  await expect(bench.discarded()).rejects.toMatchObject({ problem: { code: 'item-locked', id: '42' } });
  await expect(bench.discarded(['42'], { dryRun: true })).rejects.toMatchObject({ problem: { code: 'item-locked' } });
  lock.release();
  expect(existsSync(join(bench.directory, 'feature.js'))).toBe(true);
  expect(existsSync(bench.paths.checkpoint('implement', ID))).toBe(true);
  expect(bench.branches()).toBe(BRANCH);
});

test('a worktree that a person locked stays, with all that belongs to it', async () => {
  const bench = await discarding();
  bench.git('worktree', 'lock', '--reason', 'mine', bench.directory);
  await expect(bench.discarded()).rejects.toMatchObject({
    problem: { code: 'worktree-unusable', reason: 'It is locked: mine.' },
  });
  expect(existsSync(bench.paths.checkpoint('implement', ID))).toBe(true);
});

test('what is left after the worktree and its folder were removed by hand goes too', async () => {
  const bench = await discarding();
  bench.git('worktree', 'remove', '--force', bench.directory);
  expect(named((await bench.discarded()).removed)).toContain(`branch ${BRANCH}`);
  expect(gitIn(bench.root, bench.env, 'for-each-ref', 'refs/agentos')).toBe('');
  await put(bench.paths.checkpoint('implement', ID));
  expect(named((await bench.discarded()).removed)).toEqual(['checkpoint implement-42.db']);
});

async function finish({ worktree, head }: Discarding): Promise<void> {
  const report = writeFrontMatter('# Report\n', { status: 'implemented', lldHash: 'x', branch: worktree.branch });
  const tree = await worktree.withFiles(await worktree.snapshot(), { 'docs/reports/42.md': report });
  await worktree.setBranch(await worktree.commit({ tree, parents: [head], message: 'Report' }));
}

test('a finished implementation goes too, also when nothing but its branch is left; not what a person put on it', async () => {
  const bench = await discarding();
  await finish(bench);
  expect(named((await bench.discarded()).removed)).toContain(`branch ${BRANCH}`);
  const other = await discarding();
  await finish(other);
  await other.worktree.remove();
  expect(named((await other.discarded(['42'], { dryRun: true })).removed)).toContain(`branch ${BRANCH}`);
  other.git('checkout', '--quiet', BRANCH);
  other.git('commit', '--quiet', '--allow-empty', '-m', 'Mine');
  other.git('checkout', '--quiet', 'main');
  const { removed, kept } = await other.discarded();
  expect(named(removed)).not.toContain(`branch ${BRANCH}`);
  expect(kept.map(({ why }) => why)).toEqual(['it has commits that no run of ours made']);
});

test.each([
  ['merged', async (bench: Discarding) => void bench.git('merge', '--quiet', BRANCH), 'it is part of main'],
  [
    'checked out elsewhere',
    async (bench: Discarding) => {
      await rm(bench.directory, { recursive: true });
      bench.git('worktree', 'prune');
      bench.git('worktree', 'add', '--quiet', `${bench.root} theirs`, BRANCH);
    },
    'theirs',
  ],
  [
    'a person’s to go on with',
    async ({ directory, env }: Discarding) =>
      void gitIn(directory, env, 'commit', '--quiet', '--allow-empty', '-m', 'Mine'),
    'it has commits that no run of ours made',
  ],
])('a branch that is %s is kept, and it is said', async (_, change, why) => {
  const bench = await discarding();
  await change(bench);
  const { removed, kept } = await bench.discarded();
  expect(named(removed)).toContain('checkpoint implement-42.db');
  expect(named(kept)).toEqual([`branch ${BRANCH}`]);
  expect(kept[0]?.why).toContain(why);
  expect(bench.branches()).toBe(BRANCH);
  expect(existsSync(bench.directory)).toBe(false);
});

test('a folder that is no worktree of ours stays', async () => {
  const bench = await discarding();
  await put(join(bench.paths.worktrees, 'implement-9', 'mine.txt'));
  await expect(bench.discarded(['9'])).rejects.toMatchObject({ problem: { code: 'usage' } });
  expect(existsSync(join(bench.paths.worktrees, 'implement-9', 'mine.txt'))).toBe(true);
});
