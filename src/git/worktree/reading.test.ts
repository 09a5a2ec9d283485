import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gitIn, type WorktreeBench, worktreeBench } from '../../../test/support/worktree.ts';
import { pathsOf } from '../../core/paths.ts';
import { createGit } from '../git.ts';
import { createReadingWorktree, type ReadingWorktree, removeReadingWorktrees } from './reading.ts';

function readingIn(bench: WorktreeBench): {
  reading: ReadingWorktree;
  changed: string[][];
  remove: () => Promise<void>;
} {
  const paths = pathsOf(bench.root, bench.base);
  const repository = createGit(bench.root, bench.env);
  const changed: string[][] = [];
  const onChanged = (files: string[]): void => void changed.push(files);
  return {
    reading: createReadingWorktree({ repository, paths, env: bench.env, onChanged }),
    changed,
    remove: () => removeReadingWorktrees({ repository, paths }),
  };
}

/** Every file in it, with what it holds. */
async function contentOf(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && entry.name !== '.git') found[path.slice(directory.length + 1)] = await readFile(path, 'utf8');
  }
  return found;
}

test.each<[string, (directory: string, bench: WorktreeBench) => Promise<unknown>]>([
  ['nothing', async () => undefined],
  [
    'a new, a changed and a deleted file',
    async (directory) => {
      await writeFile(join(directory, 'new.txt'), 'x');
      for (const name of Object.keys(await contentOf(directory)).slice(1, 2))
        await writeFile(join(directory, name), 'y');
      for (const name of Object.keys(await contentOf(directory)).slice(0, 1)) await rm(join(directory, name));
    },
  ],
  [
    'no file at all',
    async (directory) => {
      for (const name of await readdir(directory)) await rm(join(directory, name), { recursive: true });
    },
  ],
  ['not even the folder', (directory) => rm(directory, { recursive: true })],
  [
    'a repository in its place',
    async (directory, { env }) => {
      await rm(join(directory, '.git'));
      gitIn(directory, env, 'init', '--quiet', '.');
    },
  ],
  [
    'a repository inside it, and a folder that can not be written',
    async (directory, { env }) => {
      await mkdir(join(directory, 'inner'));
      gitIn(join(directory, 'inner'), env, 'init', '--quiet', '.');
      await mkdir(join(directory, 'locked'));
      await writeFile(join(directory, 'locked', 'file'), 'x');
      await chmod(join(directory, 'locked'), 0o555);
    },
  ],
  [
    'ignored files that it hides itself',
    async (directory) => {
      await writeFile(join(directory, '.gitignore'), '*');
      await writeFile(join(directory, 'hidden'), 'x');
    },
  ],
  [
    'another HEAD and index',
    async (directory, { env }) => {
      gitIn(directory, env, 'checkout', '--quiet', '--orphan', 'other');
      gitIn(directory, env, 'rm', '-r', '--quiet', '--cached', '.');
    },
  ],
])('after a program that left %s, the next one finds the files of the commit', async (_, leave) => {
  const bench = await worktreeBench();
  const { reading, remove } = readingIn(bench);
  const at = { commit: bench.head, tree: bench.head };
  const first = await reading.use(at, contentOf);
  expect(Object.keys(first).length).toBeGreaterThan(0);
  await reading.use(at, (directory) => leave(directory, bench));
  await reading.use(at, async (directory) => {
    expect(await contentOf(directory)).toEqual(first);
    expect(gitIn(directory, bench.env, 'status', '--porcelain', '--ignored')).toBe('');
    expect(gitIn(directory, bench.env, 'rev-parse', '--symbolic-full-name', 'HEAD')).toBe('HEAD');
  });
  reading.release();
  await remove();
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(1);
});

test('two items at once have one each, the third takes over what is free, and only what is free is removed', async () => {
  const bench = await worktreeBench();
  const [a, b, c] = [readingIn(bench), readingIn(bench), readingIn(bench)];
  const at = { commit: bench.head, tree: bench.head };
  const place = async (directory: string): Promise<string> => {
    await writeFile(join(directory, 'left.txt'), 'x');
    return directory;
  };
  const first = await a.reading.use(at, place);
  expect(await b.reading.use(at, place)).not.toBe(first);
  expect(a.changed).toEqual([['left.txt']]);
  a.reading.release();
  expect(await c.reading.use(at, async (directory) => (await contentOf(directory))['left.txt'])).toBeUndefined();
  expect(await c.reading.use(at, place)).toBe(first);
  c.reading.release();
  await a.remove();
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(2);
  b.reading.release();
  await a.remove();
  expect(gitIn(bench.root, bench.env, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(await readdir(join(bench.base, 'worktree-state'))).toEqual([]);
});
