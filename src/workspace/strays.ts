import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { isInside } from '../core/paths.ts';

const MOST_LOOKS = 5;

/** The tick of the machine's clock at which a process began; null where there is no /proc, or no such process. */
export function startOf(pid: number): number | null {
  try {
    return parse(readFileSync(`/proc/${pid}/stat`, 'utf8')).start;
  } catch {
    return null;
  }
}

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
  const names = await readdir('/proc').catch(() => [] as string[]);
  const pids = names.map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  const found = await Promise.all(pids.map((pid) => isStray(pid, folder, since)));
  return pids.filter((_, index) => found[index]);
}

async function isStray(pid: number, folder: string, since: number): Promise<boolean> {
  try {
    if (!isInside(folder, await readlink(`/proc/${pid}/cwd`))) return false;
    const { terminal, start } = parse(await readFile(`/proc/${pid}/stat`, 'utf8'));
    return terminal === 0 && start >= since;
  } catch {
    // It is gone, or somebody else's.
    return false;
  }
}

/** Fields 7 and 22. The command name before them may hold spaces and brackets. */
function parse(stat: string): { terminal: number; start: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { terminal: Number(fields[4]), start: Number(fields[19]) };
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself, or is not ours to end.
  }
}
