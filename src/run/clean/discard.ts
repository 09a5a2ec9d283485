import { basename, dirname, join } from 'node:path';
import { AgentosError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { keyOf } from '../../core/item.ts';
import { shellWord } from '../../core/lines.ts';
import type { Paths } from '../../core/paths.ts';
import { branchesNear, unusable } from '../../git/branches.ts';
import { createGit, type Git } from '../../git/git.ts';
import { removeStaleGitLocks } from '../../git/locks.ts';
import { placeOf, readWorktreeState, type WorktreePlace, type WorktreeState } from '../../git/worktree/place.ts';
import { BEING_MADE, lockReason, registrationOf } from '../../git/worktree/registration.ts';
import { removeWorktree } from '../../git/worktree/remove.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { deleteDatabase } from '../../journal/database-files.ts';
import { namesIn, removeFolder } from '../../process/files.ts';
import { type Lock, lockItem, workedOnBy } from '../../process/lock.ts';
import { implementationsOf } from '../../workflow/implementations.ts';
import type { Project } from '../project.ts';
import type { Candidate, CleanEntry, Cleaned } from './clean.ts';
import { formerWorktrees, isImplemented, tipOf } from './worktrees.ts';

type Part = Pick<Candidate, 'entry' | 'remove'>;

/** Finished branches of these items, by id: people are asked before they are thrown away. */
export async function implementedBranches(
  { paths, childEnv }: Project,
  ids: readonly ItemId[],
): Promise<{ id: ItemId; branch: string }[]> {
  const git = createGit(paths.repository, childEnv);
  return (await Promise.all(ids.map(async (id) => ownBranches(paths, git, id)))).flat();
}

async function ownBranches(paths: Paths, git: Git, id: ItemId): Promise<{ id: ItemId; branch: string }[]> {
  const found = (await implementationsOf(git, paths, [id])).get(id) ?? [];
  return found.flatMap(({ ref, branch }) => (ref === `refs/heads/${branch}` ? [{ id, branch }] : []));
}

/**
 * Throws away what is there of the implementations of exactly these items, files in no commit included, so that the next run
 * starts over. Nothing is removed unless all of them can be. A branch that is merged, checked out or not ours stays, with
 * the reason.
 */
export async function discard(project: Project, ids: readonly ItemId[], dryRun: boolean): Promise<Cleaned> {
  const { paths, childEnv } = project;
  const git = createGit(paths.repository, childEnv);
  const wanted = [...new Set(ids)];
  for (const id of wanted) {
    if (workedOnBy(paths, { workflow: 'implement', id }) !== null) continue;
    const parts = await partsOf(paths, git, id);
    if (!parts.some(({ remove }) => remove !== null)) {
      const kept = parts.map(({ entry }) => `${entry.name} is kept: ${entry.why}.`);
      const reason = [`There is no implementation of ${id} to throw away.`, ...kept].join(' ');
      throw new AgentosError({ code: 'usage', reason });
    }
  }
  const locks: Lock[] = [];
  try {
    for (const id of wanted) locks.push(lockItem(paths, { workflow: 'implement', id }));
    for (const id of dryRun ? [] : wanted) await unlock(paths, git, id);
    // Looked at again: before the locks were taken, a run may have continued.
    const parts = (await Promise.all(wanted.map((id) => partsOf(paths, git, id)))).flat();
    const result: Cleaned = { removed: [], kept: [] };
    for (const { entry, remove } of parts) {
      if (remove !== null && !dryRun) await remove();
      result[remove === null ? 'kept' : 'removed'].push(entry);
    }
    return result;
  } finally {
    for (const held of locks) held.release();
  }
}

/** A git that was killed in the middle must not keep what it was at from being thrown away. */
async function unlock(paths: Paths, git: Git, id: ItemId): Promise<void> {
  for (const place of await placesOf(paths, git, id))
    await removeStaleGitLocks(place, [(await readWorktreeState(place))?.branch ?? null]);
}

/** Where its worktree is, and where an earlier version may have left one. */
async function placesOf(paths: Paths, git: Git, id: ItemId): Promise<WorktreePlace[]> {
  const now = paths.worktree('implement', id);
  const all = new Set([now, join(formerWorktrees(paths), basename(now))]);
  return Promise.all([...all].map((directory) => placeOf(git, directory)));
}

/** In the order in which they go. The checkpoint first: without it the next run starts over, whatever else is left. */
async function partsOf(paths: Paths, git: Git, id: ItemId): Promise<Part[]> {
  const checkpoint = paths.checkpoint('implement', id);
  const worktrees: (Part | null)[] = [];
  const branches: (Part | null)[] = [];
  for (const place of await placesOf(paths, git, id)) {
    const state = await readWorktreeState(place);
    worktrees.push(await worktreePart(paths, git, place, state));
    if (state !== null) branches.push(await branchPart(paths, git, id, place, state));
  }
  for (const { branch } of await ownBranches(paths, git, id))
    if (!branches.some((part) => part?.entry.name === branch))
      branches.push(await finishedPart(paths, git, id, branch));
  const parts = [
    await filePart('checkpoint', checkpoint, () => deleteDatabase(checkpoint)),
    ...(worktrees.some((part) => part !== null)
      ? worktrees
      : [await pinsPart(git, keyOf({ workflow: 'implement', id }))]),
    ...branches,
    await filePart('home', paths.home('implement', id)),
    ...(paths.work === paths.base ? [] : [await filePart('home', join(paths.base, 'homes', `implement-${id}`))]),
    await filePart('undone', paths.undone('implement', id)),
  ];
  return parts.filter((part) => part !== null);
}

async function filePart(
  kind: 'checkpoint' | 'home' | 'undone',
  path: string,
  remove: () => unknown = () => removeFolder(path, dirname(dirname(path))),
): Promise<Part | null> {
  return (await isThere(path)) ? { entry: entryOf(kind, path), remove } : null;
}

async function worktreePart(
  paths: Paths,
  git: Git,
  place: WorktreePlace,
  state: WorktreeState | null,
): Promise<Part | null> {
  const { directory } = place;
  const gitDir = await registrationOf(place);
  if (gitDir === null && state === null) {
    if (!(await isThere(directory))) return null;
    return { entry: { ...entryOf('worktree', directory), why: 'no worktree of ours' }, remove: null };
  }
  const reason = gitDir === null ? null : await lockReason(gitDir);
  if (reason !== null && reason !== BEING_MADE)
    throw unusable(directory, `It is locked${reason ? `: ${reason}` : ''}.`);
  const remove = async (): Promise<void> => {
    const branch = state?.branch ?? null;
    if (gitDir !== null) return removeWorktree({ repository: git, place, branch, lockFile: paths.gitQueue });
    await removeFolder(directory, place.work);
    await removePins(git, place.name);
    await removeFolder(place.stateFolder, place.work);
  };
  return { entry: entryOf('worktree', directory), remove };
}

async function pinsPart(git: Git, name: string): Promise<Part | null> {
  const path = `refs/agentos/${name}`;
  if ((await git.text(['for-each-ref', '--count=1', `${path}/`])) === '') return null;
  return { entry: entryOf('pins', path), remove: () => removePins(git, name) };
}

/** Of an unfinished one only the branch that our own note names: others of such a name may be another item's, or a person's. */
async function branchPart(
  paths: Paths,
  git: Git,
  id: ItemId,
  { directory }: WorktreePlace,
  { branch, start, head }: WorktreeState,
): Promise<Part | null> {
  const tip = await tipOf(git, branch);
  if (tip === null) return null;
  const isOurs = tip === head || tip === start || (await endsInReport(paths, git, id, tip));
  return refPart(paths, git, { branch, tip, directory, isMade: tip !== start, isOurs });
}

/** One whose own report says that it is the implementation. */
async function finishedPart(paths: Paths, git: Git, id: ItemId, branch: string): Promise<Part | null> {
  const tip = await tipOf(git, branch);
  if (tip === null) return null;
  const isOurs = await endsInReport(paths, git, id, tip);
  return refPart(paths, git, { branch, tip, directory: null, isMade: true, isOurs });
}

/** The report is our last commit: what is on top of it is a person's. */
function endsInReport(paths: Paths, git: Git, id: ItemId, tip: string): Promise<boolean> {
  return isImplemented(paths, git, id, { start: `${tip}^`, tip });
}

interface Ref {
  branch: string;
  tip: string;
  /** The worktree that goes with it. */
  directory: string | null;
  /** Whether there are commits of its own on it. */
  isMade: boolean;
  isOurs: boolean;
}

async function refPart(paths: Paths, git: Git, { branch, tip, directory, isMade, isOurs }: Ref): Promise<Part> {
  const entry: CleanEntry = { ...entryOf('branch', `refs/heads/${branch}`), name: branch };
  const kept = (why: string): Part => {
    const command = `git -C ${shellWord(paths.repository)} branch -D ${shellWord(branch)}`;
    return { entry: { ...entry, why, discard: command }, remove: null };
  };
  const at = (await branchesNear(git, branch)).get(branch)?.checkedOutAt ?? null;
  if (at !== null && at !== directory) return kept(`it is checked out in ${at}`);
  if (!isOurs) return kept('it has commits that no run of ours made');
  const holder = isMade ? await otherBranchWith(git, branch, tip) : null;
  if (holder !== null) return kept(`it is part of ${holder}`);
  // Not `git branch -D`, which rewrites the user's settings; and only from where it was looked at.
  const remove = async (): Promise<void> => {
    await git.run(['update-ref', '-d', `refs/heads/${branch}`, tip]);
  };
  return { entry, remove };
}

/** Where it was merged to. Its own copy on a server is no other branch. */
async function otherBranchWith(git: Git, branch: string, tip: string): Promise<string | null> {
  const format = ['--format=%(refname)', 'refs/heads', 'refs/remotes'];
  const others = (await git.text(['for-each-ref', `--contains=${tip}`, ...format]))
    .split('\n')
    .filter((ref) => ref !== '' && !ref.endsWith(`/${branch}`));
  return others[0]?.replace(/^refs\/(?:heads|remotes)\//, '') ?? null;
}

function entryOf(kind: CleanEntry['kind'], path: string): CleanEntry {
  return { kind, name: basename(path), path, why: 'asked for', discard: null };
}

async function isThere(path: string): Promise<boolean> {
  return (await namesIn(dirname(path))).includes(basename(path));
}
