import { spawnSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import {
  makeOwnFolder,
  makeWritable,
  removeFolder,
  removeStaleTemporaryFiles,
  writeFileAtomic,
  writeFileExclusive,
} from './files.ts';

/** As on a file system that has no hard links. */
const noLinks = (): never => {
  throw Object.assign(new Error('no links'), { code: 'EPERM' });
};

test.each([
  ['with hard links', {}],
  ['without hard links', { link: noLinks }],
])('%s: a new file is written, one that is there stays, and nothing is left beside it', async (_, links) => {
  const folder = await testFolder();
  const path = join(folder, 'a.md');
  expect(writeFileExclusive(path, 'first', links)).toBe(true);
  expect(writeFileExclusive(path, 'second', links)).toBe(false);
  expect(await readFile(path, 'utf8')).toBe('first');
  expect(await readdir(folder)).toEqual(['a.md']);
});

test('a removal stays in its folder, wherever links on the way lead', async () => {
  const folder = await testFolder();
  for (const name of ['state', 'project/homes', 'project/.config/x'])
    await mkdir(join(folder, name), { recursive: true });
  await symlink('../project', join(folder, 'state', 'homes'));
  await symlink('../project/.config', join(folder, 'state', '.config'));
  const state = join(folder, 'state');
  for (const path of [join(state, 'homes', 'homes'), join(state, '.config', 'x'), join(folder, 'project')])
    await expect(removeFolder(path, state), path).rejects.toMatchObject({ problem: { code: 'leads-outside' } });
  await removeFolder(join(state, 'homes'), state);
  expect(await readdir(join(folder, 'project'))).toEqual(['.config', 'homes']);
  expect(await readdir(state)).toEqual(['.config']);
});

test('a file is not written through a link that waits under the temporary name', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'precious'), 'precious');
  for (let n = 1; n < 20; n++) await symlink(join(folder, 'precious'), join(folder, `.${process.pid}-${n}.tmp`));
  await writeFileAtomic(join(folder, 'x'), 'x');
  expect(await readFile(join(folder, 'precious'), 'utf8')).toBe('precious');
  expect(await readFile(join(folder, 'x'), 'utf8')).toBe('x');
});

test('a place that can not be written is named', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'file'), '');
  const path = join(folder, 'file', 'a.md');
  expect(() => writeFileExclusive(path, 'x')).toThrow(
    expect.objectContaining({ problem: expect.objectContaining({ code: 'output-unwritable', path }) }),
  );
});

test('a folder in the place counts as taken', async () => {
  const path = join(await testFolder(), 'a.md');
  await mkdir(path);
  expect(writeFileExclusive(path, 'x')).toBe(false);
});

test('what a writer that is gone left behind is removed; what a living one writes, and all else, stays', async () => {
  const folder = await testFolder();
  const { pid: gone } = spawnSync(process.execPath, ['--version']);
  const kept = [`.${process.pid}-1.tmp`, '001-issue.md', '.notes.tmp'];
  for (const name of [...kept, `.${gone}-3.tmp`]) await writeFile(join(folder, name), 'x');
  await removeStaleTemporaryFiles(folder);
  expect((await readdir(folder)).toSorted()).toEqual(kept.toSorted());
});

test('a folder that is not there is nothing to do', async () => {
  await expect(removeStaleTemporaryFiles(join(await testFolder(), 'none'))).resolves.toBeUndefined();
});

test('a folder below one that programs write to is ours, whatever they left in its way', async () => {
  const folder = await testFolder();
  const elsewhere = join(folder, 'elsewhere');
  await mkdir(join(elsewhere, 'inner'), { recursive: true });
  await mkdir(join(folder, 'home'));
  await symlink(elsewhere, join(folder, 'home', 'link'));
  await writeFile(join(folder, 'home', 'file'), 'x');
  for (const path of ['link/inner', 'file', 'new/one']) {
    expect(await makeOwnFolder(join(folder, 'home'), path)).toBe(join(folder, 'home', path));
    expect((await lstat(join(folder, 'home', path.split('/')[0] ?? ''))).isDirectory()).toBe(true);
  }
  expect(await readdir(join(elsewhere, 'inner'))).toEqual([]);
  expect(await readdir(join(folder, 'home', 'link'))).toEqual(['inner']);
});

test('what is made writable is a folder, not what a link leads to', async () => {
  const folder = await testFolder();
  const closed = join(folder, 'closed');
  await mkdir(closed);
  await chmod(closed, 0o500);
  await symlink(closed, join(folder, 'link'));
  await makeWritable(join(folder, 'link'));
  expect((await lstat(closed)).mode & 0o777).toBe(0o500);
  await makeWritable(closed);
  expect((await lstat(closed)).mode & 0o777).toBe(0o755);
});
