import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { isHolderAlive, ownHolder, readHolder } from '../process/lock-holder.ts';
import { makeFolder } from '../process/make-folder.ts';

/** The longest that anybody holds the lock: a few calls of git, of a minute each at most; no files are written or deleted. */
const LONGEST_HOLD_MS = 5 * 60_000;
const LOOK_EVERY_MS = 20;
const LOOK_SLOWLY_MS = 100;
/** A lock or a guard is written within microseconds; what nobody can read after this long was left by a kill. */
const HALF_WRITTEN_MS = 2_000;

/**
 * One `git worktree` call at a time, over all processes: git itself takes no lock there, and two calls at once can take
 * the same name or prune what the other is making. Waits its turn, however many are before it, as long as each of them
 * takes no longer than it may; the lock of a process that is gone is taken over.
 */
export async function inGitQueue<T>(
  lockFile: string,
  work: () => Promise<T>,
  longestHoldMs: number = LONGEST_HOLD_MS,
): Promise<T> {
  const mine = JSON.stringify({ ...ownHolder(), token: randomUUID() });
  await makeFolder(dirname(lockFile));
  let holder: string | null = null;
  let startedAt = systemClock.now();
  while (!take(lockFile, mine)) {
    const found = contentOf(lockFile);
    if (found !== holder) startedAt = systemClock.now();
    holder = found;
    const waitedMs = systemClock.now() - startedAt;
    if (waitedMs > longestHoldMs) throw tooLong(lockFile, waitedMs);
    // Spread out, so that those who wait don't all look at the same moment.
    await sleep((waitedMs < 1_000 ? LOOK_EVERY_MS : LOOK_SLOWLY_MS) * (1 + Math.random()));
  }
  try {
    return await work();
  } finally {
    if (contentOf(lockFile) === mine) rmSync(lockFile, { force: true });
  }
}

function take(lockFile: string, mine: string): boolean {
  try {
    writeFileSync(lockFile, mine, { flag: 'wx' });
    return true;
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    if (isStale(lockFile)) removeStale(lockFile);
    return false;
  }
}

function isStale(lockFile: string): boolean {
  const holder = readHolder(lockFile);
  return holder === null ? ageMs(lockFile) > HALF_WRITTEN_MS : !isHolderAlive(holder);
}

/** Only who holds the guard looks again and removes: the slower of two must not remove what the faster one took. */
function removeStale(lockFile: string): void {
  const guard = `${lockFile}.guard`;
  try {
    writeFileSync(guard, '', { flag: 'wx' });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    if (ageMs(guard) > HALF_WRITTEN_MS) rmSync(guard, { force: true });
    return;
  }
  try {
    if (isStale(lockFile)) rmSync(lockFile, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function ageMs(path: string): number {
  const writtenMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return writtenMs === undefined ? 0 : Date.now() - writtenMs;
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function tooLong(lockFile: string, waitedMs: number): AgentosError {
  const holder = readHolder(lockFile);
  const who = holder === null ? 'another process' : `process ${holder.pid} (since ${holder.since})`;
  const reason = `${who} has been making or removing a worktree for ${Math.round(waitedMs / 1_000)} s.`;
  return new AgentosError({ code: 'worktree-unusable', path: lockFile, reason }, { retry: 'transient' });
}
