import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { makeFolder } from '../process/files.ts';
import { readHolder, tryLock } from '../process/lock.ts';

/** The longest that the lock is held: a few calls of git, of a minute each at most; no files are written or deleted. */
const LONGEST_HOLD_MS = 5 * 60_000;
const LOOK_EVERY_MS = 20;
const LOOK_SLOWLY_MS = 100;

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
  await makeFolder(dirname(lockFile));
  let holder: string | null = null;
  let startedAt = systemClock.now();
  let lock = tryLock(lockFile);
  while (lock === null) {
    const found = contentOf(lockFile);
    if (found !== holder) startedAt = systemClock.now();
    holder = found;
    const waitedMs = systemClock.now() - startedAt;
    if (waitedMs > longestHoldMs) throw tooLong(lockFile, waitedMs);
    // Spread out, so that those who wait don't all look at the same moment.
    await sleep((waitedMs < 1_000 ? LOOK_EVERY_MS : LOOK_SLOWLY_MS) * (1 + Math.random()));
    lock = tryLock(lockFile);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
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
