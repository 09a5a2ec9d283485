import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { canMount, mountSmallDisk } from '../../test/support/small-disk.ts';
import { systemCode } from '../core/errors.ts';
import { createAppender } from './event-files.ts';

test('half a line that a killed process left is ended, so the next line is complete', async () => {
  const path = join(await testFolder(), 'events.jsonl');
  writeFileSync(path, '{"a":1}\n{"b"');
  const append = createAppender();
  append(path, '{"c":3}\n');
  append(path, '{"d":4}\n');
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"b"\n{"c":3}\n{"d":4}\n');
});

test.skipIf(!existsSync('/proc/self/fd'))('no file stays open, however many are written to', async () => {
  const folder = await testFolder();
  const append = createAppender();
  const before = readdirSync('/proc/self/fd').length;
  for (const line of ['one\n', 'two\n']) for (let n = 0; n < 100; n++) append(join(folder, 'logs', `${n}.log`), line);
  expect(readdirSync('/proc/self/fd')).toHaveLength(before);
  for (let n = 0; n < 100; n++) expect(readFileSync(join(folder, 'logs', `${n}.log`), 'utf8')).toBe('one\ntwo\n');
});

test('a deleted file is created again; one that another program wrote to is named once', async () => {
  const folder = await testFolder();
  const path = join(folder, 'logs', '1.log');
  const named: string[] = [];
  const append = createAppender((foreign) => named.push(foreign));
  append(path, 'one\n');
  rmSync(join(folder, 'logs'), { recursive: true });
  append(path, 'two\n');
  expect([readFileSync(path, 'utf8'), named]).toEqual(['two\n', []]);
  writeFileSync(path, 'half', { flag: 'a' });
  for (const line of ['three\n', 'four\n']) append(path, line);
  expect([readFileSync(path, 'utf8'), named]).toEqual(['two\nhalf\nthree\nfour\n', [path]]);
});

test.skipIf(!canMount())(
  'on a full disk a line is whole or absent, and the next one fits when there is room again',
  () => {
    const disk = mountSmallDisk(1 << 20);
    const append = createAppender();
    try {
      const path = join(disk.folder, 'events.jsonl');
      append(path, 'first\n');
      const makeRoom = disk.fill();
      // The rest of the last page of the file is still free.
      let refused: unknown = null;
      try {
        append(path, `${'x'.repeat(10_000)}\n`);
      } catch (error) {
        refused = error;
      }
      expect(systemCode(refused)).toBe('ENOSPC');
      expect(readFileSync(path, 'utf8')).toBe('first\n');
      makeRoom();
      append(path, 'last\n');
      expect(readFileSync(path, 'utf8')).toBe('first\nlast\n');
    } finally {
      disk.unmount();
    }
  },
);
