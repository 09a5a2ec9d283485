import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { moveFolder, removeFolder } from '../../process/files.ts';
import { unusable } from '../branches.ts';
import type { Git } from '../git.ts';
import { inGitQueue, removeStaleGitLocks } from '../locks.ts';
import { readWorktreeState, type WorktreePlace, writeWorktreeState } from './place.ts';
import { registrationOf, requireUnlocked } from './registration.ts';
import { removePins } from './trees.ts';

export interface RemovalOptions {
  repository: Git;
  place: WorktreePlace;
  /** Null: not known. */
  branch: string | null;
  lockFile: string;
  /** False: nothing was ever pinned for it. */
  hasPins?: boolean;
}

/** Removes a registered worktree with its contents, pins and notes, but not its branch. */
export async function removeWorktree(options: RemovalOptions): Promise<void> {
  const { repository, place, branch, lockFile, hasPins = true } = options;
  const { directory } = place;
  await removeStaleGitLocks(place, [branch]);
  await inGitQueue(lockFile, async () => {
    const gitDir = await registrationOf(place);
    if (gitDir === null) throw unusable(directory, 'It is not registered as a worktree of this repository.');
    await requireUnlocked(gitDir, directory);
    // From here on its contents don't count, even if we are killed.
    const state = await readWorktreeState(place);
    if (state !== null) await writeWorktreeState(place, { ...state, ready: false });
    // Like `git worktree remove`, but other processes don't wait while the files are deleted.
    const aside = join(place.stateFolder, `removed-${process.pid}-${Date.now()}`);
    if (!(await moveFolder(directory, aside, place.work))) await removeFolder(directory, place.work);
    await removeFolder(gitDir, place.commonDir);
    await rmdir(dirname(gitDir)).catch(() => undefined);
  });
  if (hasPins) await removePins(repository, place.name);
  await removeFolder(place.stateFolder, place.work);
}
