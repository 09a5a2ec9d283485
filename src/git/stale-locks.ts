import { readFileSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInside } from '../core/paths.ts';
import { processIds } from '../process/process-tree.ts';
import { pinsOf } from './worktree/pins.ts';
import type { WorktreePlace } from './worktree/place.ts';
import { registrationOf, registrations } from './worktree/registration.ts';

/*
 * Git locks a ref by a file `<ref>.lock` beside it, and names nobody in it. A git that is killed leaves it behind, and
 * every later one refuses to touch that ref. Whose it is can't be told from the file; whether a git is at work in the
 * repository can, and a ref is never locked for long.
 */

interface Staleness {
  /** The least age where no git is at work in the repository. */
  aloneMs: number;
  /** The least age where one is: it may be a pager's or a daemon's, which locks nothing. */
  besideMs: number;
}

const LOOK_EVERY_MS = 50;
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
  for (const end = performance.now() + LONGEST_WAIT_MS; performance.now() < end; await sleep(LOOK_EVERY_MS)) {
    const found = statOf(lock);
    if (found === null) return false;
    const ageMs = Date.now() - found.mtimeMs;
    // Looked for after the file was seen: whoever made it is there now, or gone.
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
  const gits = pids.filter((pid) => /^git(?:-|\n)/.test(read(() => readFileSync(`/proc/${pid}/comm`, 'utf8')) ?? ''));
  if (gits.length === 0) return false;
  const others = (await registrations(commonDir)).map((known) => known.directory);
  const places = [commonDir, dirname(commonDir), directory, ...others];
  return gits.some((pid) => {
    const cwd = read(() => readlinkSync(`/proc/${pid}/cwd`));
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

/** Null: it is gone, or somebody else's. */
function read(look: () => string): string | null {
  try {
    return look();
  } catch {
    return null;
  }
}
