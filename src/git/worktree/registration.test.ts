import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benchAt, gitIn, worktreeBench } from '../../../test/support/worktree.ts';
import { pathsOf } from '../../core/paths.ts';
import { placeOf } from './place.ts';
import { createReadingWorktree } from './reading.ts';
import { removeStaleGitLocks } from './registration.ts';

const LOCK = '.git/refs/heads/agentos/42-title.lock';

async function lockedBench(mtimeMs: number) {
  const bench = await worktreeBench();
  await bench.write(LOCK, '');
  const time = new Date(mtimeMs);
  await utimes(join(bench.root, LOCK), time, time);
  const place = await placeOf(bench.user, bench.directory);
  return { ...bench, place, isThere: () => existsSync(join(bench.root, LOCK)) };
}

test('what a git has just locked is waited for; what a killed one left is removed', async () => {
  const { root, place, isThere } = await lockedBench(Date.now());
  let isDone = false;
  const removal = removeStaleGitLocks(place, ['agentos/42-title']).then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect({ isDone, isThere: isThere() }).toEqual({ isDone: false, isThere: true });
  await rm(join(root, LOCK));
  await removal;
  const old = await lockedBench(Date.now() - 60_000);
  await removeStaleGitLocks(old.place, ['agentos/42-title']);
  expect(old.isThere()).toBe(false);
});

test('locks that are the user’s stay, however old', async () => {
  const bench = await worktreeBench();
  const place = await placeOf(bench.user, bench.directory);
  const locks = ['HEAD.lock', 'index.lock', 'config.lock', 'refs/heads/main.lock', 'refs/heads/agentos/43-title.lock'];
  for (const name of locks) {
    await bench.write(`.git/${name}`, '');
    await utimes(join(bench.root, '.git', name), new Date(0), new Date(0));
  }
  await removeStaleGitLocks(place, ['agentos/42-title']);
  expect(locks.filter((name) => existsSync(join(bench.root, '.git', name)))).toEqual(locks);
});

test('what a killed git left before the clock was set back is removed too', async () => {
  const { place, isThere } = await lockedBench(Date.now() + 90_000_000);
  await removeStaleGitLocks(place, ['agentos/42-title']);
  expect(isThere()).toBe(false);
});

const [, major = '0', minor = '0'] =
  /(\d+)\.(\d+)/.exec(execFileSync('git', ['--version'], { encoding: 'utf8' })) ?? [];
const hasTables = Number(major) > 2 || Number(minor) >= 45;

test.skipIf(!hasTables)('where git keeps refs in tables, a worktree has a HEAD as well', async () => {
  const bench = await worktreeBench();
  const copy = `${bench.root} copy`;
  bench.git('clone', '--quiet', '--ref-format=reftable', bench.root, copy);
  for (const name of ['name', 'email']) gitIn(copy, bench.env, 'config', `user.${name}`, 'x');
  const here = benchAt(bench, copy, bench.base);
  const { worktree } = await here.open();
  const { directory } = worktree;
  expect(gitIn(directory, here.env, 'status', '--short', '--branch')).toBe('## agentos/42-title');
  gitIn(directory, here.env, 'checkout', '--quiet', '--detach');
  const tree = await worktree.snapshot();
  expect(gitIn(directory, here.env, 'branch', '--show-current')).toBe('agentos/42-title');
  await worktree.setBranch(await worktree.commit({ tree, parents: [here.head], message: 'Work' }));
  expect(gitIn(directory, here.env, 'log', '-1', '--format=%s')).toBe('Work');

  const reading = createReadingWorktree({
    repository: here.user,
    paths: pathsOf(copy, here.base),
    env: here.env,
    onChanged: () => undefined,
  });
  for (let n = 0; n < 2; n++) {
    const head = await reading.use({ commit: here.head, tree: here.head }, async (folder) => {
      expect(await readFile(join(folder, 'README.md'), 'utf8')).toBe('# Sample\n');
      return gitIn(folder, here.env, 'rev-parse', 'HEAD');
    });
    expect(head).toBe(here.head);
  }
  reading.release();
});
