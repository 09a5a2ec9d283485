import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const PROJECT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** Another build can be attacked with the same tests. */
const PROGRAM = process.env['AGENTOS_PROGRAM'] ?? join(PROJECT, 'bin', 'agentos');

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface Started {
  child: ChildProcess;
  stdout: () => string;
  ended: Promise<Ended>;
  /** Resolves when the text was printed; rejects when the program ended without it. */
  printed: (text: string) => Promise<void>;
}

export interface ProgramOptions {
  cwd: string;
  env?: Record<string, string>;
  /** A command that the program is started by, e.g. `unshare`. */
  under?: string[];
}

/** For models and implementers that write down how they were called: in a sandbox they could not. */
export const WITHOUT_SANDBOX: readonly string[] = ['--sandbox', 'off'];

/** Only what a program needs: the developer's own keys and settings must not reach a test. */
function cleanEnv(more: Record<string, string> = {}): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent-home', LANG: 'C.UTF-8', ...more };
}

/** The built program as users start it. */
export function startAgentos(args: string[], { cwd, env, under = [] }: ProgramOptions): Started {
  const [command = PROGRAM, ...words] = [...under, PROGRAM, ...args];
  const child = spawn(command, words, { cwd, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }) as Ended);
  const printed = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stdout.includes(text) || stderr.includes(text)) resolve();
      };
      child.stdout?.on('data', look);
      child.stderr?.on('data', look);
      look();
      void ended.then(() => reject(new Error(`ended without printing "${text}":\n${stdout}\n${stderr}`)));
    });
  return { child, stdout: () => stdout, ended, printed };
}

export function agentos(args: string[], options: ProgramOptions): Promise<Ended> {
  return startAgentos(args, options).ended;
}
