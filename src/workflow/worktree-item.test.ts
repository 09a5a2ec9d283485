import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { cachedWorktree } from './worktree-item.ts';

interface Watched {
  bench: WorktreeBench;
  worktree: Worktree;
  /** The names of what was really asked of the worktree. */
  asked: string[];
  write: (path: string, text: string) => Promise<void>;
}

async function watched(): Promise<Watched> {
  const bench = await worktreeBench();
  const { worktree: real } = await bench.open();
  const asked: string[] = [];
  const worktree = cachedWorktree({
    ...real,
    restore: (tree) => {
      asked.push('restore');
      return real.restore(tree);
    },
    changes: (from, to) => {
      asked.push('changes');
      return real.changes(from, to);
    },
  });
  return { bench, worktree, asked, write: (path, text) => writeFile(join(real.directory, path), text) };
}

test('what a snapshot just found is not restored, but what ran afterwards is undone', async () => {
  const { bench, worktree, asked, write } = await watched();
  await write('new.txt', 'written\n');
  const tree = await worktree.snapshot();
  await worktree.restore(tree);
  expect(asked).toEqual([]);
  await write('left.txt', 'by the tests\n');
  await worktree.restore(tree);
  expect(asked).toEqual(['restore']);
  expect(existsSync(join(bench.directory, 'left.txt'))).toBe(false);
  expect(await readFile(join(bench.directory, 'new.txt'), 'utf8')).toBe('written\n');
});

test('another tree than the one of the snapshot is restored, and then that one again', async () => {
  const { bench, worktree, asked, write } = await watched();
  const first = await worktree.treeOf(bench.head);
  await write('new.txt', 'written\n');
  const second = await worktree.snapshot();
  await worktree.restore(first);
  await worktree.restore(second);
  expect(asked).toEqual(['restore', 'restore']);
  expect(existsSync(join(bench.directory, 'new.txt'))).toBe(true);
});

test('a folder that was deleted since the snapshot is restored, unless what the set-up made went with it', async () => {
  const { bench, worktree, asked, write } = await watched();
  await write('new.txt', 'written\n');
  const tree = await worktree.snapshot();
  await rm(bench.directory, { recursive: true });
  await worktree.restore(tree);
  expect(asked).toEqual(['restore']);
  expect(await readFile(join(bench.directory, 'new.txt'), 'utf8')).toBe('written\n');

  await write('made.txt', 'by the set-up\n');
  expect(await worktree.ignoreMadeBySetup()).toContain('made.txt');
  await rm(bench.directory, { recursive: true });
  await mkdir(bench.directory);
  await expect(worktree.restore(tree)).rejects.toMatchObject({
    problem: { code: 'worktree-unusable', reason: 'It was deleted while the item was under way.' },
    retry: 'transient',
  });
});

test('where there are submodules it is always restored: what is changed in them is no part of a snapshot', async () => {
  const { worktree, asked, write } = await watched();
  await write('.gitmodules', '');
  await worktree.restore(await worktree.snapshot());
  expect(asked).toEqual(['restore']);
});

test('what is between two trees is asked once', async () => {
  const { bench, worktree, asked, write } = await watched();
  const before = await worktree.treeOf(bench.head);
  await write('new.txt', 'written\n');
  const after = await worktree.snapshot();
  const changes = [{ path: 'new.txt', kind: 'added' }];
  expect(await worktree.changes(before, after)).toEqual(changes);
  expect(await worktree.changes(before, after)).toEqual(changes);
  expect(await worktree.changes(after, before)).toEqual([{ path: 'new.txt', kind: 'deleted' }]);
  expect(asked).toEqual(['changes', 'changes']);
});
