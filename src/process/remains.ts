import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readlink, realpath } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isInside } from '../core/paths.ts';
import { isProcessAlive, processIds, processStat } from './process-tree.ts';
import { type ProgramEnd, type ProgramOptions, runProgram } from './program.ts';

/**
 * A program whose every descendant carries a value of its own in a variable. What is left of them when it ends is ended
 * too, also what made itself independent of the process group, or even of its environment: it would keep changing files
 * that are being looked at.
 */
export async function runTaggedProgram(program: ProgramOptions): Promise<ProgramEnd> {
  if (program.sandbox?.endsAll) return runProgram(program);
  const tag = randomUUID();
  let began: number | null = null;
  const onGroup = (leader: number, ended: boolean): void => {
    if (!ended) began = processStat(leader)?.start ?? null;
    program.onGroup?.(leader, ended);
  };
  try {
    return await runProgram({ ...program, onGroup, env: { ...program.env, [CALL_TAG]: tag } });
  } finally {
    await endTagged(tag, CALL_TAG);
    if (began !== null) await endUntagged(program.cwd, began);
  }
}

/** Of one call of a command or an agent. */
const CALL_TAG = 'AGENTOS_CALL';

/** Every worker carries it in its environment, and so does all that it starts, even what left its process group. */
export const WORKER_TAG = 'AGENTOS_WORKER';

const LONGEST_END_MS = 1_000;
const LOOK_EVERY_MS = 5;

/**
 * Ends what carries a tag that begins so, in this variable, and waits until it is gone. Works where there is a /proc;
 * elsewhere process groups have to do.
 */
export async function endTagged(tagPrefix: string, variable: string = WORKER_TAG): Promise<void> {
  const wanted = Buffer.from(`${variable}=${tagPrefix}`);
  // Not by the thread pool: a killed run of ten workers would put thousands of small reads before its summary.
  const tagged = processIds().filter((pid) => pid !== process.pid && startsEntry(environmentOf(pid), wanted));
  await Promise.all(tagged.map(endAndWait));
}

/** Empty where it is gone, or another user's. */
function environmentOf(pid: number): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0);
  }
}

async function endAndWait(pid: number): Promise<void> {
  end(pid);
  const until = performance.now() + LONGEST_END_MS;
  while (isProcessAlive(pid) && performance.now() < until) await sleep(LOOK_EVERY_MS);
}

function startsEntry(environment: Buffer, wanted: Buffer): boolean {
  for (let at = environment.indexOf(wanted); at !== -1; at = environment.indexOf(wanted, at + 1)) {
    if (at === 0 || environment[at - 1] === 0) return true;
  }
  return false;
}

const MOST_LOOKS = 5;

/**
 * Ends what stands in this folder, began no earlier than this tick and has no terminal: what a program left behind with
 * neither its process group nor its environment. A person's shell has a terminal, and is never touched. Where there is
 * no /proc nothing happens.
 */
export async function endUntagged(directory: string, since: number): Promise<void> {
  const folder = await realpath(directory).catch(() => directory);
  // What is being ended may have started another one meanwhile.
  for (let look = 0; look < MOST_LOOKS; look++) {
    const found = await untaggedIn(folder, since);
    if (found.length === 0) return;
    for (const pid of found) end(pid);
  }
}

async function untaggedIn(folder: string, since: number): Promise<number[]> {
  const pids = processIds().filter((pid) => pid !== process.pid);
  const found = await Promise.all(pids.map((pid) => isUntagged(pid, folder, since)));
  return pids.filter((_, index) => found[index]);
}

async function isUntagged(pid: number, folder: string, since: number): Promise<boolean> {
  try {
    if (!isInside(folder, await readlink(`/proc/${pid}/cwd`))) return false;
    const stat = processStat(pid);
    return stat !== null && stat.terminal === 0 && stat.start >= since;
  } catch {
    // It is gone, or another user's.
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
