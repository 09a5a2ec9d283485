import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemCode } from '../core/errors.ts';
import { isProcessAlive, processIds } from './process-state.ts';

/** Every worker carries it in its environment, and so does all that it starts, even what left its process group. */
export const WORKER_TAG = 'AGENTOS_WORKER';

const LONGEST_END_MS = 1_000;
const LOOK_EVERY_MS = 5;

/**
 * Ends what carries a tag that begins so, in this variable, and waits until it is gone. Works where there is a /proc;
 * elsewhere process groups have to do.
 */
export async function endLeftovers(tagPrefix: string, variable: string = WORKER_TAG): Promise<void> {
  const wanted = Buffer.from(`${variable}=${tagPrefix}`);
  // Not by the thread pool: a killed run of ten workers would put thousands of small reads before its summary.
  const tagged = processIds().filter((pid) => pid !== process.pid && startsEntry(environmentOf(pid), wanted));
  await Promise.all(tagged.map(end));
}

/** Empty where it is gone, or somebody else's. */
function environmentOf(pid: number): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0);
  }
}

async function end(pid: number): Promise<void> {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
  const until = performance.now() + LONGEST_END_MS;
  while (isProcessAlive(pid) && performance.now() < until) await sleep(LOOK_EVERY_MS);
}

function startsEntry(environment: Buffer, wanted: Buffer): boolean {
  for (let at = environment.indexOf(wanted); at !== -1; at = environment.indexOf(wanted, at + 1)) {
    if (at === 0 || environment[at - 1] === 0) return true;
  }
  return false;
}
