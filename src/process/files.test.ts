import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { writeFileExclusive } from './files.ts';

/** As on a file system that has no hard links. */
const noLinks = (): Promise<void> => Promise.reject(Object.assign(new Error('no links'), { code: 'EPERM' }));

test.each([
  ['with hard links', undefined],
  ['without hard links', noLinks],
])('%s: a new file is written, one that is there stays, and nothing is left beside it', async (_, link) => {
  const folder = join(await testFolder(), 'new', 'folder');
  const path = join(folder, 'a.md');
  expect(await writeFileExclusive(path, 'first', link)).toBe(true);
  expect(await writeFileExclusive(path, 'second', link)).toBe(false);
  expect(await readFile(path, 'utf8')).toBe('first');
  expect(await readdir(folder)).toEqual(['a.md']);
});

test('of many at the same time exactly one gets the name', async () => {
  const path = join(await testFolder(), 'a.md');
  const won = await Promise.all(Array.from({ length: 20 }, (_, at) => writeFileExclusive(path, `text ${at}`)));
  expect(won.filter(Boolean)).toHaveLength(1);
  expect(await readFile(path, 'utf8')).toBe(`text ${won.indexOf(true)}`);
});

test('a place that can not be written is named', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'file'), '');
  const path = join(folder, 'file', 'a.md');
  await expect(writeFileExclusive(path, 'x')).rejects.toMatchObject({ problem: { code: 'output-unwritable', path } });
});

test('a folder in the place counts as taken', async () => {
  const path = join(await testFolder(), 'a.md');
  await mkdir(path);
  expect(await writeFileExclusive(path, 'x')).toBe(false);
});
