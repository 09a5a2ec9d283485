import { spawnSync } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { removeStaleTemporaryFiles } from './files.ts';

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
