import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type WorktreeBench, worktreeBench } from '../../test/support/worktree.ts';
import { copyIgnored } from './copy-ignored.ts';

async function benchWithSecrets(): Promise<{ bench: WorktreeBench; worktree: string }> {
  const bench = await worktreeBench();
  await bench.write('.git/info/exclude', '.env*\n/private/\nnode_modules/\n');
  await bench.write('.env.test', 'A=1\n');
  await bench.write('packages/a/.env.test', 'B=2\n');
  await bench.write('private/deep/key.pem', 'key\n');
  await bench.write('node_modules/x/.env.test', 'never\n');
  await bench.write('.agentos/homes/.env.test', 'never\n');
  const { worktree } = await bench.open();
  return { bench, worktree: worktree.directory };
}

test('files that git ignores are copied by name, by folder and by pattern', async () => {
  const { bench, worktree } = await benchWithSecrets();
  await chmod(join(bench.root, '.env.test'), 0o600);
  const result = await copyIgnored(bench.user, worktree, ['.env.test', '**/.env.*', 'private', 'gone.txt', '*.none']);
  expect(result).toEqual({
    copied: ['.env.test', 'packages/a/.env.test', 'private/deep/key.pem'],
    missing: ['gone.txt'],
    refused: [],
  });
  expect(await readFile(join(worktree, 'packages/a/.env.test'), 'utf8')).toBe('B=2\n');
  expect((await stat(join(worktree, '.env.test'))).mode & 0o777).toBe(0o600);
});

test('what git would commit, and what leaves one of the folders, is refused', async () => {
  const { bench, worktree } = await benchWithSecrets();
  const outside = join(bench.root, '..', 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), 'secret\n');
  await symlink(join(outside, 'secret.txt'), join(bench.root, '.env.link'));
  await symlink(outside, join(worktree, 'private'));
  await bench.write('plain.txt', 'not ignored\n');
  const names = [
    'README.md',
    'plain.txt',
    '.env.link',
    '../outside/secret.txt',
    join(outside, 'secret.txt'),
    'private',
  ];
  const result = await copyIgnored(bench.user, worktree, names);
  expect(result.copied).toEqual([]);
  const reasons = Object.fromEntries(result.refused.map(({ path, reason }) => [path, reason]));
  expect(reasons).toEqual({
    '../outside/secret.txt': 'it is outside of the repository',
    [join(outside, 'secret.txt')]: 'it is outside of the repository',
    'README.md': expect.stringContaining('does not ignore'),
    'plain.txt': expect.stringContaining('does not ignore'),
    '.env.link': expect.stringContaining('leaves the repository'),
    'private/deep/key.pem': expect.stringContaining('behind a link'),
  });
});

test('a link in the worktree is replaced, not written through', async () => {
  const { bench, worktree } = await benchWithSecrets();
  const target = join(bench.root, '..', 'target');
  await writeFile(target, 'untouched\n');
  await symlink(target, join(worktree, '.env.test'));
  await copyIgnored(bench.user, worktree, ['.env.test']);
  expect(await readFile(target, 'utf8')).toBe('untouched\n');
  expect(await readFile(join(worktree, '.env.test'), 'utf8')).toBe('A=1\n');
});
