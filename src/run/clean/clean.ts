import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, systemCode } from '../../core/errors.ts';
import { endedWell, type Item, itemOfKey, keyOf } from '../../core/item.ts';
import { type Paths, STAGES, type WorkflowName } from '../../core/paths.ts';
import { messageOf } from '../../core/wording.ts';
import { removePins } from '../../git/worktree/trees.ts';
import { deleteDatabase } from '../../journal/database.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { namesIn, removeFolder } from '../../process/files.ts';
import { isLockStale, livingHolder, lockItem, readHolder, tryLock, workedOnBy } from '../../process/lock.ts';
import { abandonedWorkFolders, staleTemporaryFiles } from '../../process/state-folder.ts';
import { runIds } from '../history/run-files.ts';
import { readRun } from '../history/run-history.ts';
import { pipelineNamed } from '../plan-batch.ts';
import { discardCommand, type Project } from '../project.ts';
import {
  busyWith,
  type Candidate,
  type Cleaned,
  candidate,
  isOld,
  modifiedMs,
  RECENT_MS,
  worktreesOf,
} from './worktrees.ts';

/**
 * Removes what is done and what belongs to nothing. Keeps, with the reason, what a process works on, what an unfinished item could
 * resume from, and files that are in no commit.
 */
export async function clean(project: Project, how: { dryRun: boolean; caches: boolean }): Promise<Cleaned> {
  const found = await leftoversOf(project, () => true);
  const all = [
    ...found,
    ...(await undoneOf(project, keptWorktrees(found))),
    ...(await pinsOf(project, found)),
    ...(await runsOf(project)),
    ...(await cachesOf(project, how.caches)),
    ...(await abandonedOf(project)),
  ];
  return removeAll(project, all, how.dryRun);
}

/** Removes what killed runs left behind, without looking at the items with these keys. */
export async function sweepLeftovers(project: Project, except: ReadonlySet<string>): Promise<void> {
  const found = await leftoversOf(project, (name) => !except.has(name));
  // Old answers are only thrown away by a person.
  const isReused = ({ entry: { kind }, item }: Candidate): boolean =>
    kind === 'checkpoint' && item !== null && REUSED[item.workflow] !== undefined;
  await removeAll(
    project,
    found.filter((one) => !isReused(one)),
    false,
  );
}

async function leftoversOf(project: Project, isWanted: (name: string) => boolean): Promise<Candidate[]> {
  const { paths } = project;
  const worktrees = await worktreesOf(project, isWanted);
  const temporary = await staleTemporaryFiles(paths);
  return [
    ...worktrees,
    ...(await checkpointsOf(project, keptWorktrees(worktrees), isWanted)),
    ...(await homesOf(paths, keptWorktrees(worktrees))).filter(({ entry }) => isWanted(entry.name)),
    ...(await locksOf(paths, isWanted)),
    ...temporary.map((path) =>
      candidate('unfinished', path, 'the process that wrote it is gone', () => rm(path, { force: true })),
    ),
  ];
}

function keptWorktrees(candidates: readonly Candidate[]): ReadonlySet<string> {
  const kept = candidates.filter(({ entry, remove }) => entry.kind === 'worktree' && remove === null);
  return new Set(kept.map(({ entry }) => entry.name));
}

/** Keeps what can't be removed, with the reason. */
async function removeAll({ paths }: Project, candidates: Candidate[], dryRun: boolean): Promise<Cleaned> {
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

/** What a later command uses the checkpoint for, if it is not that of a stage. It is never done, so only an old one is removed. */
const REUSED: Partial<Record<WorkflowName, string>> = {
  eval: 'the next evaluation reuses its answers',
  react: 'the next reaction to its pull request resumes from it',
  land: 'the next landing reuses its steps',
};

async function checkpointsOf(
  project: Project,
  worktrees: ReadonlySet<string>,
  isWanted: (name: string) => boolean,
): Promise<Candidate[]> {
  const { paths } = project;
  const names = (await namesIn(paths.checkpoints)).filter((name) => /\.db(?:\.damaged-[^-]+(?:-\d+)?)?$/.test(name));
  const found = names
    .filter((name) => isWanted(basename(name, '.db')))
    .map((name) => ({ path: join(paths.checkpoints, name), item: itemOfKey(basename(name, '.db')) }));
  const items = found.flatMap(({ item }) => item ?? []);
  const done = await doneOf(project, items);
  const judged = found.map(async ({ path, item }): Promise<Candidate> => {
    const kept = (why: string, discard: string | null = null) =>
      candidate('checkpoint', path, why, null, { item, discard });
    const removable = (why: string) => candidate('checkpoint', path, why, () => deleteDatabase(path), { item });
    if (item === null) return kept(path.includes('.damaged-') ? 'damaged, kept for inspection' : 'not ours');
    const busy = busyWith(paths, item);
    if (busy !== null) return kept(busy);
    const use = REUSED[item.workflow];
    if (use !== undefined) return (await isOld(path)) ? removable('not used for 14 days') : kept(use);
    if (done.has(keyOf(item)) && !isDoneAgain(path, item)) return removable('its item is done');
    // A kept worktree has the same command.
    const isAlone = item.workflow === 'implement' && !worktrees.has(keyOf(item));
    return kept('its item is not done and resumes from it', isAlone ? discardCommand(project, item.id) : null);
  });
  return Promise.all(judged);
}

/** A done item whose journal lacks the last step: `implement --again` is at it. */
function isDoneAgain(path: string, { workflow }: Item): boolean {
  const steps = workflow === 'implement' ? (inspectJournal(path)?.finished ?? []) : [];
  return steps.length > 0 && !steps.some(({ name }) => name === 'commit-report');
}

/** The keys of those items that are done. */
async function doneOf(project: Project, items: readonly Item[]): Promise<ReadonlySet<string>> {
  const done = new Set<string>();
  for (const workflow of STAGES) {
    const ids = items.filter((item) => item.workflow === workflow).map(({ id }) => id);
    if (ids.length === 0) continue;
    const [stage] = pipelineNamed(workflow).stages;
    // One missing issue rejects the whole call.
    const found = await stage.collect(project, ids).catch(async () => {
      const each = ids.map((id) => stage.collect(project, [id]).catch(() => []));
      return (await Promise.all(each)).flat();
    });
    for (const { id, state } of found)
      if (state === 'done' || state === 'already-done') done.add(keyOf({ workflow, id }));
  }
  return done;
}

async function homesOf(paths: Paths, worktrees: ReadonlySet<string>): Promise<Candidate[]> {
  return (await namesIn(paths.homes)).map((name) => {
    const path = join(paths.homes, name);
    const item = itemOfKey(name);
    const why =
      item === null ? 'not ours' : (busyWith(paths, item) ?? (worktrees.has(name) ? 'its worktree is kept' : null));
    if (why !== null) return candidate('home', path, why, null);
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

/** Pins that no worktree and no checkpoint needs. Those of a worktree that is removed are removed with it. */
async function pinsOf({ git }: Project, found: readonly Candidate[]): Promise<Candidate[]> {
  const needed = found.flatMap(({ entry: { kind, name }, remove }) =>
    kind === 'worktree' || (kind === 'checkpoint' && remove === null) ? [name.replace(/\.db.*$/, '')] : [],
  );
  const refs = (await git.text(['for-each-ref', '--format=%(refname)', 'refs/agentos/'])).split('\n').filter(Boolean);
  const names = new Set(refs.map((ref) => ref.split('/')[2] ?? ''));
  return [...names]
    .filter((name) => !needed.includes(name))
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

/** Locks of processes that are gone. */
async function locksOf({ locks }: Paths, isWanted: (name: string) => boolean): Promise<Candidate[]> {
  const stale = (await lockFiles(locks)).filter((path) => isLockStale(path) && isWanted(basename(path, '.lock')));
  return stale.map((path) => {
    const holder = readHolder(path);
    const why = holder === null ? 'it names no process' : `process ${holder.pid} is gone`;
    // Acquired and released like by the next run: another process may have acquired it meanwhile.
    const takeOver = (): void => tryLock(path)?.release();
    return candidate('lock', path, why, takeOver, { item: null });
  });
}

async function lockFiles(locks: string): Promise<string[]> {
  return (await namesIn(locks)).filter((name) => /\.lock(?:\.guard)?$/.test(name)).map((name) => join(locks, name));
}

/** The caches of package managers, and those of planning. */
async function cachesOf({ paths }: Project, asked: boolean): Promise<Candidate[]> {
  const isBusy = (await lockFiles(paths.locks)).some((lock) => livingHolder(lock) !== null);
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
