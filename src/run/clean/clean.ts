import { rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type Item, itemOfKey } from '../../core/item.ts';
import type { Paths } from '../../core/paths.ts';
import { inGitQueue } from '../../git/locks.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { removeFolder, staleTemporaryFiles } from '../../process/files.ts';
import { isHolderAlive, readHolder } from '../../process/lock.ts';
import { readRun, runIds } from '../run-history.ts';
import {
  type CleanEntry,
  type Cleaned,
  type CleanOptions,
  discardCommand,
  isDone,
  namesIn,
  removeCheckpoint,
  workedOnBy,
} from '../sweep.ts';
import { judgeWorktrees, orphanedPins, removeJudged, type WorktreeVerdict } from './worktrees.ts';

const HALF_WRITTEN_MS = 60_000;
const TAKE_OVER_MS = 5_000;

interface Candidate {
  entry: CleanEntry;
  keep: boolean;
  /** Whose lock is held while it is removed. */
  item: Item | null;
  remove: () => Promise<void>;
}

/**
 * Removes what is not needed any more: what is done, and what belongs to nothing. What a process is working on, what
 * an unfinished item could resume from, and files that are in no commit are kept, each with the reason.
 */
export async function clean(options: CleanOptions): Promise<Cleaned> {
  const worktrees = await judgeWorktrees(options);
  const remaining = new Set(worktrees.filter(({ keep }) => keep).map(({ entry }) => entry.name));
  const checkpoints = await checkpointsOf(options, remaining);
  // Those of a worktree that is removed go with it.
  const needed = new Set([
    ...worktrees.map(({ entry }) => entry.name),
    ...checkpoints.filter(({ keep }) => keep).map(({ entry }) => entry.name.replace(/\.db.*$/, '')),
  ]);
  const candidates: Candidate[] = [
    ...worktrees.map((verdict) => worktreeCandidate(options, verdict)),
    ...checkpoints,
    ...(await homesOf(options, remaining)),
    ...(await undoneOf(options, remaining)),
    ...(await pinsOf(options, needed)),
    ...(await runsOf(options)),
    ...(await locksOf(options)),
    ...(await temporaryFilesOf(options)),
    ...(await cachesOf(options)),
  ];
  const result: Cleaned = { removed: [], kept: [] };
  for (const candidate of candidates) {
    const isRemoved = !candidate.keep && (options.dryRun || (await removeOne(options, candidate)));
    if (isRemoved) result.removed.push(candidate.entry);
    else
      result.kept.push(
        candidate.keep ? candidate.entry : { ...candidate.entry, why: 'a run has just begun to work on it' },
      );
  }
  return result;
}

async function removeOne({ claim }: CleanOptions, { item, remove }: Candidate): Promise<boolean> {
  if (item === null) {
    await remove();
    return true;
  }
  const lock = claim(item.workflow, item.id);
  if (lock === null) return false;
  try {
    await remove();
    return true;
  } finally {
    lock.release();
  }
}

function worktreeCandidate(options: CleanOptions, verdict: WorktreeVerdict): Candidate {
  const { entry, keep } = verdict;
  return { entry, keep, item: itemOfKey(entry.name), remove: () => removeJudged(options, verdict) };
}

async function checkpointsOf(options: CleanOptions, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  const { paths } = options;
  const folder = join(paths.base, 'checkpoints');
  const names = (await namesIn(folder)).filter((name) => /\.db(?:\.damaged-[^-]+(?:-\d+)?)?$/.test(name));
  return Promise.all(
    names.map(async (name): Promise<Candidate> => {
      const path = join(folder, name);
      const item = itemOfKey(name.replace(/\.db$/, ''));
      const entry = (why: string, discard: string | null = null): CleanEntry => ({
        kind: 'checkpoint',
        name,
        path,
        why,
        discard,
      });
      const kept = (why: string, discard?: string | null): Candidate => ({
        entry: entry(why, discard),
        keep: true,
        item,
        remove: nothing,
      });
      if (item === null) return kept(name.includes('.damaged-') ? 'damaged, kept for inspection' : 'not ours');
      const pid = workedOnBy(paths, item);
      if (pid !== null) return kept(`process ${pid} is working on it`);
      // Told once: with the worktree, where there is one.
      const isAlone = item.workflow === 'implement' && !worktrees.has(name.replace(/\.db$/, ''));
      const discard = isAlone ? discardCommand(item.id, options.place) : null;
      if (!(await isDone(options, item))) return kept('its item is not done and resumes from it', discard);
      return { entry: entry('its item is done'), keep: false, item, remove: () => removeCheckpoint(path) };
    }),
  );
}

async function homesOf({ paths }: CleanOptions, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  const folder = paths.homes;
  return (await namesIn(folder)).map((name): Candidate => {
    const path = join(folder, name);
    const item = itemOfKey(name);
    const pid = item === null ? null : workedOnBy(paths, item);
    const why =
      item === null
        ? 'not ours'
        : pid !== null
          ? `process ${pid} is working on it`
          : worktrees.has(name)
            ? 'its worktree is kept'
            : null;
    const entry: CleanEntry = { kind: 'home', name, path, why: why ?? 'there is no worktree for it', discard: null };
    return { entry, keep: why !== null, item, remove: () => removeFolder(path) };
  });
}

async function undoneOf(options: CleanOptions, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  const { paths } = options;
  const folder = join(paths.base, 'undone');
  return Promise.all(
    (await namesIn(folder)).map(async (name): Promise<Candidate> => {
      const path = join(folder, name);
      const item = itemOfKey(name);
      const isOver = item !== null && !worktrees.has(name) && (await isDone(options, item));
      const keep = !isOver || workedOnBy(paths, item) !== null;
      const why = keep ? 'patches of what was undone; its item is not done' : 'its item is done';
      return {
        entry: { kind: 'undone', name, path, why, discard: null },
        keep,
        item,
        remove: () => removeFolder(path),
      };
    }),
  );
}

async function pinsOf({ git }: CleanOptions, needed: ReadonlySet<string>): Promise<Candidate[]> {
  return (await orphanedPins(git, needed)).map((name) => ({
    entry: { kind: 'pins', name, path: `refs/agentos/${name}`, why: 'nothing refers to them', discard: null },
    keep: false,
    item: itemOfKey(name),
    remove: () => removePins(git, name),
  }));
}

const NEWEST = 20;
const RECENT_MS = 14 * 24 * 3_600_000;
/** Ends that need no further run. */
const DONE = new Set(['succeeded', 'skipped']);

/** Old runs that can't be resumed. One whose unfinished items were all finished by a later run is over too. */
async function runsOf({ paths, nowMs }: CleanOptions): Promise<Candidate[]> {
  const finishedLater = new Set<string>();
  const candidates: Candidate[] = [];
  for (const [index, runId] of (await runIds(paths)).entries()) {
    const run = await readRun(paths, runId);
    const keyOf = (id: string): string => `${run?.workflow} ${id}`;
    const open = (run?.items ?? []).filter((item) => !DONE.has(item.status) && !finishedLater.has(keyOf(item.id)));
    for (const item of run?.items ?? []) if (DONE.has(item.status)) finishedLater.add(keyOf(item.id));
    const { directory: path, record } = paths.run(runId);
    const startedMs = run === null ? await modifiedMs(path) : Date.parse(run.startedAt);
    let keptBecause: string | null = null;
    if (run?.state === 'running') keptBecause = 'it is running';
    else if (run === null && (await modifiedMs(record)) > 0) keptBecause = 'its record can’t be read';
    else if (open.length > 0) keptBecause = `it can be resumed: ${open.map((item) => item.id).join(', ')} not done`;
    else if (index < NEWEST) keptBecause = `one of the newest ${NEWEST}`;
    else if (!(nowMs - startedMs > RECENT_MS)) keptBecause = 'not older than 14 days';
    const why = keptBecause ?? 'older than 14 days, and done';
    candidates.push({
      entry: { kind: 'run', name: runId, path, why, discard: null },
      keep: keptBecause !== null,
      item: null,
      remove: () => removeFolder(path),
    });
  }
  return candidates;
}

/** It was never finished: writing a lock takes microseconds. */
async function isAbandoned(path: string, nowMs: number): Promise<boolean> {
  const writtenMs = await modifiedMs(path);
  return writtenMs > 0 && nowMs - writtenMs > HALF_WRITTEN_MS;
}

/** 0: it is not there. */
async function modifiedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}

/** Of processes that are gone. Those of living ones are nothing to tell. */
async function locksOf({ paths, nowMs, claim }: CleanOptions): Promise<Candidate[]> {
  const stale: Candidate[] = [];
  for (const path of await lockFiles(paths)) {
    const holder = readHolder(path);
    const isStale = holder === null ? await isAbandoned(path, nowMs) : !isHolderAlive(holder);
    if (!isStale) continue;
    const why = holder === null ? 'it names no process' : `process ${holder.pid} is gone`;
    const entry: CleanEntry = { kind: 'lock', name: basename(path), path, why, discard: null };
    const item = itemOfKey(entry.name.replace(/\.lock$/, ''));
    // Taken and released like by the next run: it may have been taken since it was looked at.
    const remove = async (): Promise<void> => {
      if (item !== null) claim(item.workflow, item.id)?.release();
      else if (path.endsWith('.guard')) await rm(path, { force: true });
      else await inGitQueue(path, nothing, TAKE_OVER_MS);
    };
    stale.push({ entry, keep: false, item: null, remove });
  }
  return stale;
}

async function temporaryFilesOf({ paths }: CleanOptions): Promise<Candidate[]> {
  return (await staleTemporaryFiles(paths)).map((path) => ({
    entry: { kind: 'unfinished', name: basename(path), path, why: 'its writer is gone', discard: null },
    keep: false,
    item: null,
    remove: () => rm(path, { force: true }),
  }));
}

async function cachesOf({ paths, caches }: CleanOptions): Promise<Candidate[]> {
  if (!(await namesIn(dirname(paths.caches))).includes(basename(paths.caches))) return [];
  const busy = (await lockFiles(paths)).some((path) => {
    const holder = readHolder(path);
    return holder !== null && isHolderAlive(holder);
  });
  const why = !caches ? 'shared by the items: --caches removes them' : busy ? 'a run is using them' : 'asked for';
  const entry: CleanEntry = { kind: 'cache', name: 'caches', path: paths.caches, why, discard: null };
  return [{ entry, keep: !caches || busy, item: null, remove: () => removeFolder(paths.caches) }];
}

async function lockFiles(paths: Paths): Promise<string[]> {
  const folder = join(paths.base, 'locks');
  return (await namesIn(folder)).filter((name) => /\.lock(?:\.guard)?$/.test(name)).map((name) => join(folder, name));
}

async function nothing(): Promise<void> {}
