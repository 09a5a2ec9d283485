import { readlinkSync, type Stats, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { isInside } from '../core/paths.ts';
import { makeFolder, textIfReadable } from '../process/files.ts';
import { readHolder, tryLock } from '../process/lock.ts';
import { processIds } from '../process/process-tree.ts';
import type { WorktreePlace } from './worktree/place.ts';
import { registrationOf, registrations } from './worktree/registration.ts';
import { pinsOf } from './worktree/trees.ts';

/** The longest that the lock is held: a few calls of git, of a minute each at most; no files are written or deleted. */
const LONGEST_HOLD_MS = 5 * 60_000;
const LOOK_EVERY_MS = 20;
const LOOK_SLOWLY_MS = 100;

/**
 * Runs one `git worktree` call at a time, over all processes: git takes no lock for it, and of two calls at once, both could take the
 * same name, or one could prune what the other is making. Waits for any number of others, but not longer than `longestHoldMs`
 * for each of them. Takes over the lock of a dead process.
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
    const found = textIfReadable(lockFile);
    if (found !== holder) startedAt = systemClock.now();
    holder = found;
    const waitedMs = systemClock.now() - startedAt;
    if (waitedMs > longestHoldMs) throw tooLong(lockFile, waitedMs);
    // With jitter, so that waiting processes don't all look at the same moment.
    await sleep((waitedMs < 1_000 ? LOOK_EVERY_MS : LOOK_SLOWLY_MS) * (1 + Math.random()));
    lock = tryLock(lockFile);
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function tooLong(lockFile: string, waitedMs: number): AgentosError {
  const holder = readHolder(lockFile);
  const who = holder === null ? 'another process' : `process ${holder.pid} (since ${holder.since})`;
  const reason = `${who} has been making or removing a worktree for ${Math.round(waitedMs / 1_000)} s.`;
  return new AgentosError({ code: 'worktree-unusable', path: lockFile, reason }, { retry: 'transient' });
}

/*
 * Git locks a ref by a file `<ref>.lock` beside it, which does not name its owner. A git that is killed leaves it behind, and
 * every later one refuses to touch that ref. Whose it is can't be told from the file; whether a git is at work in the
 * repository can, and a ref is never locked for long.
 */

interface Staleness {
  /** The least age where no git is at work in the repository. */
  aloneMs: number;
  /** The least age where one is: it may be a pager's or a daemon's, which locks nothing. */
  besideMs: number;
}

const LOOK_AGAIN_MS = 50;
const LONGEST_WAIT_MS = 10_000;
const OUR_OWN: Staleness = { aloneMs: 0, besideMs: 5_000 };
/** Also locked by the user's git, which may be on another machine or take its time in a large repository. */
const SHARED: Staleness = { aloneMs: 5_000, besideMs: 60_000 };

/**
 * Removes what killed gits left locked of one item: its branches, its pins, git's folder of its worktree; and the list of
 * packed refs, which is everybody's. The caller holds the lock of the item. What a git has locked now is waited for.
 */
export async function removeStaleGitLocks(place: WorktreePlace, branches: readonly (string | null)[]): Promise<void> {
  const { commonDir, name } = place;
  const gitDir = await registrationOf(place);
  const inFolders = await Promise.all(
    [join(commonDir, pinsOf(name)), ...(gitDir === null ? [] : [gitDir])].map(locksIn),
  );
  const ofBranches = branches.flatMap((branch) => (branch === null ? [] : [`${branch}.lock`]));
  for (const lock of [...ofBranches.map((file) => join(commonDir, 'refs', 'heads', file)), ...inFolders.flat()])
    await removeIfStale(lock, place, OUR_OWN);
  // Git writes the new list beside the old one, and refuses to while an earlier attempt is there.
  if (await removeIfStale(join(commonDir, 'packed-refs.lock'), place, SHARED))
    await rm(join(commonDir, 'packed-refs.new'), { force: true });
}

async function removeIfStale(lock: string, place: WorktreePlace, { aloneMs, besideMs }: Staleness): Promise<boolean> {
  const begunAt = performance.now();
  let first: number | null = null;
  for (; performance.now() < begunAt + LONGEST_WAIT_MS; await sleep(LOOK_AGAIN_MS)) {
    const found = statOf(lock);
    if (found === null) return false;
    first ??= found.ino;
    // If the clock was set back since it was made, it is at least as old as we have seen it.
    const watchedMs = found.ino === first ? performance.now() - begunAt : 0;
    const ageMs = Math.max(Date.now() - found.mtimeMs, watchedMs);
    // Checked after the file was seen: its maker is running now, or gone.
    if (ageMs < aloneMs || (ageMs < besideMs && (await isGitAtWork(place)))) continue;
    if (statOf(lock)?.ino === found.ino) await rm(lock, { force: true });
    return true;
  }
  return false;
}

/** Where processes can't be seen, one may be. */
async function isGitAtWork({ commonDir, directory }: WorktreePlace): Promise<boolean> {
  const pids = processIds();
  if (pids.length === 0) return true;
  const gits = pids.filter((pid) => /^git(?:-|\n)/.test(textIfReadable(`/proc/${pid}/comm`) ?? ''));
  if (gits.length === 0) return false;
  const others = (await registrations(commonDir)).map((known) => known.directory);
  const places = [commonDir, dirname(commonDir), directory, ...others];
  return gits.some((pid) => {
    const cwd = folderOf(pid);
    return cwd !== null && places.some((folder) => isInside(folder, cwd));
  });
}

async function locksIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.endsWith('.lock')).map((name) => join(folder, name));
}

function statOf(path: string): Stats | null {
  return statSync(path, { throwIfNoEntry: false }) ?? null;
}

/** The working directory of a process; null: it is gone, or another user's. */
function folderOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
