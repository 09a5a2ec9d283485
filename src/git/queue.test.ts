import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { codeOf } from '../core/errors.ts';
import { inGitQueue } from './locks.ts';

test('one works at a time, in one process too, and each gets its turn', async () => {
  const lockFile = join(await testFolder(), 'locks', 'git.lock');
  let inside = 0;
  let most = 0;
  const done = await Promise.all(
    Array.from({ length: 5 }, (_, n) =>
      inGitQueue(lockFile, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside -= 1;
        return n;
      }),
    ),
  );
  expect(done).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(1);
  expect(existsSync(lockFile)).toBe(false);
});

test('a failure gives the turn to the next', async () => {
  const lockFile = join(await testFolder(), 'git.lock');
  await expect(inGitQueue(lockFile, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await inGitQueue(lockFile, async () => 'next', 0)).toBe('next');
});

test('the lock of a process that is gone is taken over, and so is one that nobody finished writing', async () => {
  const lockFile = join(await testFolder(), 'git.lock');
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(lockFile, JSON.stringify({ pid: gone, processStart: '1', since: '' }));
  expect(await inGitQueue(lockFile, async () => 'taken', 1_000)).toBe('taken');
  writeFileSync(lockFile, '{"pid"');
  utimesSync(lockFile, new Date(0), new Date(0));
  expect(await inGitQueue(lockFile, async () => 'taken', 1_000)).toBe('taken');
});

test('waiting has a bound, after which the holder is named, and it is worth another try', async () => {
  const lockFile = join(await testFolder(), 'git.lock');
  writeFileSync(lockFile, JSON.stringify({ pid: process.ppid, processStart: null, since: 'noon' }));
  const error = await inGitQueue(lockFile, async () => 'never', 50).catch((caught: unknown) => caught);
  expect(codeOf(error)).toBe('worktree-unusable');
  expect(error).toMatchObject({ retry: 'transient' });
  expect(String(error)).toContain(`process ${process.ppid} (since noon)`);
  expect(readFileSync(lockFile, 'utf8')).toContain('noon');
});

test('those that go before it one after another do not add up to a wait that is too long', async () => {
  const lockFile = join(await testFolder(), 'git.lock');
  const boundMs = 1_000;
  const hold = (token: number): void =>
    writeFileSync(lockFile, JSON.stringify({ pid: process.pid, processStart: null, since: '', token }));
  let turn = 0;
  hold(turn);
  const startedAt = performance.now();
  const timer = setInterval(() => {
    turn += 1;
    if (performance.now() - startedAt < 2 * boundMs) hold(turn);
    else rmSync(lockFile, { force: true });
  }, 20);
  expect(await inGitQueue(lockFile, async () => clearInterval(timer), boundMs)).toBeUndefined();
  expect(performance.now() - startedAt).toBeGreaterThan(boundMs);
});

test('processes that find the same stale lock go in one after another', async () => {
  const folder = await testFolder();
  const lockFile = join(folder, 'git.lock');
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(lockFile, JSON.stringify({ pid: gone, processStart: '1', since: '' }));
  const source = `
    const { inGitQueue } = await import(process.argv[1]);
    const { rmSync, writeFileSync } = await import('node:fs');
    const { setTimeout: sleep } = await import('node:timers/promises');
    for (let n = 0; n < 3; n++) {
      await inGitQueue(process.argv[2], async () => {
        writeFileSync(process.argv[3], '', { flag: 'wx' });
        await sleep(5);
        rmSync(process.argv[3]);
      });
    }
  `;
  const module = new URL('./locks.ts', import.meta.url).href;
  const codes = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const args = ['--input-type=module', '-e', source, module, lockFile, join(folder, 'inside')];
      const [code] = (await once(spawn(process.execPath, args, { stdio: 'inherit' }), 'exit')) as [number];
      return code;
    }),
  );
  expect(codes).toEqual([0, 0, 0, 0]);
});
