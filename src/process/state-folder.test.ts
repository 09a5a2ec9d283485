import { spawnSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { pathsOf, workDirectory } from '../core/paths.ts';
import { abandonedWorkFolders, prepareWorkFolder, removeStaleTemporaryFiles, tidyWorkFolder } from './state-folder.ts';

test.each(['a\\b', 'a?b', 'a#b', '50%', 'a*b', 'a[1]', '{a}', '$a', 'a:b', 'a`b', 'a\nb', '.state'])(
  'below %j nothing is worked on',
  (name) => {
    expect(workDirectory('/home/x/.r', `/state/${name}/r`, 7)).toMatch(/^\/var\/tmp\/agentos-7\/_r-[0-9a-f]{12}$/);
  },
);

test.each(["Bob's work", 'a (1)', 'ü & é', '工作', 'a+b=c,d@e~f', 'a!b'])(
  'below %j it is, if that was chosen',
  (name) => {
    expect(workDirectory('/home/x/r', `/state/${name}/r`, 7)).toBe(`/state/${name}/r`);
  },
);

test('nothing is worked on in the repository, and each state folder has a place of its own', () => {
  const places = ['/r/.agentos', '/r/state', '/q/.agentos'].map((base) => workDirectory(base.slice(0, 2), base, 7));
  expect(places.map((place) => place.slice(0, 21))).toEqual(
    ['r', 'r', 'q'].map((name) => `/var/tmp/agentos-7/${name}-`),
  );
  expect(new Set(places).size).toBe(3);
});

async function place() {
  const folder = await testFolder();
  const own = join(folder, 'agentos-7');
  return { folder, own, paths: pathsOf(folder, join(folder, '.agentos'), join(own, 'abc')) };
}

test('the folder is this user’s alone, and goes when it is empty', async () => {
  const { own, paths } = await place();
  await prepareWorkFolder(paths);
  expect((await lstat(own)).mode & 0o777).toBe(0o700);
  await mkdir(join(paths.worktrees, 'implement-1'), { recursive: true });
  await tidyWorkFolder(paths);
  expect((await lstat(paths.work)).isDirectory()).toBe(true);
  await tidyWorkFolder({ ...paths, worktrees: join(paths.worktrees, 'implement-1') });
  expect(await abandonedWorkFolders(paths)).toEqual([]);
  await tidyWorkFolder(paths);
  await expect(lstat(paths.work)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('one that others can read becomes private', async () => {
  const { own, paths } = await place();
  await mkdir(own);
  await chmod(own, 0o755);
  await prepareWorkFolder(paths);
  expect((await lstat(own)).mode & 0o777).toBe(0o700);
});

test('one that others can write, and a link in its place, are not used', async () => {
  const open = await place();
  await mkdir(open.own);
  await chmod(open.own, 0o775);
  const refused = { problem: { code: 'state-unwritable', directory: open.own } };
  await expect(prepareWorkFolder(open.paths)).rejects.toMatchObject(refused);
  const linked = await place();
  await mkdir(join(linked.folder, 'elsewhere'), { mode: 0o700 });
  await symlink(join(linked.folder, 'elsewhere'), linked.own);
  await expect(prepareWorkFolder(linked.paths)).rejects.toMatchObject({ problem: { code: 'state-unwritable' } });
});

test('one whose repository was deleted is found; not while the folder above that is gone too', async () => {
  const { folder, own, paths } = await place();
  const of = (repository: string, work: string) => ({ ...paths, repository, work: join(own, work) });
  await prepareWorkFolder(paths);
  await prepareWorkFolder(of(join(folder, 'gone'), 'gone-1'));
  await prepareWorkFolder(of(join(folder, 'drive', 'repository'), 'repository-1'));
  await mkdir(join(own, 'not ours'));
  expect(await abandonedWorkFolders(paths)).toEqual([
    { folder: join(own, 'gone-1'), repository: join(folder, 'gone') },
  ]);
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
