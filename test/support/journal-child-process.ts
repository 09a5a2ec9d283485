import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('journal-child.ts', import.meta.url));

export type Moment = 'none' | 'between' | 'in-flight' | 'answered';

/** Where the child finds the journal: the kind and the location that `journal-child.ts` takes. */
export type ChildTarget = [kind: string, location: string];

/** Runs the child until it ended; at the moments at which it waits, it is killed with SIGKILL. */
export async function runChild(target: ChildTarget, runs: string, moment: Moment): Promise<void> {
  const child = startChild(target, runs, moment);
  if (moment === 'between' || moment === 'in-flight') {
    await child.ready;
    child.process.kill('SIGKILL');
  }
  const { code, signal } = await child.ended;
  const expected = moment === 'none' ? code === 0 : signal === 'SIGKILL';
  if (!expected) throw new Error(`the child ended with ${code ?? signal}: ${child.errors()}`);
}

export interface RunningChild {
  process: ChildProcess;
  /** Resolves when the child waits at its moment. */
  ready: Promise<unknown>;
  ended: Promise<{ code: number | null; signal: string | null }>;
  errors: () => string;
}

export function startChild(target: ChildTarget, runs: string, moment: Moment): RunningChild {
  const child = spawn(process.execPath, [program, ...target, runs, moment], { stdio: ['pipe', 'pipe', 'pipe'] });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const ready = Promise.race([
    once(child.stdout, 'data'),
    ended.then(() => Promise.reject(new Error(`the child ended before it was ready: ${errors}`))),
  ]);
  // Not everybody waits for it.
  ready.catch(() => {});
  return { process: child, ready, ended, errors: () => errors };
}

export function readRuns(file: string): string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}
