import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../core/errors.ts';
import { isGroupAlive } from './process-state.ts';

/*
 * Ending a process together with everything it started: the one place that knows how the platforms differ. On POSIX the
 * leader was started detached, so its id is the id of a group; Windows has no groups, and taskkill walks the tree.
 */

const GRACE_MS = 2_000;
const LOOK_EVERY_MS = 20;
const isWindows = process.platform === 'win32';

/** Asks every process of the tree to end, and after a grace ends those that did not. Resolves when none is left. */
export async function endTree(leader: number | undefined, graceMs = GRACE_MS): Promise<void> {
  signalTree(leader, 'SIGTERM');
  const end = performance.now() + graceMs;
  // A shell is often gone long before the program it started: only a group in which nothing runs is done.
  while (leader !== undefined && signalTree(leader, 0) && isGroupAlive(leader) && performance.now() < end)
    await sleep(LOOK_EVERY_MS);
  signalTree(leader, 'SIGKILL');
}

/** Whether there was anybody to receive it. */
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
