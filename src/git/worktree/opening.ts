import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { makeFolder } from '../../process/files.ts';
import type { Git } from '../git.ts';
import { type BranchRef, freeBranch, unusable } from './branch.ts';
import type { WorktreePlace } from './place.ts';
import { registrationOf, repairRegistration } from './registration.ts';
import { readWorktreeState, type WorktreeState, writeWorktreeState } from './state.ts';

export interface Claim {
  gitDir: string;
  state: WorktreeState;
  /** Nothing was in the folder. */
  isEmpty: boolean;
}

/** No hook of the user's runs when a worktree is made or removed, or a ref of ours is set. */
export const NO_HOOKS = ['-c', 'core.hooksPath=/dev/null'];
/** Git's own reason while it makes a worktree; left there when it was killed. */
export const BEING_MADE = 'initializing';

/**
 * Makes the branch and registers the worktree, or takes over what is there; files are not checked out yet. With
 * `state.ready` false there is nobody's work in the folder, and its files have to be made.
 *
 *   folder    registered or noted as ours    what is done
 *   none      no                             a new branch and a new worktree
 *   none      yes                            the branch as it is, files anew
 *   some      yes                            taken over as it is, the registration mended
 *   some      no                             refused: it is somebody else's
 */
export async function claimWorktree(
  repository: Git,
  place: WorktreePlace,
  branches: ReadonlyMap<string, BranchRef>,
  wanted: { branch: string; start: string },
): Promise<Claim> {
  const { directory } = place;
  const [isFilled, registered, noted] = await Promise.all([
    hasContent(directory),
    registrationOf(place),
    readWorktreeState(place),
  ]);
  // By hand: folder, registration and branch are all gone, and only our note is left.
  const isThrownAway = noted !== null && !isFilled && registered === null && !branches.has(noted.branch);
  const known = isThrownAway
    ? null
    : (noted ?? (registered === null ? null : await stateFrom(registered, branches, wanted)));
  if (known === null) {
    if (isFilled) throw unusable(directory, 'It holds files, and it is no worktree of this repository.');
    return addWorktree(repository, place, branches, wanted);
  }
  const state = { ...known, ready: known.ready && isFilled, made: isFilled ? known.made : null };
  const there = branches.get(state.branch);
  if (there && there.checkedOutAt !== null && there.checkedOutAt !== directory) {
    throw unusable(directory, `Its branch ${state.branch} is checked out in ${there.checkedOutAt}.`);
  }
  await writeWorktreeState(place, state);
  const gitDir = await repairRegistration(place, registered, state.branch);
  if ((await lockReason(gitDir)) === BEING_MADE) await rm(join(gitDir, 'locked'), { force: true });
  if (there === undefined) {
    await repository.run([...NO_HOOKS, 'update-ref', `refs/heads/${state.branch}`, state.head]);
  }
  return { gitDir, state: { ...state, head: there?.commit ?? state.head }, isEmpty: !isFilled };
}

async function addWorktree(
  repository: Git,
  place: WorktreePlace,
  branches: ReadonlyMap<string, BranchRef>,
  { branch: asked, start }: { branch: string; start: string },
): Promise<Claim> {
  const { directory } = place;
  const branch = await freeBranch(repository, branches, { branch: asked, start, directory });
  const state: WorktreeState = { branch, start, head: start, ready: false, made: null, ignored: [] };
  // Before git begins: should we be killed in between, what git leaves is known to be ours.
  await writeWorktreeState(place, state);
  const add = ['worktree', 'add', '--quiet', '--no-checkout', '-B', branch, directory, start];
  await repository.run([...NO_HOOKS, ...add]);
  return { gitDir: await repairRegistration(place, null, branch), state, isEmpty: true };
}

/** Without a note of ours: what git itself knows, if the branch is the one that we would use. */
async function stateFrom(
  gitDir: string,
  branches: ReadonlyMap<string, BranchRef>,
  { branch: asked, start }: { branch: string; start: string },
): Promise<WorktreeState | null> {
  const head = (await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => '')).trim().replace(/^ref: refs\/heads\//, '');
  const branch = head === asked || head.startsWith(`${asked}-`) ? head : asked;
  const commit = branches.get(branch)?.commit;
  return commit === undefined ? null : { branch, start, head: commit, ready: true, made: null, ignored: [] };
}

/** Why somebody locked the worktree; null: nobody did. */
export async function lockReason(gitDir: string): Promise<string | null> {
  return readFile(join(gitDir, 'locked'), 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
}

async function hasContent(directory: string): Promise<boolean> {
  try {
    if (!(await lstat(directory)).isDirectory()) throw unusable(directory, 'It is no folder.');
    return (await readdir(directory)).some((name) => name !== '.git');
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    await makeFolder(join(directory, '..'));
    return false;
  }
}
