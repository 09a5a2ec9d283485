import { readlink, realpath } from 'node:fs/promises';
import { isInside } from '../core/paths.ts';
import { processIds, processStat } from './process-state.ts';

const MOST_LOOKS = 5;

/**
 * Ends what stands in this folder, began no earlier than this tick and has no terminal: what a program left behind with
 * neither its process group nor its environment. A person's shell has a terminal, and is never touched. Where there is
 * no /proc nothing happens.
 */
export async function endStrays(directory: string, since: number): Promise<void> {
  const folder = await realpath(directory).catch(() => directory);
  // What is being ended may have started another one meanwhile.
  for (let look = 0; look < MOST_LOOKS; look++) {
    const strays = await straysIn(folder, since);
    if (strays.length === 0) return;
    for (const pid of strays) end(pid);
  }
}

async function straysIn(folder: string, since: number): Promise<number[]> {
  const pids = processIds().filter((pid) => pid !== process.pid);
  const found = await Promise.all(pids.map((pid) => isStray(pid, folder, since)));
  return pids.filter((_, index) => found[index]);
}

async function isStray(pid: number, folder: string, since: number): Promise<boolean> {
  try {
    if (!isInside(folder, await readlink(`/proc/${pid}/cwd`))) return false;
    const stat = processStat(pid);
    return stat !== null && stat.terminal === 0 && stat.start >= since;
  } catch {
    // It is gone, or somebody else's.
    return false;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself, or is not ours to end.
  }
}
