import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { cachedWorktree, commitMessage, createPortableText } from './worktree-item.ts';

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

test('paths in worktree and checkout become relative, in every spelling; others stay', async () => {
  const root = await testFolder();
  const repository = join(root, 'my repo');
  const worktree = join(repository, '.agentos/worktrees/implement-42');
  await mkdir(worktree, { recursive: true });
  await symlink(repository, join(root, 'link'));
  const portable = await createPortableText(join(root, 'link'), join(root, 'link/.agentos/worktrees/implement-42'));
  const cases: [string, string][] = [
    [`at ${worktree}/src/a.js:3:1`, 'at src/a.js:3:1'],
    [`at ${pathToFileURL(join(worktree, 'src/a.js')).href}:3:1`, 'at src/a.js:3:1'],
    [`at file://${worktree}/src/a.js`, 'at src/a.js'],
    [`in ${root}/link/.agentos/worktrees/implement-42/test`, 'in test'],
    [`${repository}/src/a.js and ${root}/link/src/b.js`, 'src/a.js and src/b.js'],
    [`cwd: '${worktree}'`, "cwd: '.'"],
    [`${repository}-old/src/a.js`, `${repository}-old/src/a.js`],
    ['/usr/lib/node.js, https://example.org/a', '/usr/lib/node.js, https://example.org/a'],
  ];
  for (const [text, expected] of cases) expect(portable(text)).toBe(expected);
});

const BY = { models: ['claude-opus-5'], coAuthor: null };

function trailersOf(message: string): string[] {
  const args = ['interpret-trailers', '--parse'];
  return execFileSync('git', args, { input: message, encoding: 'utf8' }).trim().split('\n');
}

test('the last paragraph names every model that wrote, and the co-author', () => {
  expect(commitMessage('Add a number', 'Implements 42.', BY)).toBe(
    'Add a number\n\nImplements 42.\n\nImplemented-by: claude-opus-5\n',
  );
  const message = commitMessage('Add a number', 'Implements 42.', {
    models: ['command:node a.mjs', 'claude-opus-5'],
    coAuthor: 'Claude <noreply@anthropic.com>',
  });
  expect(trailersOf(message)).toEqual([
    'Implemented-by: command:node a.mjs',
    'Implemented-by: claude-opus-5',
    'Co-authored-by: Claude <noreply@anthropic.com>',
  ]);
});

test('neither a title nor the name of a model can add a trailer', () => {
  const evil = 'x\n\nSigned-off-by: Eve <eve@example.org>\r\n\u2028Reviewed-by: Eve';
  const message = commitMessage(evil, 'Implements 42.', { ...BY, models: [evil] });
  expect(message.split('\n')).toHaveLength(6);
  expect(trailersOf(message)).toEqual(['Implemented-by: x Signed-off-by: Eve <eve@example.org> Reviewed-by: Eve']);
});
