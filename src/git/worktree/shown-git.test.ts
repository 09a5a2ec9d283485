import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { worktreeBench } from '../../../test/support/worktree.ts';
import { createShownGit } from './shown-git.ts';

test('of what a repository borrows objects from, only folders of objects are shown', async () => {
  const [bench, other] = [await worktreeBench(), await worktreeBench()];
  const borrowed = join(other.root, '.git', 'objects');
  await mkdir(join(other.home, 'objects'));
  const named = [borrowed, other.home, join(other.home, 'objects'), '../../..'];
  await writeFile(join(bench.root, '.git', 'objects', 'info', 'alternates'), `${named.join('\n')}\n`);
  const look = await createShownGit(bench.user, bench.directory);
  const { commonDir, parts } = await look();
  expect(parts.filter((path) => !path.startsWith(`${commonDir}/`))).toEqual([borrowed]);
});
