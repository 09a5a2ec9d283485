import { existsSync, lstatSync } from 'node:fs';
import { readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { benchAt, gitIn, ofTheUser, worktreeBench } from '../../../test/support/worktree.ts';
import { codeOf } from '../../core/errors.ts';

test('submodules come from the user’s own copies, nested ones too, and the user’s settings stay', async () => {
  const bench = await worktreeBench();
  const file = ['-c', 'protocol.file.allow=always'];
  const deep = await worktreeBench();
  const middle = await worktreeBench();
  middle.git(...file, 'submodule', 'add', '--quiet', deep.root, 'deep');
  middle.git('commit', '--quiet', '-m', 'Deep');
  bench.git(...file, 'submodule', 'add', '--quiet', '--name', 'the middle', middle.root, 'lib/middle');
  bench.git(...file, 'submodule', 'update', '--init', '--recursive', '--quiet');
  bench.git('commit', '--quiet', '-m', 'Middle');
  // Only the user's copies are left, as without a network.
  await rm(middle.root, { recursive: true });
  await rm(deep.root, { recursive: true });
  const here = benchAt(bench, bench.root, bench.base);
  const before = ofTheUser(here);
  const { worktree } = await here.open();
  const at = join(worktree.directory, 'lib', 'middle');
  expect(await readdir(at)).toContain('README.md');
  expect(await readdir(join(at, 'deep'))).toContain('README.md');
  expect(gitIn(at, bench.env, 'config', 'remote.origin.url')).toBe(middle.root);
  expect(ofTheUser(here)).toEqual(before);

  const tree = await worktree.snapshot();
  expect(tree).toBe(await worktree.treeOf(here.head));
  await rm(at, { recursive: true });
  await worktree.restore(tree);
  expect(await readdir(join(at, 'deep'))).toContain('README.md');
  await worktree.remove();
  expect(ofTheUser(here)).toEqual(before);
});

test('a submodule that can’t be had is an error with the command', async () => {
  const bench = await worktreeBench();
  const other = await worktreeBench();
  bench.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', other.root, 'other');
  bench.git('commit', '--quiet', '-m', 'Other');
  bench.git('submodule', 'deinit', '--quiet', '--force', 'other');
  await rm(join(bench.root, '.git', 'modules'), { recursive: true });
  await rm(other.root, { recursive: true });
  const here = benchAt(bench, bench.root, bench.base);
  const before = ofTheUser(here);
  const error = await here.open().catch((caught: unknown) => caught);
  expect(codeOf(error)).toBe('git-failed');
  expect(String(error)).toContain('git submodule --quiet update --init -- other');
  expect(String(error)).toContain('does not exist');
  expect(ofTheUser(here)).toEqual(before);
});

test('a repository that a program made in the place of a submodule runs nothing, and does not stay', async () => {
  const bench = await worktreeBench();
  const other = await worktreeBench();
  bench.git('-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', other.root, 'known');
  bench.git('update-index', '--add', '--cacheinfo', `160000,${other.head},unknown`);
  bench.git('commit', '--quiet', '--message', 'Submodules');
  const { worktree } = await bench.open({ start: bench.git('rev-parse', 'HEAD') });
  const before = await worktree.snapshot();
  const sprung = join(bench.root, '..', 'sprung');
  for (const name of ['known', 'unknown']) {
    const folder = join(worktree.directory, name);
    await rm(folder, { recursive: true, force: true });
    gitIn(bench.root, bench.env, 'clone', '--quiet', other.root, folder);
    for (const kind of ['clean', 'smudge'])
      gitIn(folder, bench.env, 'config', `filter.evil.${kind}`, `touch '${sprung}'; cat`);
    await writeFile(join(folder, '.git', 'info', 'attributes'), '* filter=evil\n');
    // Another time than the index knows: git reads the file again.
    await utimes(join(folder, 'src', 'main.js'), 1, 1);
  }
  await writeFile(join(worktree.directory, 'new.js'), '');
  const after = await worktree.snapshot();
  expect(await worktree.changes(before, after)).toEqual([{ path: 'new.js', kind: 'added' }]);
  await worktree.restore(before);
  expect(existsSync(sprung)).toBe(false);
  expect(lstatSync(join(worktree.directory, 'known', '.git')).isFile()).toBe(true);
});
