import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentosError, codeOf, systemCode } from '../core/errors.ts';
import { isHolderAlive, type LockHolder, ownHolder, readHolder } from './lock-holder.ts';

const ATTEMPTS = 5;

export interface Lock {
  /** Never throws: a file that can't be removed names a process, and nobody waits for one that is gone. */
  release(): void;
}

/**
 * One run at a time on an item. The file names its holder by process id and the time that process started, so that a
 * lock left by a killed run, or one whose number was given to another process since, is recognised as stale.
 */
export function acquireLock(path: string, item: { workflow: string; id: string }, now: string): Lock {
  try {
    return tryToAcquire(path, item, now);
  } catch (error) {
    const reason = systemCode(error);
    if (codeOf(error) !== null || reason === null) throw error;
    throw new AgentosError({ code: 'output-unwritable', path, reason }, { cause: error });
  }
}

function tryToAcquire(path: string, item: { workflow: string; id: string }, now: string): Lock {
  const mine: LockHolder = { ...ownHolder(), since: now };
  mkdirSync(dirname(path), { recursive: true });
  // Again after a stale lock was removed; whoever loses that race is told of the winner.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const holder = readHolder(path);
    if (holder && isHolderAlive(holder)) {
      throw new AgentosError({ code: 'item-locked', ...item, pid: holder.pid, since: holder.since });
    }
    if (take(path, mine)) return { release: () => releaseIfMine(path, mine) };
    removeStale(path, mine);
  }
  throw new AgentosError({ code: 'item-locked', ...item, pid: 0, since: now }, { retry: 'transient' });
}

/** Complete from the first moment: a file without its holder in it would be taken for a stale one. */
function take(path: string, mine: LockHolder): boolean {
  const beside = `${path}.${mine.pid}`;
  try {
    writeFileSync(beside, JSON.stringify(mine));
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    if (systemCode(error) !== 'EPERM' && systemCode(error) !== 'ENOTSUP') throw error;
    return takeWithoutLink(path, mine);
  } finally {
    removeQuietly(beside);
  }
}

/** For file systems without links. */
function takeWithoutLink(path: string, mine: LockHolder): boolean {
  try {
    writeFileSync(path, JSON.stringify(mine), { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Two runs may find the same stale lock; the slower one must not remove what the faster one has just taken. So only who
 * holds the guard looks again and removes. A guard that a killed process left behind goes first.
 */
function removeStale(path: string, mine: LockHolder): void {
  const guard = `${path}.guard`;
  if (!take(guard, mine)) {
    const holder = readHolder(guard);
    if (holder === null || !isHolderAlive(holder)) rmSync(guard, { force: true });
    return;
  }
  try {
    const holder = readHolder(path);
    if (holder === null || !isHolderAlive(holder)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function releaseIfMine(path: string, mine: LockHolder): void {
  const holder = readHolder(path);
  if (holder?.pid === mine.pid && holder.processStart === mine.processStart) removeQuietly(path);
}

function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On a disk that became read-only, say. What is left names this process, and is removed when it is gone.
  }
}
