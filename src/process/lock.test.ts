import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { codeOf } from '../core/errors.ts';
import { acquireLock } from './lock.ts';

const ITEM = { workflow: 'lld', id: '42' };
const NOW = '2026-01-01T00:00:00.000Z';

function codeOfAcquiring(path: string): string | null {
  try {
    acquireLock(path, ITEM).release();
    return null;
  } catch (error) {
    return codeOf(error);
  }
}

test('a lock of the first process of the machine or of its kernel, or a folder in its place, holds nothing', async () => {
  const path = join(await testFolder(), 'x.lock');
  for (const pid of [1, 2]) {
    writeFileSync(path, JSON.stringify({ pid, processStart: null, since: NOW }));
    expect(codeOfAcquiring(path)).toBeNull();
  }
  mkdirSync(join(path, 'deep'), { recursive: true });
  utimesSync(path, new Date(0), new Date(0));
  expect(codeOfAcquiring(path)).toBeNull();
});

test('a lock that is held is refused, and free again after its release', async () => {
  const path = join(await testFolder(), 'locks', 'lld-42.lock');
  const lock = acquireLock(path, ITEM);
  expect(codeOfAcquiring(path)).toBe('item-locked');
  lock.release();
  expect(codeOfAcquiring(path)).toBeNull();
});

test('the lock of a process that is gone is taken over', async () => {
  const path = join(await testFolder(), 'lld-42.lock');
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(path, JSON.stringify({ pid: gone, processStart: '1', since: NOW }));
  expect(codeOfAcquiring(path)).toBeNull();
});

test('a lock whose process number belongs to another process by now is taken over', async () => {
  const path = join(await testFolder(), 'lld-42.lock');
  writeFileSync(path, JSON.stringify({ pid: process.pid, processStart: 'another time', since: NOW }));
  expect(codeOfAcquiring(path)).toBeNull();
});

test('a lock file that nobody can read is stale', async () => {
  const path = join(await testFolder(), 'lld-42.lock');
  writeFileSync(path, '{"pid":');
  expect(codeOfAcquiring(path)).toBeNull();
});

test('a release does not remove a lock that somebody else took over', async () => {
  const path = join(await testFolder(), 'lld-42.lock');
  const lock = acquireLock(path, ITEM);
  const other = JSON.stringify({ pid: process.ppid, processStart: null, since: NOW });
  writeFileSync(path, other);
  lock.release();
  expect(readFileSync(path, 'utf8')).toBe(other);
});

test('of many processes that find the same stale lock, exactly one gets it', async () => {
  const path = join(await testFolder(), 'lld-42.lock');
  const gone = spawnSync(process.execPath, ['-e', '']).pid;
  writeFileSync(path, JSON.stringify({ pid: gone, processStart: '1', since: NOW }));
  const source = `
    const { acquireLock } = await import(process.argv[1]);
    try { acquireLock(process.argv[2], { workflow: 'lld', id: '42' }); process.stdout.write('got'); } catch { process.stdout.write('refused'); }
    process.stdin.on('data', () => process.exit(0)).on('end', () => process.exit(0));
  `;
  const module = new URL('./lock.ts', import.meta.url).href;
  const children = Array.from({ length: 6 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', source, module, path], { stdio: ['pipe', 'pipe', 'ignore'] }),
  );
  const answers = await Promise.all(
    children.map(async (child) => String(((await once(child.stdout, 'data')) as [Buffer])[0])),
  );
  for (const child of children) child.stdin.end();
  await Promise.all(children.map((child) => once(child, 'exit')));
  expect(answers.toSorted((a, b) => a.localeCompare(b))).toEqual([
    'got',
    'refused',
    'refused',
    'refused',
    'refused',
    'refused',
  ]);
});
