import { chmod, lstat, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { pathsOf, workDirectory } from '../core/paths.ts';
import { prepareWorkFolder, tidyWorkFolder } from './state-folder.ts';

test.each(['a\\b', 'a?b', 'a#b', '50%', 'a*b', 'a[1]', '{a}', '$a', 'a:b', 'a`b', 'a\nb'])(
  'below %j nothing is worked on',
  (name) => {
    expect(workDirectory(`/home/x/${name}/.agentos`, 7)).toMatch(/^\/var\/tmp\/agentos-7\/[0-9a-f]{16}$/);
  },
);

test.each(["Bob's work", 'a (1)', 'ü & é', '工作', 'a+b=c,d@e~f', 'a!b'])('below %j it is', (name) => {
  expect(workDirectory(`/home/x/${name}/.agentos`, 7)).toBe(`/home/x/${name}/.agentos`);
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
  await tidyWorkFolder(paths);
  await expect(lstat(paths.work)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('one that others can read, and a link in its place, are not used', async () => {
  const open = await place();
  await mkdir(open.own);
  await chmod(open.own, 0o755);
  const refused = { problem: { code: 'state-unwritable', directory: open.own } };
  await expect(prepareWorkFolder(open.paths)).rejects.toMatchObject(refused);
  const linked = await place();
  await mkdir(join(linked.folder, 'elsewhere'), { mode: 0o700 });
  await symlink(join(linked.folder, 'elsewhere'), linked.own);
  await expect(prepareWorkFolder(linked.paths)).rejects.toMatchObject({ problem: { code: 'state-unwritable' } });
});
