import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { symlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { worktreeBench } from '../../test/support/worktree.ts';
import { removeStaleGitLocks } from './locks.ts';
import { placeOf } from './worktree/place.ts';

const hasProc = existsSync('/proc/self/stat');

test.skipIf(!hasProc)('what a living git has locked is waited for; what a killed one left is removed', async () => {
  const bench = await worktreeBench();
  const place = await placeOf(bench.user, bench.directory);
  const lock = '.git/refs/heads/agentos/42-title.lock';
  await bench.write(lock, '');
  // Any program of that name.
  await symlink('/bin/sh', join(bench.home, 'git'));
  const git = spawn(join(bench.home, 'git'), ['-c', 'echo ready; read line'], {
    cwd: bench.root,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  await once(git.stdout, 'data');
  let isDone = false;
  const removal = removeStaleGitLocks(place, ['agentos/42-title']).then(() => {
    isDone = true;
  });
  // The list of worktrees and some looks have passed by then.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect({ isDone, isThere: existsSync(join(bench.root, lock)) }).toEqual({ isDone: false, isThere: true });
  git.stdin.end();
  await removal;
  expect(existsSync(join(bench.root, lock))).toBe(false);
});

test.skipIf(!hasProc)('locks that are the user’s stay, however old', async () => {
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

test.skipIf(!hasProc)('what a killed git left before the clock was set back is removed too', async () => {
  const bench = await worktreeBench();
  const place = await placeOf(bench.user, bench.directory);
  const lock = '.git/refs/heads/agentos/42-title.lock';
  await bench.write(lock, '');
  const tomorrow = new Date(Date.now() + 90_000_000);
  await utimes(join(bench.root, lock), tomorrow, tomorrow);
  await removeStaleGitLocks(place, ['agentos/42-title']);
  expect(existsSync(join(bench.root, lock))).toBe(false);
});
