import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Item } from '../core/item.ts';
import type { Paths } from '../core/paths.ts';
import { removeQuietly, writeFileExclusive } from './files.ts';
import { isProcessAlive, processStat } from './process-tree.ts';

/** The holder of a lock file. A process id alone could belong to another process by now. */
export interface LockHolder {
  pid: number;
  processStart: string | null;
  since: string;
}

export function ownHolder(): LockHolder {
  const start = processStat(process.pid)?.start;
  return {
    pid: process.pid,
    processStart: start === undefined ? null : String(start),
    since: new Date().toISOString(),
  };
}

/** Null: there is no such file, or it can't be read. */
export function readHolder(path: string): LockHolder | null {
  try {
    const { pid, processStart, since } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    const isHolder =
      Number.isInteger(pid) &&
      (pid as number) > 0 &&
      (processStart === null || typeof processStart === 'string') &&
      typeof since === 'string';
    return isHolder ? ({ pid, processStart, since } as LockHolder) : null;
  } catch {
    return null;
  }
}

export function isHolderAlive({ pid, processStart }: LockHolder): boolean {
  if (processStart !== null) return isProcessAlive(pid, Number(processStart));
  // A copied lock could name a process that never ends: process 1, a kernel thread, or another user's.
  return pid !== 1 && isProcessAlive(pid) && (!hasProgram(process.pid) || hasProgram(pid));
}

/** Also false without /proc. */
function hasProgram(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`) !== '';
  } catch {
    return false;
  }
}

/** The living holder of a lock file; null: the lock is free or stale. */
export function livingHolder(path: string): LockHolder | null {
  const holder = readHolder(path);
  return holder !== null && isHolderAlive(holder) ? holder : null;
}

/** The id of the process that works on an item, or null. */
export function workedOnBy(paths: Pick<Paths, 'lock'>, { workflow, id }: Item): number | null {
  return livingHolder(paths.lock(workflow, id))?.pid ?? null;
}

export interface Lock {
  /** Never throws: a file that can't be removed is stale as soon as the process has ended. */
  release(): void;
}

/** Only one run at a time works on an item. */
export function lockItem(paths: Pick<Paths, 'lock'>, item: Item): Lock {
  return acquireLock(paths.lock(item.workflow, item.id), item);
}

/** `item-locked` if a living process has it. */
export function acquireLock(path: string, { workflow, id }: { workflow: string; id: string }): Lock {
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    const reason = systemCode(error) ?? String(error);
    throw new AgentosError({ code: 'output-unwritable', path, reason }, { cause: error });
  }
  const lock = tryLock(path);
  if (lock !== null) return lock;
  const holder = livingHolder(path);
  if (holder !== null)
    throw new AgentosError({ code: 'item-locked', workflow, id, pid: holder.pid, since: holder.since });
  // Of several processes that found it stale, another one was faster.
  const since = new Date().toISOString();
  throw new AgentosError({ code: 'item-locked', workflow, id, pid: 0, since }, { retry: 'transient' });
}

const ATTEMPTS = 5;

/**
 * Takes a lock file in an existing folder; null: it is held. The file holds the id and start time of its process, so the lock of a
 * killed process is recognised as stale, even if the id was reused.
 */
export function tryLock(path: string): Lock | null {
  const mine = ownHolder();
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (take(path, mine)) return { release: () => releaseIfMine(path, mine) };
    if (!isLockStale(path)) return null;
    removeStale(path, mine);
  }
  return null;
}

/** Atomic: a lock file without its holder would look stale. */
function take(path: string, mine: LockHolder): boolean {
  return writeFileExclusive(path, JSON.stringify(mine));
}

/** Without hard links, a lock is empty for microseconds. An older empty one was left by a killed process. */
const HALF_WRITTEN_MS = 2_000;

/** Whether a lock's process is gone; false if there is no lock. */
export function isLockStale(path: string): boolean {
  const holder = readHolder(path);
  if (holder !== null) return !isHolderAlive(holder);
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.size > 0 || Date.now() - found.mtimeMs > HALF_WRITTEN_MS);
}

/**
 * Two processes may find the same stale lock, and the slower one must not remove the lock that the faster one has just taken. So only
 * the holder of a second lock, the guard, checks again and removes it. A stale guard is removed first.
 */
function removeStale(path: string, mine: LockHolder): void {
  const guard = `${path}.guard`;
  if (!take(guard, mine)) {
    if (isLockStale(guard)) rmSync(guard, { force: true });
    return;
  }
  try {
    if (isLockStale(path)) rmSync(path, { force: true, recursive: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function releaseIfMine(path: string, mine: LockHolder): void {
  const holder = readHolder(path);
  if (holder?.pid === mine.pid && holder.processStart === mine.processStart) removeQuietly(path);
}
