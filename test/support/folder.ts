import { mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { isInside } from '../../src/core/paths.ts';
import { userId } from '../../src/process/state-folder.ts';

/** A folder for one test: removed when it passes, kept and printed when it fails. */
export async function testFolder(): Promise<string> {
  const folder = await newFolder();
  onTestFinished(({ task }) => removeOrKeep(folder, task.result?.state === 'fail'));
  return folder;
}

/** Its name has a space and a letter outside ASCII. */
export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'agentos test-ü '));
}

export async function removeOrKeep(folder: string, isKept: boolean): Promise<void> {
  if (isKept) process.stderr.write(`kept: ${folder}\n`);
  else {
    await removeWorkFolders(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where the program had worktrees of repositories below a folder: outside of it. */
export async function removeWorkFolders(folder: string): Promise<void> {
  const own = `/var/tmp/agentos-${userId()}`;
  const real = await realpath(folder);
  for (const name of await readdir(own).catch(() => [])) {
    const repository = await readFile(join(own, name, 'repository'), 'utf8').catch(() => '');
    if (isInside(real, repository.trimEnd())) await rm(join(own, name), { recursive: true, force: true });
  }
}
