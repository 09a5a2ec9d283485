import { lstat, readdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, systemCode } from '../../core/errors.ts';
import { makeFolder, removeFolder } from '../../process/files.ts';
import { type BranchRef, freeBranch, isAncestor, ourBranches, unusable } from '../branches.ts';
import type { Git } from '../git.ts';
import {
  LONG_MS,
  placeOf,
  readWorktreeState,
  type WorktreePlace,
  type WorktreeState,
  worktreeGit,
  writeWorktreeState,
} from './place.ts';
import { restoreTree, shareIndex } from './private-index.ts';
import { register, registrationOf, removeStaleGitLocks } from './registration.ts';
import { lfsSettings } from './submodules.ts';
import { openPins } from './trees.ts';
import {
  type Claim,
  createWorktree,
  folderStamp,
  submodules,
  type Worktree,
  type WorktreeOptions,
} from './worktree.ts';

export interface OpenedWorktree {
  worktree: Worktree;
  /** The files were checked out just now, so the set-up has to run again. False if they were only moved to another commit. */
  isNew: boolean;
  /** They are also those of `start`. The branch may be ahead of it, from an attempt whose notes are lost. */
  isAtStart: boolean;
  warnings: string[];
}

/**
 * Creates branch and worktree, or takes over those of an earlier attempt, however it ended. A worktree that was made for another
 * commit is moved to this one: tracked files are replaced, all others stay.
 */
export async function openWorktree(options: WorktreeOptions): Promise<OpenedWorktree> {
  const { repository, env } = options;
  const [place, branches] = await Promise.all([placeOf(repository, options.directory), ourBranches(repository)]);
  await removeStaleGitLocks(place, [options.branch, (await readWorktreeState(place))?.branch ?? null]);
  const claim = await claimWorktree(repository, place, branches, options);
  const { gitDir, state } = claim;
  const isNew = !state.ready;
  const isMoved = state.start !== options.start;
  const commit = isMoved ? options.start : state.head;
  const { settings, warning } = await lfsSettings(repository, commit, env);
  const git = worktreeGit(place, gitDir, env, settings);
  await rm(`${place.indexFile}.lock`, { force: true });
  if (isNew) await rm(place.indexFile, { force: true });
  const [pin] = await Promise.all([
    openPins(repository, basename(options.directory)),
    isNew || isMoved ? checkOut(git, place, commit) : null,
  ]);
  // Otherwise leftover files of the other commit would count as made by the set-up.
  if (isNew && isMoved) await restoreTree(git, place, { tree: commit, isIndexed: true }, []);
  const head = isMoved ? await moveBranch(repository, state, commit) : state.head;
  if (isNew || isMoved) {
    await shareIndex(place, gitDir);
    await submodules(options, gitDir, { place, settings, force: isMoved });
  }
  const moved = isMoved ? { start: commit, head, made: null } : {};
  const ready = { ...state, ...moved, ready: true };
  await writeWorktreeState(place, ready);
  const stamp = await folderStamp(place.directory);
  return {
    worktree: createWorktree(options, place, { ...claim, state: ready }, settings, pin, stamp),
    isNew,
    isAtStart: isNew && commit === options.start,
    warnings: warning === null ? [] : [warning],
  };
}

/** Moves the branch to a newer base, unless commits would be lost. Returns its commit. */
async function moveBranch(repository: Git, { branch, start, head }: WorktreeState, base: string): Promise<string> {
  if (head !== start && !(await isAncestor(repository, head, base))) return head;
  await repository.run(['update-ref', '-m', 'agentos', `refs/heads/${branch}`, base, head]);
  return base;
}

const CHECKOUT_ATTEMPTS = 8;

/** Retried, because the git of a killed attempt may still be writing. */
export async function checkOut(git: Git, place: WorktreePlace, commit: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await git.run(['read-tree', '--reset', '-u', commit], { timeoutMs: LONG_MS });
      return;
    } catch (error) {
      if (codeOf(error) !== 'git-failed' || attempt >= CHECKOUT_ATTEMPTS) throw error;
      await sleep(attempt * 100);
      await rm(`${place.indexFile}.lock`, { force: true });
      await rm(place.indexFile, { force: true });
    }
  }
}

/**
 * Makes the branch and registers the worktree, or takes over what is there; files are not checked out yet. With
 * `state.ready` false there is no work in the folder, and its files have to be made.
 *
 *   folder    registered or noted as ours    what is done
 *   none      no                             a new branch and a new worktree
 *   none      yes                            the branch as it is, files checked out again
 *   some      yes                            taken over as it is, the registration repaired
 *   some      no                             refused: it is not ours
 *
 * A note about an unknown commit belongs to another repository, which was at the same path before, so it is removed.
 */
async function claimWorktree(
  repository: Git,
  place: WorktreePlace,
  branches: ReadonlyMap<string, BranchRef>,
  wanted: { branch: string; start: string },
): Promise<Claim> {
  const { directory } = place;
  const [registered, found] = await Promise.all([registrationOf(place), readWorktreeState(place)]);
  const isForeign = found !== null && registered === null && !(await repository.hasCommit(found.head));
  if (isForeign) for (const folder of [directory, place.stateFolder]) await removeFolder(folder, place.work);
  const noted = isForeign ? null : found;
  const isFilled = await hasContent(directory);
  // A person deleted folder, registration and branch; only our note is left.
  const isThrownAway = noted !== null && !isFilled && registered === null && !branches.has(noted.branch);
  const known = isThrownAway ? null : (noted ?? (await stateFrom(registered, branches, wanted)));
  if (known === null && isFilled)
    throw unusable(directory, 'It holds files, and it is no worktree of this repository.');
  const { start } = wanted;
  const state: WorktreeState =
    known === null
      ? {
          branch: await freeBranch(repository, branches, { ...wanted, directory }),
          start,
          head: start,
          ready: false,
          made: null,
        }
      : { ...known, ready: known.ready && isFilled, made: isFilled ? known.made : null };
  const there = branches.get(state.branch);
  if (there && there.checkedOutAt !== null && there.checkedOutAt !== directory) {
    throw unusable(directory, `Its branch ${state.branch} is checked out in ${there.checkedOutAt}.`);
  }
  // Written first: if we are killed in between, the next attempt knows that the worktree is ours.
  await writeWorktreeState(place, state);
  // A branch that is there and free has no commits of its own.
  if (known === null || there === undefined)
    await repository.run(['update-ref', '-m', 'agentos', `refs/heads/${state.branch}`, state.head]);
  const gitDir = await register(repository, place, registered, `ref: refs/heads/${state.branch}`);
  const head = known === null ? start : (there?.commit ?? state.head);
  return { gitDir, state: { ...state, head }, isEmpty: !isFilled };
}

/** Without a note: the state from what git knows, if the branch is the expected one. */
async function stateFrom(
  gitDir: string | null,
  branches: ReadonlyMap<string, BranchRef>,
  { branch: asked, start }: { branch: string; start: string },
): Promise<WorktreeState | null> {
  if (gitDir === null) return null;
  const head = (await readFile(join(gitDir, 'HEAD'), 'utf8').catch(() => '')).trim().replace(/^ref: refs\/heads\//, '');
  const branch = head === asked || head.startsWith(`${asked}-`) ? head : asked;
  const commit = branches.get(branch)?.commit;
  return commit === undefined ? null : { branch, start, head: commit, ready: true, made: null };
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
