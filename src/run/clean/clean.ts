import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, systemCode } from '../../core/errors.ts';
import { endedWell, itemOfKey } from '../../core/item.ts';
import type { Paths } from '../../core/paths.ts';
import { messageOf } from '../../core/wording.ts';
import { inGitQueue } from '../../git/locks.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { namesIn, removeFolder, staleTemporaryFiles } from '../../process/files.ts';
import { isLockStale, livingHolder, lockItem, readHolder, workedOnBy } from '../../process/lock.ts';
import { abandonedWorkFolders } from '../../process/state-folder.ts';
import { readRun, runIds } from '../history/run-history.ts';
import type { Project } from '../project.ts';
import { type Candidate, type Cleaned, candidate } from './candidate.ts';
import { checkpointsOf, doneOf, modifiedMs, RECENT_MS, reusableOf } from './checkpoints.ts';
import { worktreesOf } from './worktrees.ts';

interface CleanOptions {
  dryRun: boolean;
  /** Remove caches too. */
  caches: boolean;
}

/**
 * Removes what is done and what belongs to nothing. Keeps, with the reason, what a process works on, what an unfinished item could
 * resume from, and files that are in no commit.
 */
export async function clean(project: Project, { dryRun, caches }: CleanOptions): Promise<Cleaned> {
  const { candidates, worktrees, isNeeded } = await leftovers(project, new Set());
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
  /** Names of the worktrees that are kept. */
  worktrees: ReadonlySet<string>;
  /** Whether a candidate needs the pins of this name. */
  isNeeded: (name: string) => boolean;
}

/** What killed runs leave behind, without the items of these keys. */
export async function leftovers(project: Project, except: ReadonlySet<string>): Promise<Leftovers> {
  const isWanted = (name: string): boolean => !except.has(name);
  const found = await worktreesOf(project, isWanted);
  const worktrees = new Set(found.filter(({ remove }) => remove === null).map(({ entry }) => entry.name));
  const checkpoints = await checkpointsOf(project, worktrees, isWanted);
  const candidates = [
    ...found,
    ...checkpoints,
    ...(await homesOf(project, worktrees, isWanted)),
    ...(await locksOf(project, isWanted)),
    ...(await temporaryFilesOf(project)),
  ];
  const isNeeded = (name: string): boolean =>
    // The pins of a worktree that is removed are removed with it.
    found.some(({ entry }) => entry.name === name) ||
    checkpoints.some(({ entry, remove }) => remove === null && entry.name.replace(/\.db.*$/, '') === name);
  return { candidates, worktrees, isNeeded };
}

/** Keeps what can't be removed, with the reason. */
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
      const reason = systemCode(error) ?? messageOf(error);
      const why = isBusy ? 'a run has just started to work on it' : `it can’t be removed: ${reason}`;
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
  return (await namesIn(paths.homes)).filter(isWanted).map((name) => {
    const path = join(paths.homes, name);
    const item = itemOfKey(name);
    if (item === null) return candidate('home', path, 'not ours', null);
    const pid = workedOnBy(paths, item);
    if (pid !== null) return candidate('home', path, `process ${pid} is working on it`, null);
    if (worktrees.has(name)) return candidate('home', path, 'its worktree is kept', null);
    return candidate('home', path, 'it has no worktree', () => removeFolder(path, dirname(paths.homes)));
  });
}

async function undoneOf(project: Project, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  const { paths } = project;
  const folder = join(paths.base, 'undone');
  const names = await namesIn(folder);
  const items = names.flatMap((name) => itemOfKey(name) ?? []);
  const done = await doneOf(project, items);
  return names.map((name) => {
    const path = join(folder, name);
    const item = itemOfKey(name);
    const isOver = item !== null && done.has(name) && !worktrees.has(name) && workedOnBy(paths, item) === null;
    if (!isOver) return candidate('undone', path, 'patches of undone changes; its item is not done', null);
    return candidate('undone', path, 'its item is done', () => removeFolder(path, paths.base));
  });
}

/** Pins that no worktree and no checkpoint needs. */
async function pinsOf({ git }: Project, isNeeded: (name: string) => boolean): Promise<Candidate[]> {
  const refs = (await git.text(['for-each-ref', '--format=%(refname)', 'refs/agentos/'])).split('\n').filter(Boolean);
  const names = new Set(refs.map((ref) => ref.split('/')[2] ?? ''));
  return [...names]
    .filter((name) => !isNeeded(name))
    .sort()
    .map((name) => candidate('pins', `refs/agentos/${name}`, 'nothing needs them', () => removePins(git, name)));
}

const NEWEST = 20;

/** Old runs that can't be resumed. A run whose unfinished items were all finished by a later run is done too. */
async function runsOf({ paths }: Project): Promise<Candidate[]> {
  const finishedLater = new Set<string>();
  const candidates: Candidate[] = [];
  for (const [index, runId] of (await runIds(paths)).entries()) {
    const run = await readRun(paths, runId);
    const nameOf = (id: string): string => `${run?.workflow} ${id}`;
    const open = (run?.items ?? []).filter((item) => !endedWell(item.status) && !finishedLater.has(nameOf(item.id)));
    for (const item of run?.items ?? []) if (endedWell(item.status)) finishedLater.add(nameOf(item.id));
    const { directory: path, record } = paths.run(runId);
    const startedMs = run === null ? await modifiedMs(path) : Date.parse(run.startedAt);
    let keptBecause: string | null = null;
    if (run?.state === 'running') keptBecause = 'it is running';
    else if (run === null && (await modifiedMs(record)) > 0) keptBecause = 'its record can’t be read';
    else if (open.length > 0) keptBecause = `it can be resumed: ${open.map((item) => item.id).join(', ')} not done`;
    else if (index < NEWEST) keptBecause = `one of the newest ${NEWEST}`;
    else if (!(Date.now() - startedMs > RECENT_MS)) keptBecause = 'not older than 14 days';
    const remove = keptBecause === null ? () => removeFolder(path, paths.base) : null;
    candidates.push(candidate('run', path, keptBecause ?? 'older than 14 days, and done', remove, { item: null }));
  }
  return candidates;
}

const TAKE_OVER_MS = 5_000;

/** Locks of processes that are gone. */
async function locksOf({ paths }: Project, isWanted: (name: string) => boolean): Promise<Candidate[]> {
  const stale = (await lockFiles(paths)).filter((path) => isLockStale(path) && isWanted(basename(path, '.lock')));
  return stale.map((path) => {
    const holder = readHolder(path);
    const why = holder === null ? 'it names no process' : `process ${holder.pid} is gone`;
    const item = itemOfKey(basename(path, '.lock'));
    // Acquired and released like by the next run: another process may have acquired it meanwhile.
    const takeOver = (): unknown =>
      path.endsWith('.guard') ? rm(path, { force: true }) : inGitQueue(path, async () => undefined, TAKE_OVER_MS);
    // The lock of an item is acquired and released around every removal.
    return candidate('lock', path, why, item === null ? takeOver : () => undefined, { item });
  });
}

async function temporaryFilesOf({ paths }: Project): Promise<Candidate[]> {
  return (await staleTemporaryFiles(paths)).map((path) =>
    candidate('unfinished', path, 'the process that wrote it is gone', () => rm(path, { force: true }), { item: null }),
  );
}

/** The caches of package managers, and those of planning. */
async function cachesOf({ paths }: Project, asked: boolean): Promise<Candidate[]> {
  const isBusy = (await lockFiles(paths)).some((lock) => livingHolder(lock) !== null);
  const why = !asked ? 'shared by the items: --caches removes them' : isBusy ? 'a run is using them' : 'asked for';
  return [...new Set([paths.caches, dirname(paths.designs)])].filter(existsSync).map((path) => {
    const remove = asked && !isBusy ? () => removeFolder(path, dirname(path)) : null;
    return candidate('cache', path, why, remove, { name: 'caches' });
  });
}

/** Work folders of repositories that are gone, so that nothing in them can be resumed. */
async function abandonedOf({ paths }: Project): Promise<Candidate[]> {
  return (await abandonedWorkFolders(paths)).map(({ folder, repository }) => {
    const remove = () => removeFolder(folder, dirname(paths.work));
    return candidate('worktree', folder, `its repository ${repository} is gone`, remove, { item: null });
  });
}

async function lockFiles({ locks }: Paths): Promise<string[]> {
  return (await namesIn(locks)).filter((name) => /\.lock(?:\.guard)?$/.test(name)).map((name) => join(locks, name));
}
