import { mkdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { Item } from '../core/item.ts';
import type { Paths } from '../core/paths.ts';
import { removeQuietly, writeFileExclusive } from './files.ts';
import { isProcessAlive, processStat } from './process-tree.ts';

/** Who holds a lock file: a process number alone could belong to another process since. */
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
  // A lock that came with the folder would hold for ever by a process that never ends: the first one, the kernel's, another user's.
  return pid !== 1 && isProcessAlive(pid) && (!hasProgram(process.pid) || hasProgram(pid));
}

/** False where there is no /proc, too. */
function hasProgram(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`) !== '';
  } catch {
    return false;
  }
}

/** The process that works on an item, or null. */
export function workedOnBy(paths: Pick<Paths, 'lock'>, { workflow, id }: Item): number | null {
  const holder = readHolder(paths.lock(workflow, id));
  return holder !== null && isHolderAlive(holder) ? holder.pid : null;
}

export interface Lock {
  /** Never throws: a file that can't be removed names a process, and a process that is gone holds nothing. */
  release(): void;
}

const ATTEMPTS = 5;

/** One run at a time on an item. */
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
  // Again after a stale lock was removed; the loser of that race finds the winner.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const lock = tryLock(path);
    if (lock !== null) return lock;
    const holder = readHolder(path);
    if (holder && isHolderAlive(holder))
      throw new AgentosError({ code: 'item-locked', workflow, id, pid: holder.pid, since: holder.since });
  }
  const since = new Date().toISOString();
  throw new AgentosError({ code: 'item-locked', workflow, id, pid: 0, since }, { retry: 'transient' });
}

/**
 * Takes a lock file in an existing folder; null: it is held, or was stale and is removed now. The file names its holder by
 * process id and the time that process started, so that a lock left by a killed process, or one whose number was given to
 * another process since, is recognised as stale.
 */
export function tryLock(path: string): Lock | null {
  const mine = ownHolder();
  if (take(path, mine)) return { release: () => releaseIfMine(path, mine) };
  if (isLockStale(path)) removeStale(path, mine);
  return null;
}

/** Complete from the first moment: a file without its holder in it would be taken for a stale one. */
function take(path: string, mine: LockHolder): boolean {
  return writeFileExclusive(path, JSON.stringify(mine));
}

/** Without links a lock is empty for microseconds; one that is so after this long was left by a kill. */
const HALF_WRITTEN_MS = 2_000;

/** Of a process that is gone; false where there is none. */
export function isLockStale(path: string): boolean {
  const holder = readHolder(path);
  if (holder !== null) return !isHolderAlive(holder);
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && (found.size > 0 || Date.now() - found.mtimeMs > HALF_WRITTEN_MS);
}

/**
 * Two processes may find the same stale lock; the slower one must not remove what the faster one has just taken. So only
 * the holder of the guard looks again and removes. A guard that a killed process left behind goes first.
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
