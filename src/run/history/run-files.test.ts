import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { followFile, readPiece } from './run-files.ts';

test('a piece ends with its last whole line, unless the file is complete; a missing file has no piece', async () => {
  const file = join(await testFolder(), 'events.jsonl');
  expect(await readPiece(file, 0)).toEqual({ text: '', end: 0 });
  await writeFile(file, 'äb\nzwei\nhalf');
  expect(await readPiece(file, 0)).toEqual({ text: 'äb\nzwei\n', end: 9 });
  expect(await readPiece(file, 9)).toEqual({ text: '', end: 9 });
  expect(await readPiece(file, 9, { isFinal: true })).toEqual({ text: 'half', end: 13 });
  await appendFile(file, ' a line\n');
  expect(await readPiece(file, 9)).toEqual({ text: 'half a line\n', end: 21 });
  expect(await readPiece(file, 1_000)).toEqual({ text: '', end: 1_000 });
});

test('a file is followed from before it exists until the signal fires, each line once', async () => {
  const file = join(await testFolder(), 'log');
  const done = new AbortController();
  const lines: string[] = [];
  const followed = followFile(file, 0, {
    signal: done.signal,
    onPiece: ({ text }) => {
      lines.push(...text.split('\n').slice(0, -1));
      if (lines.length === 100) done.abort();
    },
  });
  for (let line = 0; line < 100; line++) await appendFile(file, `line ${line}\n`);
  await followed;
  expect(lines).toEqual(Array.from({ length: 100 }, (_, line) => `line ${line}`));
});
