import { codeOf } from '../core/errors.ts';
import type { Git } from './git.ts';
import { inGitQueue } from './git-queue.ts';
import { removeStaleGitLocks } from './stale-git-locks.ts';
import { unusable } from './worktree-branch.ts';
import { removeFolder } from './worktree-folder.ts';
import { LONG_MS } from './worktree-git.ts';
import { BEING_MADE, lockReason, NO_HOOKS } from './worktree-opening.ts';
import { removePins } from './worktree-pins.ts';
import type { WorktreePlace } from './worktree-place.ts';
import { registrationOf, repairRegistration } from './worktree-registration.ts';
import { readWorktreeState, writeWorktreeState } from './worktree-state.ts';

export interface RemovalOptions {
  repository: Git;
  place: WorktreePlace;
  /** Null: not known. */
  branch: string | null;
  lockFile: string;
}

/** The worktree with all that is in it, its pins and our notes of it; not the branch. Only what git knows as one. */
export async function removeWorktree({ repository, place, branch, lockFile }: RemovalOptions): Promise<void> {
  const { directory } = place;
  await removeStaleGitLocks(place, [branch]);
  await inGitQueue(lockFile, async () => {
    const gitDir = await registrationOf(place);
    if (gitDir === null) throw unusable(directory, 'It is not registered as a worktree of this repository.');
    const reason = await lockReason(gitDir);
    if (reason !== null && reason !== BEING_MADE)
      throw unusable(directory, `It is locked${reason ? `: ${reason}` : ''}.`);
    // From here on nothing in it counts, also if we are killed in the middle.
    const state = await readWorktreeState(place);
    if (state !== null) await writeWorktreeState(place, { ...state, ready: false });
    // Git refuses one whose `.git` file is not what it should be.
    await repairRegistration(place, gitDir, branch);
    // Twice forced: also one that git was making when it was killed.
    const remove = [...NO_HOOKS, 'worktree', 'remove', '--force', '--force', directory];
    await repository.run(remove, { timeoutMs: LONG_MS }).catch(async (error: unknown) => {
      if (codeOf(error) !== 'git-failed') throw error;
      await removeFolder(directory);
      await repository.run(remove);
    });
  });
  await removePins(repository, place.name);
  await removeFolder(place.stateFolder);
}
