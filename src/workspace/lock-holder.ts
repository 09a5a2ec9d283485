import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { systemCode } from '../core/errors.ts';

const holderSchema = z.object({ pid: z.int(), processStart: z.string().nullable(), since: z.string() });

/** Who holds a lock file: a process number alone could belong to another process since. */
export type LockHolder = z.infer<typeof holderSchema>;

export function ownHolder(): LockHolder {
  return { pid: process.pid, processStart: processStart(process.pid), since: new Date().toISOString() };
}

/** Null: there is no such file, or nobody can read it. */
export function readHolder(path: string): LockHolder | null {
  try {
    return holderSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

export function isHolderAlive(holder: LockHolder): boolean {
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
