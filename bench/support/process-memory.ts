import { readdirSync, readFileSync } from 'node:fs';

/**
 * What a process costs the machine: its private memory. Of what is resident, about 47 MB are pages of the node binary,
 * which every process of it shares: ten workers need them once. How they are divided by the kernel (PSS) depends on who
 * else runs node at the moment, so that is no figure to compare.
 */
export function privateOf(pid: number): number | null {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const parts = [...text.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].map(([, kb]) => Number(kb) * 1024);
    // While a process ends, its file can be read but is empty.
    return parts.length === 0 ? null : parts.reduce((sum, bytes) => sum + bytes, 0);
  } catch {
    return null;
  }
}

/** The workers of a run: children of the process whose command line names the worker program. */
export function workersOf(parent: number): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && isWorkerOf(pid, parent));
}

function isWorkerOf(pid: number, parent: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) !== parent) return false;
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('worker.js');
  } catch {
    return false;
  }
}
