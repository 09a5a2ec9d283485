import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../core/errors.ts';
import { isInside } from '../core/paths.ts';

/*
 * Ending a process together with everything it started. The leader was started detached, so its id is the id of a group. What left
 * the group is found by a tag in its environment, or by the folder that it stands in, where there is a /proc.
 */

const GRACE_MS = 2_000;
const LOOK_EVERY_MS = 20;

/**
 * Asks every process of the tree to end, and after a grace ends those that did not. Resolves when none is left. `hasMonitor`: the
 * leader is a sandbox, which would take the others with it before they could do anything.
 */
export async function endTree(leader: number | undefined, hasMonitor: boolean): Promise<void> {
  if (hasMonitor && leader !== undefined) {
    for (const pid of processIds())
      if (pid !== leader && processStat(pid)?.group === leader) signalQuietly(pid, 'SIGTERM');
  } else signalTree(leader, 'SIGTERM');
  const end = performance.now() + GRACE_MS;
  // A shell is often gone long before the program it started: only a group in which nothing runs is done.
  while (leader !== undefined && signalTree(leader, 0) && isGroupAlive(leader) && performance.now() < end)
    await sleep(LOOK_EVERY_MS);
  signalTree(leader, 'SIGKILL');
}

/** Whether there was a process to receive it. */
export function signalTree(leader: number | undefined, signal: NodeJS.Signals | 0): boolean {
  if (leader === undefined) return false;
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    // macOS answers EPERM for a group of which only zombies are left.
    if (systemCode(error) === 'ESRCH' || systemCode(error) === 'EPERM') return false;
    throw error;
  }
}

function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended meanwhile, or is not ours to end.
  }
}

/** Every worker carries it in its environment, and so does all that it starts, even what left its process group. */
export const WORKER_TAG = 'AGENTOS_WORKER';

const LONGEST_END_MS = 1_000;
const LOOK_AGAIN_MS = 5;

/** Ends what carries a tag that begins so, in this variable, and waits until it is gone. */
export async function endTagged(tagPrefix: string, variable: string = WORKER_TAG): Promise<void> {
  const tagged = processIds().filter((pid) => pid !== process.pid && carries(pid, `${variable}=${tagPrefix}`));
  for (const pid of tagged) signalQuietly(pid, 'SIGKILL');
  const until = performance.now() + LONGEST_END_MS;
  while (tagged.some((pid) => isProcessAlive(pid)) && performance.now() < until) await sleep(LOOK_AGAIN_MS);
}

/** Not by the thread pool: a killed run of ten workers would put thousands of small reads before its summary. */
function carries(pid: number, variable: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${variable}`);
  } catch {
    // It is gone, or another user's.
    return false;
  }
}

const MOST_LOOKS = 5;

/**
 * Ends what stands in this folder, began no earlier than this tick and has no terminal: what a program left behind with neither its
 * process group nor its environment. A person's shell has a terminal, and is never touched.
 */
export async function endUntagged(directory: string, since: number): Promise<void> {
  const folder = await realpath(directory).catch(() => directory);
  // What is being ended may have started another one meanwhile.
  for (let look = 0; look < MOST_LOOKS; look++) {
    const found = processIds().filter((pid) => pid !== process.pid && isUntagged(pid, folder, since));
    if (found.length === 0) return;
    for (const pid of found) signalQuietly(pid, 'SIGKILL');
    await sleep(LOOK_AGAIN_MS);
  }
}

function isUntagged(pid: number, folder: string, since: number): boolean {
  try {
    if (!isInside(folder, readlinkSync(`/proc/${pid}/cwd`))) return false;
  } catch {
    return false;
  }
  const stat = processStat(pid);
  return stat !== null && stat.terminal === 0 && stat.start >= since;
}

/** What Linux says of a process; `start` is the tick of the machine's clock at which it began. */
interface ProcessStat {
  state: string;
  group: number;
  terminal: number;
  start: number;
}

/** A zombie has ended and only waits for its parent to notice: in a container without an init, for ever. */
const ENDED = new Set(['Z', 'X', 'x']);

/** Of /proc/<pid>/stat the fields 3, 5, 7 and 22; null where there is no /proc, or no such process. */
export function processStat(pid: number): ProcessStat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name before them may hold spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return {
      state: fields[0] ?? '',
      group: Number(fields[2]),
      terminal: Number(fields[4]),
      start: Number(fields[19]),
    };
  } catch {
    return null;
  }
}

/** `start`: when it began, where that is known; another process may have been given its number since. */
export function isProcessAlive(pid: number, start: number | null = null): boolean {
  const stat = processStat(pid);
  if (stat !== null) return !ENDED.has(stat.state) && (start === null || start === stat.start);
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return systemCode(error) === 'EPERM';
  }
}

/** Whether a process of this group still runs. Only where there is a /proc; elsewhere every group counts as alive. */
function isGroupAlive(group: number): boolean {
  const pids = processIds();
  const isMember = (pid: number): boolean => {
    const stat = processStat(pid);
    return stat?.group === group && !ENDED.has(stat.state);
  };
  return pids.length === 0 || pids.some(isMember);
}

/** None where there is no /proc. */
function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .map(Number)
      .filter((pid) => Number.isInteger(pid));
  } catch {
    return [];
  }
}
