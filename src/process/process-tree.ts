import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../core/errors.ts';

/*
 * Ending a process together with everything it started: the one place that knows how the platforms differ. On POSIX the
 * leader was started detached, so its id is the id of a group; Windows has no groups, and taskkill walks the tree.
 */

const GRACE_MS = 2_000;
const LOOK_EVERY_MS = 20;
const isWindows = process.platform === 'win32';

/**
 * Asks every process of the tree to end, and after a grace ends those that did not. Resolves when none is left. `hasMonitor`: the
 * leader is a sandbox, which would take the others with it before they could do anything.
 */
export async function endTree(
  leader: number | undefined,
  { graceMs = GRACE_MS, hasMonitor = false }: { graceMs?: number; hasMonitor?: boolean } = {},
): Promise<void> {
  if (hasMonitor && leader !== undefined) signalMembers(leader, 'SIGTERM');
  else signalTree(leader, 'SIGTERM');
  const end = performance.now() + graceMs;
  // A shell is often gone long before the program it started: only a group in which nothing runs is done.
  while (leader !== undefined && signalTree(leader, 0) && isGroupAlive(leader) && performance.now() < end)
    await sleep(LOOK_EVERY_MS);
  signalTree(leader, 'SIGKILL');
}

/** Whether there was a process to receive it. */
export function signalTree(leader: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (leader === undefined) return false;
  if (isWindows && signal === 'SIGKILL') {
    return spawnSync('taskkill', ['/PID', String(leader), '/T', '/F'], { stdio: 'ignore' }).status === 0;
  }
  try {
    return process.kill(isWindows ? leader : -leader, signal);
  } catch (error) {
    // macOS answers EPERM for a group of which only zombies are left.
    if (systemCode(error) === 'ESRCH' || systemCode(error) === 'EPERM') return false;
    throw error;
  }
}

/** Every process of a group but its leader. */
function signalMembers(leader: number, signal: NodeJS.Signals): void {
  const members = processIds().filter((pid) => pid !== leader && processStat(pid)?.group === leader);
  for (const pid of members) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended meanwhile.
    }
  }
}

/** What Linux says of a process; `start` is the tick of the machine's clock at which it began. */
export interface ProcessStat {
  state: string;
  group: number;
  terminal: number;
  start: number;
}

/** A zombie has ended and only waits for its parent to notice: in a container without an init, for ever. */
const ENDED = new Set(['Z', 'X', 'x']);

/** Null where there is no /proc, or no such process. */
export function processStat(pid: number): ProcessStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

/** Of /proc/<pid>/stat the fields 3, 5, 7 and 22. The command name before them may hold spaces and brackets. */
function parseStat(text: string): ProcessStat {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    state: fields[0] ?? '',
    group: Number(fields[2]),
    terminal: Number(fields[4]),
    start: Number(fields[19]),
  };
}

/** `start`: when it began, where that is known; another process may have been given its number since. */
export function isProcessAlive(pid: number, start: number | null = null): boolean {
  const stat = processStat(pid);
  if (stat === null) return canBeSignalled(pid);
  return !ENDED.has(stat.state) && (start === null || start === stat.start);
}

/** Whether a process of this group still runs. Only where there is a /proc; elsewhere every group counts as alive. */
export function isGroupAlive(group: number): boolean {
  const pids = processIds();
  if (pids.length === 0) return true;
  return pids.some((pid) => {
    const stat = processStat(pid);
    return stat?.group === group && !ENDED.has(stat.state);
  });
}

/** None where there is no /proc. */
export function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid));
  } catch {
    return [];
  }
}

function canBeSignalled(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}
