import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { isProcessAlive, processStat } from './process-state.ts';

const holderSchema = z.object({ pid: z.int().positive(), processStart: z.string().nullable(), since: z.string() });

/** Who holds a lock file: a process number alone could belong to another process since. */
export type LockHolder = z.infer<typeof holderSchema>;

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
    return holderSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

export function isHolderAlive({ pid, processStart }: LockHolder): boolean {
  return isProcessAlive(pid, processStart === null ? null : Number(processStart));
}
