import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ItemId } from '../../core/ids.ts';
import { type Item, itemOfKey } from '../../core/item.ts';
import { listed } from '../../core/lines.ts';
import type { Paths } from '../../core/paths.ts';
import { deleteBranch } from '../../git/branches.ts';
import type { Git } from '../../git/git.ts';
import { toolFilePatterns } from '../../git/ignore-patterns.ts';
import { readAt } from '../../git/repository.ts';
import {
  placeOf,
  readWorktreeState,
  type WorktreePlace,
  type WorktreeState,
  worktreeGit,
  worktreeStates,
} from '../../git/worktree/place.ts';
import { splitNames } from '../../git/worktree/private-index.ts';
import { isReadingWorktree, removeReadingWorktrees } from '../../git/worktree/reading.ts';
import { lockedBecause, registrationOf, registrations, removeWorktree } from '../../git/worktree/registration.ts';
import { namesIn } from '../../process/files.ts';
import { livingHolder, workedOnBy } from '../../process/lock.ts';
import { readReportStatus } from '../../verification/report.ts';
import { discardCommand, type Project } from '../project.ts';

/** What `clean --json` prints for each thing. */
export interface CleanEntry {
  kind: 'worktree' | 'branch' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins' | 'unfinished';
  name: string;
  path: string;
  why: string;
  /** The command that throws it away, for something that we keep. */
  discard: string | null;
}

/** Something that may be removed. */
export interface Candidate {
  entry: CleanEntry;
  /** Its lock is held during the removal. */
  item: Item | null;
  /** Null: it is kept. */
  remove: (() => unknown) | null;
}

export interface Cleaned {
  removed: CleanEntry[];
  kept: CleanEntry[];
}

/** `item`: by default the one whose key is the name. */
export function candidate(
  kind: CleanEntry['kind'],
  path: string,
  why: string,
  remove: Candidate['remove'],
  more: Partial<Pick<CleanEntry, 'name' | 'discard'> & Pick<Candidate, 'item'>> = {},
): Candidate {
  const { name = basename(path), discard = null, item = itemOfKey(name) } = more;
  return { entry: { kind, name, path, why, discard }, item, remove };
}

/** Null: no process works on the item. */
export function busyWith(paths: Paths, item: Item): string | null {
  const pid = workedOnBy(paths, item);
  return pid === null ? null : `process ${pid} is working on it`;
}

export const RECENT_MS = 14 * 24 * 3_600_000;

/** Unchanged for 14 days. */
export async function isOld(path: string): Promise<boolean> {
  return Date.now() - (await modifiedMs(path)) > RECENT_MS;
}

/** 0: it does not exist. */
export async function modifiedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}

const MOST_NAMED = 3;

/** Each worktree, or what is left of one. `isWanted`: by its name. */
export async function worktreesOf(project: Project, isWanted: (name: string) => boolean): Promise<Candidate[]> {
  const { paths, git } = project;
  const { commonDir, directory: folder } = await placeOf(git, paths.worktrees);
  const known = (await registrations(commonDir)).filter(({ directory }) => dirname(directory) === folder);
  const names = new Set([
    ...(await namesIn(folder)),
    ...(await namesIn(worktreeStates(dirname(folder)))),
    ...known.map(({ directory }) => basename(directory)),
  ]);
  const candidates: Candidate[] = [];
  for (const name of [...names].sort().filter(isWanted))
    candidates.push(await judge(project, await placeOf(git, join(folder, name))));
  return candidates;
}

async function judge(project: Project, place: WorktreePlace): Promise<Candidate> {
  const { paths, childEnv, git } = project;
  const { directory, name } = place;
  const state = await readWorktreeState(place);
  const gitDir = await registrationOf(place);
  const isThere = existsSync(directory);
  const item = itemOfKey(name);
  const isOfStage = item?.workflow !== 'land' && item?.workflow !== 'react';
  const kept = (why: string, discard: string | null = null): Candidate =>
    candidate('worktree', directory, why, null, { discard });
  const removable = (why: string): Candidate =>
    candidate('worktree', directory, why, async () => {
      const branch = state?.branch ?? null;
      await removeWorktree(git, place);
      // The result of a landing or a reaction is on another branch.
      if (!isOfStage && branch !== null) await deleteBranch(git, branch);
    });
  if (isReadingWorktree(name)) {
    const holder = livingHolder(join(paths.locks, `${name}.lock`));
    if (holder !== null) return kept(`process ${holder.pid} is working in it`);
    return candidate('worktree', directory, 'nothing in it is needed', () =>
      removeReadingWorktrees({ repository: git, paths }),
    );
  }
  if (item === null || (isThere && state === null && gitDir === null)) return kept('not a worktree of ours');
  const busy = busyWith(paths, item);
  if (busy !== null) return kept(busy);
  const discard = item.workflow === 'implement' ? discardCommand(project, item.id) : null;
  if (!isThere) {
    return existsSync(paths.checkpoint(item.workflow, item.id))
      ? kept('the folder is gone and only git’s record is left, but its item can be resumed', discard)
      : removable('the folder is gone, and nothing refers to it');
  }
  if (gitDir === null || state === null) return kept('git has no complete record of it', discard);
  const reason = await lockedBecause(gitDir);
  if (reason !== null) return kept(`locked${reason ? `: ${reason}` : ''}`);
  if (!isOfStage) {
    return (await isOld(place.stateFolder))
      ? removable(`a ${item.workflow === 'land' ? 'landing' : 'reaction'} that was not resumed for 14 days`)
      : kept(`the next agentos ${item.workflow} resumes in it`);
  }
  const tip = (await tipOf(git, state.branch)) ?? state.head;
  if (!(await isImplemented(paths, git, item.id, { start: state.start, tip })))
    return kept(`${state.branch} is not implemented yet`, discard);
  const changed = await uncommittedIn(place, gitDir, childEnv, state, tip);
  if (changed.length > 0) return kept(`not committed: ${listed(changed, MOST_NAMED)}`, discard);
  return removable(`implemented on ${state.branch}, and everything in it is committed`);
}

const MOST_COMMITS = 10;

/** Files in a worktree that differ from all of the last commits of its branch. Writes neither objects nor an index. */
async function uncommittedIn(
  place: WorktreePlace,
  gitDir: string,
  env: Record<string, string>,
  { start, made }: WorktreeState,
  tip: string,
): Promise<string[]> {
  const hasOwnIndex = (await namesIn(place.stateFolder)).includes('index');
  const indexFile = hasOwnIndex ? place.indexFile : join(gitDir, 'index');
  const git = worktreeGit({ ...place, indexFile }, gitDir, env, []);
  const litter = toolFilePatterns(place.directory).map((pattern) => `--exclude=${pattern}`);
  const known = made ?? [];
  const others = splitNames(await git.run(['ls-files', '-z', '--others', '--exclude-standard', ...litter])).filter(
    (path) => !known.some((one) => path === one || (one.endsWith('/') && path.startsWith(one))),
  );
  if (others.length > 0) return others;
  const commits = (await git.text(['rev-list', `--max-count=${MOST_COMMITS}`, tip, `^${start}`])).split('\n');
  let changed: string[] = [];
  for (const commit of commits.filter(Boolean)) {
    changed = splitNames(
      await git.run(['diff', '--no-ext-diff', '--ignore-submodules=dirty', '--name-only', '-z', commit]),
    );
    if (changed.length === 0) return [];
  }
  return changed;
}

/** Whether the branch ends in a finished implementation, whose last commit adds the report. */
export async function isImplemented(
  paths: Paths,
  git: Git,
  id: ItemId,
  { start, tip }: { start: string; tip: string },
): Promise<boolean> {
  const path = paths.report(id);
  const [now, before] = await readAt(git, [
    { ref: tip, path },
    { ref: start, path },
  ]);
  return typeof now === 'string' && now !== before && readReportStatus(now) !== null;
}

/** The commit of a branch; null: there is no such branch. */
export function tipOf(git: Git, branch: string): Promise<string | null> {
  return git.answer(['rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`]);
}
