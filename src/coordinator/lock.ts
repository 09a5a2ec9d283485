import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { AgentosError, systemCode } from '../core/errors.ts';

const holderSchema = z.object({ pid: z.int(), processStart: z.string().nullable(), since: z.string() });
type Holder = z.infer<typeof holderSchema>;

const ATTEMPTS = 5;
const STALE_GUARD_MS = 5_000;

export interface Lock {
  release(): void;
}

/**
 * One run at a time on an item. The file names its holder by process id and the time that process started, so that a
 * lock left by a killed run, or one whose number was given to another process since, is recognised as stale.
 */
export function acquireLock(path: string, item: { workflow: string; id: string }, now: string): Lock {
  const mine: Holder = { pid: process.pid, processStart: processStart(process.pid), since: now };
  mkdirSync(dirname(path), { recursive: true });
  // Again after a stale lock was removed; whoever loses that race is told of the winner.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      writeFileSync(path, JSON.stringify(mine), { flag: 'wx' });
      return { release: () => releaseIfMine(path, mine) };
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      const holder = readHolder(path);
      if (holder && isAlive(holder)) {
        throw new AgentosError(
          { code: 'item-locked', ...item, pid: holder.pid, since: holder.since },
          { cause: error },
        );
      }
      removeStale(path);
    }
  }
  throw new AgentosError({ code: 'item-locked', ...item, pid: 0, since: now }, { retry: 'transient' });
}

/**
 * Two runs may find the same stale lock; the slower one must not remove what the faster one has just taken. So only who
 * holds the guard looks again and removes.
 */
function removeStale(path: string): void {
  const guard = `${path}.guard`;
  try {
    writeFileSync(guard, '', { flag: 'wx' });
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    // Held for microseconds: an old one was left by a process that was killed between two lines.
    if (Date.now() - (statSync(guard, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > STALE_GUARD_MS)
      rmSync(guard, { force: true });
    return;
  }
  try {
    const holder = readHolder(path);
    if (holder === null || !isAlive(holder)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function readHolder(path: string): Holder | null {
  try {
    return holderSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

function releaseIfMine(path: string, mine: Holder): void {
  const holder = readHolder(path);
  if (holder?.pid === mine.pid && holder.processStart === mine.processStart) rmSync(path, { force: true });
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') return false;
  }
  return holder.processStart === null || holder.processStart === processStart(holder.pid);
}

/** Field 22 of /proc/<pid>/stat; null where there is no /proc. The command name before it may hold spaces and brackets. */
function processStart(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
