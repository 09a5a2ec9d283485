import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory in bytes, as the kernel counts it; null: the process is gone. */
export function rssOf(pid: number): number | null {
  return kilobytes(pid, /^VmRSS:\s+(\d+) kB/m);
}

/** The most that was ever resident. */
export function peakRssOf(pid: number): number | null {
  return kilobytes(pid, /^VmHWM:\s+(\d+) kB/m);
}

function kilobytes(pid: number, field: RegExp): number | null {
  try {
    const found = field.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return found === undefined ? null : Number(found) * 1024;
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
