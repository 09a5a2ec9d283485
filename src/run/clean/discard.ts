import { lstatSync } from 'node:fs';
import { dirname } from 'node:path';
import { usageError } from '../../core/errors.ts';
import type { ItemId } from '../../core/ids.ts';
import { keyOf } from '../../core/item.ts';
import { shellWord } from '../../core/lines.ts';
import { ourBranches } from '../../git/branches.ts';
import type { Git } from '../../git/git.ts';
import { placeOf, readWorktreeState, type WorktreePlace, type WorktreeState } from '../../git/worktree/place.ts';
import {
  registrationOf,
  removeStaleGitLocks,
  removeWorktree,
  requireUnlocked,
} from '../../git/worktree/registration.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { deleteDatabase } from '../../journal/database.ts';
import { removeFolder } from '../../process/files.ts';
import { type Lock, lockItem, workedOnBy } from '../../process/lock.ts';
import { implementationsOf } from '../../workflow/implementations.ts';
import type { Project } from '../project.ts';
import { type Candidate, type Cleaned, candidate, isImplemented, tipOf } from './worktrees.ts';

const ASKED = 'asked for';

/** The finished branches of these items. Discarding them needs a person's yes. */
export async function implementedBranches(
  project: Project,
  ids: readonly ItemId[],
): Promise<{ id: ItemId; branch: string }[]> {
  const found = await implementationsOf(project, ids);
  return ids.flatMap((id) => {
    const own = (found.get(id) ?? []).filter(({ ref, branch }) => ref === `refs/heads/${branch}`);
    return own.map(({ branch }) => ({ id, branch }));
  });
}

/**
 * Deletes the implementations of exactly these items, including files in no commit, so that the next run starts over. Removes
 * nothing unless all of them can be removed. Keeps a branch that is merged, checked out or not ours, with the reason.
 */
export async function discard(project: Project, ids: readonly ItemId[], dryRun: boolean): Promise<Cleaned> {
  const { paths, git } = project;
  const wanted = [...new Set(ids)];
  for (const id of wanted) {
    if (workedOnBy(paths, { workflow: 'implement', id }) !== null) continue;
    const parts = await partsOf(project, id);
    if (!parts.some(({ remove }) => remove !== null)) {
      const kept = parts.map(({ entry }) => `${entry.name} is kept: ${entry.why}.`);
      throw usageError(kept.length > 0 ? kept.join(' ') : `There is no implementation of ${id} to throw away.`);
    }
  }
  const locks: Lock[] = [];
  try {
    for (const id of wanted) locks.push(lockItem(paths, { workflow: 'implement', id }));
    // The lock files of a killed git must not prevent the removal.
    for (const id of dryRun ? [] : wanted) {
      const place = await placeOf(git, paths.worktree('implement', id));
      await removeStaleGitLocks(place, [(await readWorktreeState(place))?.branch ?? null]);
    }
    // Read again: a run may have continued before the locks were acquired.
    const parts = (await Promise.all(wanted.map((id) => partsOf(project, id)))).flat();
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

/** In the order of removal. The checkpoint is the first: without it the next run starts over, whatever else is left. */
async function partsOf(project: Project, id: ItemId): Promise<Candidate[]> {
  const { paths, git } = project;
  const checkpoint = paths.checkpoint('implement', id);
  const place = await placeOf(git, paths.worktree('implement', id));
  const state = await readWorktreeState(place);
  const finished = (await implementedBranches(project, [id])).filter(({ branch }) => branch !== state?.branch);
  const parts = [
    filePart('checkpoint', checkpoint, () => deleteDatabase(checkpoint)),
    (await worktreePart(project, place, state)) ?? (await pinsPart(git, keyOf({ workflow: 'implement', id }))),
    state && (await branchPart(project, id, state.branch, { directory: place.directory, state })),
    ...(await Promise.all(finished.map(({ branch }) => branchPart(project, id, branch, null)))),
    filePart('home', paths.home('implement', id)),
    filePart('undone', paths.undone('implement', id)),
  ];
  return parts.filter((part) => part !== null);
}

function filePart(
  kind: 'checkpoint' | 'home' | 'undone',
  path: string,
  remove: () => unknown = () => removeFolder(path, dirname(dirname(path))),
): Candidate | null {
  return isThere(path) ? candidate(kind, path, ASKED, remove) : null;
}

async function worktreePart(
  project: Project,
  place: WorktreePlace,
  state: WorktreeState | null,
): Promise<Candidate | null> {
  const { directory } = place;
  const gitDir = await registrationOf(place);
  if (gitDir === null && state === null) {
    return isThere(directory) ? candidate('worktree', directory, 'not a worktree of ours', null) : null;
  }
  if (gitDir !== null) await requireUnlocked(gitDir, directory);
  return candidate('worktree', directory, ASKED, () => removeWorktree(project.git, place));
}

async function pinsPart(git: Git, name: string): Promise<Candidate | null> {
  const path = `refs/agentos/${name}`;
  if ((await git.text(['for-each-ref', '--count=1', `${path}/`])) === '') return null;
  return candidate('pins', path, ASKED, () => removePins(git, name));
}

/**
 * The branch in our state file, or one whose report says that it implements the item. Other branches with a similar name may be
 * another item's, or a person's. `worktree`: of the branch, if it is still there; it is removed too.
 */
async function branchPart(
  { paths, git }: Project,
  id: ItemId,
  branch: string,
  worktree: { directory: string; state: WorktreeState } | null,
): Promise<Candidate | null> {
  const tip = await tipOf(git, branch);
  if (tip === null) return null;
  const { start, head } = worktree?.state ?? {};
  const path = `refs/heads/${branch}`;
  const kept = (why: string): Candidate => {
    const discard = `git -C ${shellWord(paths.repository)} branch -D ${shellWord(branch)}`;
    return candidate('branch', path, why, null, { name: branch, discard });
  };
  const at = (await ourBranches(git)).get(branch)?.checkedOutAt ?? null;
  if (at !== null && at !== worktree?.directory) return kept(`it is checked out in ${at}`);
  // The report is our last commit: commits on top of it are a person's.
  const isOurs = tip === head || tip === start || (await isImplemented(paths, git, id, { start: `${tip}^`, tip }));
  if (!isOurs) return kept('it has commits that no run of ours made');
  const holder = tip === start ? null : await otherBranchWith(git, branch, tip);
  if (holder !== null) return kept(`it is part of ${holder}`);
  // Not `git branch -D`, which rewrites the user's git config; and only if it has not moved meanwhile.
  return candidate('branch', path, ASKED, () => git.run(['update-ref', '-d', path, tip]), { name: branch });
}

/** A branch that it was merged into. Its own remote-tracking branch does not count. */
async function otherBranchWith(git: Git, branch: string, tip: string): Promise<string | null> {
  const format = ['--format=%(refname)', 'refs/heads', 'refs/remotes'];
  const others = (await git.text(['for-each-ref', `--contains=${tip}`, ...format]))
    .split('\n')
    .filter((ref) => ref !== '' && !ref.endsWith(`/${branch}`));
  return others[0]?.replace(/^refs\/(?:heads|remotes)\//, '') ?? null;
}

/** Also true for a link that leads nowhere. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
