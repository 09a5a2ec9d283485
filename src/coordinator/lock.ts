import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AgentosError, systemCode } from '../core/errors.ts';
import { isHolderAlive, type LockHolder, ownHolder, readHolder } from '../workspace/lock-holder.ts';

const ATTEMPTS = 5;

export interface Lock {
  release(): void;
}

/**
 * One run at a time on an item. The file names its holder by process id and the time that process started, so that a
 * lock left by a killed run, or one whose number was given to another process since, is recognised as stale.
 */
export function acquireLock(path: string, item: { workflow: string; id: string }, now: string): Lock {
  const mine: LockHolder = { ...ownHolder(), since: now };
  mkdirSync(dirname(path), { recursive: true });
  // Again after a stale lock was removed; whoever loses that race is told of the winner.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (take(path, mine)) return { release: () => releaseIfMine(path, mine) };
    const holder = readHolder(path);
    if (holder && isHolderAlive(holder)) {
      throw new AgentosError({ code: 'item-locked', ...item, pid: holder.pid, since: holder.since });
    }
    removeStale(path, mine);
  }
  throw new AgentosError({ code: 'item-locked', ...item, pid: 0, since: now }, { retry: 'transient' });
}

/** Complete from the first moment: a file without its holder in it would be taken for a stale one. */
function take(path: string, mine: LockHolder): boolean {
  const beside = `${path}.${mine.pid}`;
  writeFileSync(beside, JSON.stringify(mine));
  try {
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    if (systemCode(error) !== 'EPERM' && systemCode(error) !== 'ENOTSUP') throw error;
    return takeWithoutLink(path, mine);
  } finally {
    rmSync(beside, { force: true });
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
  if (holder?.pid === mine.pid && holder.processStart === mine.processStart) rmSync(path, { force: true });
}
