import { readdir, readFile } from 'node:fs/promises';
import { systemCode } from '../core/errors.ts';

/** Every worker carries it in its environment, and so does all that it starts, even what left its process group. */
export const WORKER_TAG = 'AGENTOS_WORKER';

/**
 * Ends what carries a tag that begins so, in this variable. Works where there is a /proc; elsewhere process groups have
 * to do.
 */
export async function endLeftovers(tagPrefix: string, variable: string = WORKER_TAG): Promise<void> {
  const wanted = Buffer.from(`${variable}=${tagPrefix}`);
  const names = await readdir('/proc').catch(() => [] as string[]);
  const pids = names.map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid);
  await Promise.all(
    pids.map(async (pid) => {
      const environment = await readFile(`/proc/${pid}/environ`).catch(() => null);
      if (environment !== null && startsEntry(environment, wanted)) end(pid);
    }),
  );
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error;
  }
}

function startsEntry(environment: Buffer, wanted: Buffer): boolean {
  for (let at = environment.indexOf(wanted); at !== -1; at = environment.indexOf(wanted, at + 1)) {
    if (at === 0 || environment[at - 1] === 0) return true;
  }
  return false;
}
