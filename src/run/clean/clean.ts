import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, systemCode, toErrorRecord } from '../../core/errors.ts';
import { type Item, itemOfKey } from '../../core/item.ts';
import type { Paths } from '../../core/paths.ts';
import { wordingOf } from '../../core/wording.ts';
import { createGit } from '../../git/git.ts';
import { inGitQueue } from '../../git/locks.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { namesIn, removeFolder, staleTemporaryFiles } from '../../process/files.ts';
import { isHolderAlive, isLockStale, lockItem, readHolder, workedOnBy } from '../../process/lock.ts';
import { abandonedWorkFolders } from '../../process/state-folder.ts';
import type { Project } from '../project.ts';
import { readRun, runIds } from '../run-history.ts';
import { checkpointsOf, doneOf, modifiedMs, RECENT_MS, reusableOf } from './checkpoints.ts';
import { worktreeCandidates } from './worktrees.ts';

export interface CleanEntry {
  kind: 'worktree' | 'branch' | 'checkpoint' | 'home' | 'undone' | 'run' | 'lock' | 'cache' | 'pins' | 'unfinished';
  name: string;
  path: string;
  why: string;
  /** How a person throws it away, where we don't. */
  discard: string | null;
}

/** Something that may be removed. */
export interface Candidate {
  entry: CleanEntry;
  /** Whose lock is held while it is removed. */
  item: Item | null;
  /** Null: it stays. */
  remove: (() => unknown) | null;
}

export interface Cleaned {
  removed: CleanEntry[];
  kept: CleanEntry[];
}

interface CleanOptions {
  dryRun: boolean;
  /** Caches are removed too. */
  caches: boolean;
  /** Flags that a line to copy has to repeat to mean the same repository. */
  place: readonly string[];
}

/**
 * Removes what is not needed any more: what is done, and what belongs to nothing. What a process is working on, what
 * an unfinished item could resume from, and files that are in no commit are kept, each with the reason.
 */
export async function clean(project: Project, { dryRun, caches, place }: CleanOptions): Promise<Cleaned> {
  const { candidates, worktrees, isNeeded } = await leftovers(project, place, new Set());
  const all = [
    ...candidates,
    ...(await reusableOf(project)),
    ...(await undoneOf(project, worktrees)),
    ...(await pinsOf(project, isNeeded)),
    ...(await runsOf(project)),
    ...(await cachesOf(project, caches)),
    ...(await abandonedOf(project)),
  ];
  return removeAll(project, all, dryRun);
}

interface Leftovers {
  candidates: Candidate[];
  /** Names of worktrees that stay. */
  worktrees: ReadonlySet<string>;
  /** Whether something that was found refers to pins of this name. */
  isNeeded: (name: string) => boolean;
}

/** What killed runs leave behind, but for items of these keys. */
export async function leftovers(
  project: Project,
  place: readonly string[],
  except: ReadonlySet<string>,
): Promise<Leftovers> {
  const isWanted = (name: string): boolean => !except.has(name);
  const found = await worktreeCandidates(project, place, isWanted);
  const worktrees = new Set(found.filter(({ remove }) => remove === null).map(({ entry }) => entry.name));
  const checkpoints = await checkpointsOf(project, place, worktrees, isWanted);
  const candidates = [
    ...found,
    ...checkpoints,
    ...(await homesOf(project, worktrees, isWanted)),
    ...(await locksOf(project, isWanted)),
    ...(await temporaryFilesOf(project)),
  ];
  const isNeeded = (name: string): boolean =>
    // Those of a worktree that is removed go with it.
    found.some(({ entry }) => entry.name === name) ||
    checkpoints.some(({ entry, remove }) => remove === null && entry.name.replace(/\.db.*$/, '') === name);
  return { candidates, worktrees, isNeeded };
}

/** What can't be removed is kept, with the reason. */
export async function removeAll({ paths }: Project, candidates: Candidate[], dryRun: boolean): Promise<Cleaned> {
  const result: Cleaned = { removed: [], kept: [] };
  for (const { entry, item, remove } of candidates) {
    if (remove === null) {
      result.kept.push(entry);
      continue;
    }
    try {
      const lock = dryRun || item === null ? null : lockItem(paths, item);
      try {
        if (!dryRun) await remove();
      } finally {
        lock?.release();
      }
      result.removed.push(entry);
    } catch (error) {
      const isBusy = codeOf(error) === 'item-locked';
      const reason = systemCode(error) ?? wordingOf(toErrorRecord(error).problem).message;
      const why = isBusy ? 'a run has just begun to work on it' : `it can’t be removed: ${reason}`;
      result.kept.push({ ...entry, why });
    }
  }
  return result;
}

async function homesOf(
  { paths }: Project,
  worktrees: ReadonlySet<string>,
  isWanted: (name: string) => boolean,
): Promise<Candidate[]> {
  const folders = new Set([paths.homes, join(paths.base, 'homes')]);
  const found = await Promise.all(
    [...folders].map(async (folder) => (await namesIn(folder)).map((name) => ({ folder, name }))),
  );
  return found
    .flat()
    .filter(({ name }) => isWanted(name))
    .map(({ folder, name }): Candidate => {
      const path = join(folder, name);
      const item = itemOfKey(name);
      const pid = item === null ? null : workedOnBy(paths, item);
      let keptBecause: string | null = null;
      if (item === null) keptBecause = 'not ours';
      else if (pid !== null) keptBecause = `process ${pid} is working on it`;
      else if (worktrees.has(name)) keptBecause = 'its worktree is kept';
      return {
        entry: { kind: 'home', name, path, why: keptBecause ?? 'there is no worktree for it', discard: null },
        item,
        remove: keptBecause === null ? () => removeFolder(path, dirname(folder)) : null,
      };
    });
}

async function undoneOf(project: Project, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  const { paths } = project;
  const folder = join(paths.base, 'undone');
  const names = await namesIn(folder);
  const done = await doneOf(
    project,
    names.flatMap((name) => itemOfKey(name) ?? []),
  );
  return names.map((name): Candidate => {
    const path = join(folder, name);
    const item = itemOfKey(name);
    const isOver = item !== null && done.has(name) && !worktrees.has(name) && workedOnBy(paths, item) === null;
    const why = isOver ? 'its item is done' : 'patches of what was undone; its item is not done';
    return {
      entry: { kind: 'undone', name, path, why, discard: null },
      item,
      remove: isOver ? () => removeFolder(path, paths.base) : null,
    };
  });
}

/** Pins that no worktree and no checkpoint need, by the name of the worktree they were for. */
async function pinsOf({ paths, childEnv }: Project, isNeeded: (name: string) => boolean): Promise<Candidate[]> {
  const git = createGit(paths.repository, childEnv);
  const refs = (await git.text(['for-each-ref', '--format=%(refname)', 'refs/agentos/'])).split('\n').filter(Boolean);
  const names = new Set(refs.map((ref) => ref.split('/')[2] ?? ''));
  return [...names]
    .filter((name) => !isNeeded(name))
    .sort()
    .map((name) => ({
      entry: { kind: 'pins', name, path: `refs/agentos/${name}`, why: 'nothing refers to them', discard: null },
      item: itemOfKey(name),
      remove: () => removePins(git, name),
    }));
}

const NEWEST = 20;
/** Ends that need no further run. */
const DONE = new Set(['succeeded', 'skipped']);

/** Old runs that can't be resumed. One whose unfinished items were all finished by a later run is over too. */
async function runsOf({ paths }: Project): Promise<Candidate[]> {
  const finishedLater = new Set<string>();
  const candidates: Candidate[] = [];
  for (const [index, runId] of (await runIds(paths)).entries()) {
    const run = await readRun(paths, runId);
    const nameOf = (id: string): string => `${run?.workflow} ${id}`;
    const open = (run?.items ?? []).filter((item) => !DONE.has(item.status) && !finishedLater.has(nameOf(item.id)));
    for (const item of run?.items ?? []) if (DONE.has(item.status)) finishedLater.add(nameOf(item.id));
    const { directory: path, record } = paths.run(runId);
    const startedMs = run === null ? await modifiedMs(path) : Date.parse(run.startedAt);
    let keptBecause: string | null = null;
    if (run?.state === 'running') keptBecause = 'it is running';
    else if (run === null && (await modifiedMs(record)) > 0) keptBecause = 'its record can’t be read';
    else if (open.length > 0) keptBecause = `it can be resumed: ${open.map((item) => item.id).join(', ')} not done`;
    else if (index < NEWEST) keptBecause = `one of the newest ${NEWEST}`;
    else if (!(Date.now() - startedMs > RECENT_MS)) keptBecause = 'not older than 14 days';
    candidates.push({
      entry: { kind: 'run', name: runId, path, why: keptBecause ?? 'older than 14 days, and done', discard: null },
      item: null,
      remove: keptBecause === null ? () => removeFolder(path, paths.base) : null,
    });
  }
  return candidates;
}

const TAKE_OVER_MS = 5_000;

/** Of processes that are gone. Those of living ones are nothing to tell. */
async function locksOf({ paths }: Project, isWanted: (name: string) => boolean): Promise<Candidate[]> {
  const stale = (await lockFiles(paths)).filter((path) => isLockStale(path) && isWanted(basename(path, '.lock')));
  return stale.map((path) => {
    const holder = readHolder(path);
    const why = holder === null ? 'it names no process' : `process ${holder.pid} is gone`;
    const item = itemOfKey(basename(path, '.lock'));
    // Taken and released like by the next run: it may have been taken since it was looked at.
    const takeOver = (): unknown =>
      path.endsWith('.guard') ? rm(path, { force: true }) : inGitQueue(path, async () => undefined, TAKE_OVER_MS);
    return {
      entry: { kind: 'lock', name: basename(path), path, why, discard: null },
      item,
      remove: item === null ? takeOver : () => undefined,
    };
  });
}

async function temporaryFilesOf({ paths }: Project): Promise<Candidate[]> {
  return (await staleTemporaryFiles(paths)).map((path) => ({
    entry: { kind: 'unfinished', name: basename(path), path, why: 'its writer is gone', discard: null },
    item: null,
    remove: () => rm(path, { force: true }),
  }));
}

/** Of package managers, and what was read of the repository. */
async function cachesOf({ paths }: Project, asked: boolean): Promise<Candidate[]> {
  const isBusy = (await lockFiles(paths)).some((lock) => {
    const holder = readHolder(lock);
    return holder !== null && isHolderAlive(holder);
  });
  const why = !asked ? 'shared by the items: --caches removes them' : isBusy ? 'a run is using them' : 'asked for';
  return [...new Set([paths.caches, dirname(paths.designs)])].filter(existsSync).map((path) => ({
    entry: { kind: 'cache', name: 'caches', path, why, discard: null },
    item: null,
    remove: asked && !isBusy ? () => removeFolder(path, dirname(path)) : null,
  }));
}

/** Of repositories that are gone: what was unfinished there can't be resumed, and its states were in git. */
async function abandonedOf({ paths }: Project): Promise<Candidate[]> {
  return (await abandonedWorkFolders(paths)).map(({ folder, repository }) => ({
    entry: {
      kind: 'worktree',
      name: basename(folder),
      path: folder,
      why: `its repository ${repository} is gone`,
      discard: null,
    },
    item: null,
    remove: () => removeFolder(folder, dirname(paths.work)),
  }));
}

async function lockFiles({ locks }: Paths): Promise<string[]> {
  return (await namesIn(locks)).filter((name) => /\.lock(?:\.guard)?$/.test(name)).map((name) => join(locks, name));
}
