import { lstat, mkdir, readdir, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { isTemporaryFile, makeFolder } from './files.ts';

const IGNORE = '.gitignore';

/** What we keep in a state folder. */
export const STATE_ENTRIES: ReadonlySet<string> = new Set([
  'runs',
  'checkpoints',
  'locks',
  'homes',
  'caches',
  'undone',
  'worktrees',
  'worktree-state',
  'batches',
  'compile-cache',
  'keys.json',
]);

/** Makes the state folder, with the `.gitignore` that keeps it out of the user's commits. */
export async function prepareStateFolder(directory: string): Promise<void> {
  await makeFolder(directory).catch((error: unknown) => {
    throw unwritable(directory, error);
  });
  const entries = await readdir(directory);
  if (entries.includes(IGNORE)) return;
  // Our ignore file would hide a user's own files from git. Ours without it are there when a run continued after the folder
  // was deleted.
  if (entries.some((name) => !STATE_ENTRIES.has(name) && !isTemporaryFile(name))) {
    throw new AgentosError({ code: 'state-unwritable', directory, reason: 'it holds files that are not ours' });
  }
  await writeFile(join(directory, IGNORE), '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw unwritable(directory, error);
  });
}

function unwritable(directory: string, error: unknown): AgentosError {
  const reason = systemCode(error) ?? String(error);
  return new AgentosError({ code: 'state-unwritable', directory, reason }, { cause: error });
}

export function userId(): number {
  return process.getuid?.() ?? 0;
}

type Place = Pick<Paths, 'base' | 'work' | 'worktrees' | 'homes' | 'caches'>;

/**
 * Makes the folder for worktrees where it is not the base directory. Any user may write beside it, so that a folder or a link
 * of its name that another user made is not used.
 */
export async function prepareWorkFolder({ base, work }: Place): Promise<void> {
  if (work === base) return;
  const own = dirname(work);
  try {
    await mkdir(own, { mode: 0o700 }).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error;
    });
    const found = await lstat(own);
    if (!found.isDirectory() || found.uid !== userId() || (found.mode & 0o077) !== 0)
      throw new AgentosError({ code: 'state-unwritable', directory: own, reason: 'others can write or read it' });
    await makeFolder(work);
  } catch (error) {
    if (error instanceof AgentosError) throw error;
    throw unwritable(own, error);
  }
}

/** Removes what is empty of it. The folder above stays: made by anything else, others could read it. */
export async function tidyWorkFolder({ base, work, worktrees, homes, caches }: Place): Promise<void> {
  if (work === base) return;
  for (const folder of [worktrees, join(work, 'worktree-state'), homes, caches, work])
    await rmdir(folder).catch(() => undefined);
}
