import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { AgentosError } from '../core/errors.ts';
import {
  makeOwnFolder,
  makeWritable,
  namesInside,
  readText,
  removeFolder,
  requireInside,
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

/** Why it is refused; null: it is not. */
function reasonOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof AgentosError && error.problem.code === 'leads-outside') return 'outside';
    if (error instanceof AgentosError && error.problem.code === 'file-unreadable') return error.problem.reason;
    throw error;
  }
}

async function folderWith(files: Record<string, string | Uint8Array> = {}): Promise<string> {
  const folder = join(await testFolder(), 'docs');
  await mkdir(folder);
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return folder;
}

test('a file is read as it is; one that is not there is null', async () => {
  const folder = await folderWith({ 'a.md': '\uFEFFä\r\n' });
  expect(readText(join(folder, 'a.md'), folder)).toBe('\uFEFFä\r\n');
  expect(readText(join(folder, 'b.md'), folder)).toBeNull();
  expect(readText(join(folder, 'a.md', 'b.md'), folder)).toBeNull();
});

test.each<[string, (path: string) => unknown, string]>([
  ['a pipe', (path) => execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]), 'is not a regular file'],
  ['a folder', (path) => mkdir(path), 'EISDIR'],
  ['a device', (path) => symlink('/dev/zero', path), 'is a link that leaves the folder'],
  ['a link out of the folder', (path) => symlink('../secret', path), 'is a link that leaves the folder'],
  ['a link to itself', (path) => symlink(path, path), 'ELOOP'],
  ['more than a megabyte', (path) => writeFile(path, 'x'.repeat(1_000_001)), 'is larger than 1 MB'],
  ['bytes that are not UTF-8', (path) => writeFile(path, Uint8Array.of(0x23, 0xe9, 0x0a)), 'is not UTF-8 text'],
  ['a NUL', (path) => writeFile(path, 'a\0b'), 'is not UTF-8 text'],
])('%s is refused at once, with the reason', async (_, make, reason) => {
  const folder = await folderWith();
  await writeFile(join(folder, '..', 'secret'), 'secret');
  const path = join(folder, 'a.md');
  await make(path);
  expect(reasonOf(() => readText(path, folder))).toBe(reason);
});

test('a link inside the folder is followed, one that leads nowhere is no file', async () => {
  const folder = await folderWith({ 'a.md': 'a' });
  await symlink('a.md', join(folder, 'b.md'));
  await symlink('gone.md', join(folder, 'c.md'));
  expect([readText(join(folder, 'b.md'), folder), readText(join(folder, 'c.md'), folder)]).toEqual(['a', null]);
});

test('of the beginning alone, the last character is whole or absent', async () => {
  const folder = await folderWith({ 'a.md': 'ab€', 'large.md': 'x'.repeat(2_000_000) });
  expect(readText(join(folder, 'a.md'), folder, 4)).toBe('ab');
  expect(readText(join(folder, 'large.md'), folder, 100)).toHaveLength(100);
});

test('a folder is listed only inside of its own; none is empty, and what is no folder is an error', async () => {
  const folder = await folderWith({ 'b.md': '', 'a.md': '' });
  const root = join(folder, '..');
  await symlink('/etc', join(root, 'lld'));
  expect(namesInside(folder, root)).toEqual(['a.md', 'b.md']);
  expect(namesInside(join(root, 'none'), root)).toEqual([]);
  expect(reasonOf(() => namesInside(join(root, 'lld'), root))).toBe('is a link that leaves the folder');
  expect(reasonOf(() => namesInside(join(folder, 'a.md'), root))).toBe('ENOTDIR');
});

test('a place for files has to be inside, also where it is not there yet', async () => {
  const folder = await folderWith();
  const root = join(folder, '..');
  await symlink('/tmp', join(folder, 'lineage'));
  await symlink('/nowhere at all', join(folder, 'lld'));
  await symlink('..', join(folder, 'up'));
  expect(reasonOf(() => requireInside(join(folder, 'new', 'x.md'), root))).toBeNull();
  expect(reasonOf(() => requireInside(join(folder, 'up', 'docs'), root))).toBeNull();
  for (const path of [join(folder, 'lineage', '42'), join(folder, '..', '..', 'x')])
    expect(
      reasonOf(() => requireInside(path, folder)),
      path,
    ).toBe('outside');
  expect(reasonOf(() => requireInside(join(folder, 'lld'), root))).toBe('outside');
});
