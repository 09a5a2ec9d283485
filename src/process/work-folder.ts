import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Paths } from '../core/paths.ts';
import { makeFolder } from './make-folder.ts';

export function userId(): number {
  return process.getuid?.() ?? 0;
}

type Place = Pick<Paths, 'base' | 'work' | 'worktrees' | 'homes' | 'caches'>;

/**
 * Makes the folder for worktrees where it is not the base directory. Anybody may write beside it, so that a folder or a link
 * of its name that somebody else made is not used.
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
    throw new AgentosError(
      { code: 'state-unwritable', directory: own, reason: systemCode(error) ?? String(error) },
      { cause: error },
    );
  }
}

/** Removes what is empty of it. The folder above stays: made by anything else, others could read it. */
export async function tidyWorkFolder({ base, work, worktrees, homes, caches }: Place): Promise<void> {
  if (work === base) return;
  for (const folder of [worktrees, join(work, 'worktree-state'), homes, caches, work])
    await rmdir(folder).catch(() => undefined);
}
