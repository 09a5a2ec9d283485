import { appendFile, mkdir, readdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { createSetUpFiles, removeAll, type SetUpRoot } from './set-up-files.ts';

async function bench() {
  const folder = await testFolder();
  const [worktree, home] = [join(folder, 'worktree'), join(folder, 'home')];
  await mkdir(join(worktree, 'node_modules', 'plus', 'empty'), { recursive: true });
  await mkdir(join(home, 'venv'), { recursive: true });
  await mkdir(join(home, 'reviews'));
  await writeFile(join(worktree, 'node_modules', 'plus', 'index.js'), 'exports.plus = 1;\n');
  await writeFile(join(worktree, '.env.test'), 'A=1\n');
  await writeFile(join(worktree, 'src.js'), 'tracked\n');
  await writeFile(join(home, 'venv', 'x.py'), 'x\n');
  const roots: SetUpRoot[] = [
    { folder: worktree, made: ['node_modules/', '.env.test'] },
    { folder: home, made: null, except: new Set(['reviews']) },
  ];
  const files = createSetUpFiles(join(folder, 'record.json'));
  await files.record(roots);
  const changes = async () => {
    // Of another process.
    const found = await createSetUpFiles(join(folder, 'record.json')).changes(roots);
    const short = (paths: readonly string[] = []): string[] => paths.map((path) => path.slice(folder.length + 1));
    return { added: short(found?.added), changed: short(found?.changed) };
  };
  return { folder, worktree, home, roots, files, changes };
}

test('nothing is different until something is, and files of the tree are not looked at', async () => {
  const { worktree, home, changes } = await bench();
  await writeFile(join(worktree, 'src.js'), 'changed\n');
  await writeFile(join(home, 'reviews', 'review-1.md'), 'x');
  expect(await changes()).toEqual({ added: [], changed: [] });
  expect(await createSetUpFiles(join(worktree, 'no record')).changes([])).toBeNull();
});

test('a file that was changed in place is found, also with its size and date as they were', async () => {
  const { worktree, changes } = await bench();
  const file = join(worktree, 'node_modules', 'plus', 'index.js');
  const { atime, mtime } = await stat(file);
  await writeFile(file, 'exports.plus = 2;\n');
  await utimes(file, atime, mtime);
  expect(await changes()).toEqual({ added: [], changed: ['worktree/node_modules/plus/index.js'] });
});

test('what was deleted, replaced, turned into a link or added is found; what is all new is one path', async () => {
  const { worktree, home, changes, roots, folder } = await bench();
  await rm(join(worktree, '.env.test'));
  await writeFile(join(home, 'other.py'), 'x\n');
  await rename(join(home, 'other.py'), join(home, 'venv', 'x.py'));
  await rm(join(worktree, 'node_modules', 'plus', 'empty'), { recursive: true });
  await symlink('/tmp', join(worktree, 'node_modules', 'plus', 'empty'));
  await mkdir(join(worktree, 'node_modules', 'solution', 'lib'), { recursive: true });
  await writeFile(join(worktree, 'node_modules', 'solution', 'lib', 'a.js'), '');
  await mkdir(join(home, '.node_modules'));
  await writeFile(join(home, '.npmrc'), '');
  const { added, changed } = await changes();
  expect(changed.toSorted()).toEqual(['home/venv/x.py', 'worktree/.env.test', 'worktree/node_modules/plus/empty']);
  expect(added).toEqual(['home/.node_modules', 'home/.npmrc', 'worktree/node_modules/solution']);
  await removeAll(
    added.map((path) => join(folder, path)),
    roots,
  );
  expect(await readdir(join(worktree, 'node_modules'))).toEqual(['plus']);
  expect((await changes()).added).toEqual([]);
});

test('what the tests of the base change by themselves is no change', async () => {
  const { worktree, files, roots, changes } = await bench();
  await appendFile(join(worktree, '.env.test'), 'B=2\n');
  await files.recordUnsteady(roots);
  await appendFile(join(worktree, '.env.test'), 'C=3\n');
  expect(await changes()).toEqual({ added: [], changed: [] });
  await files.record(roots);
  await appendFile(join(worktree, '.env.test'), 'D=4\n');
  expect(await changes()).toEqual({ added: [], changed: [] });
});
