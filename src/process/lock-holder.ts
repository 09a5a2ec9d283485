import { readFileSync } from 'node:fs';
import { isProcessAlive, processStat } from './process-state.ts';

/** Who holds a lock file: a process number alone could belong to another process since. */
export interface LockHolder {
  pid: number;
  processStart: string | null;
  since: string;
}

export function ownHolder(): LockHolder {
  const start = processStat(process.pid)?.start;
  return {
    pid: process.pid,
    processStart: start === undefined ? null : String(start),
    since: new Date().toISOString(),
  };
}

/** Null: there is no such file, or nobody can read it. */
export function readHolder(path: string): LockHolder | null {
  try {
    const { pid, processStart, since } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
    const isHolder =
      Number.isInteger(pid) &&
      (pid as number) > 0 &&
      (processStart === null || typeof processStart === 'string') &&
      typeof since === 'string';
    return isHolder ? ({ pid, processStart, since } as LockHolder) : null;
  } catch {
    return null;
  }
}

export function isHolderAlive({ pid, processStart }: LockHolder): boolean {
  return isProcessAlive(pid, processStart === null ? null : Number(processStart));
}
