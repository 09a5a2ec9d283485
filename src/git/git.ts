import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { traced, withTraceparent } from '../telemetry/tracer.ts';

const TIMEOUT_MS = 60_000;
const LARGEST_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface GitRunOptions {
  input?: string | Buffer;
  /** On top of what git sees anyway. */
  env?: Readonly<Record<string, string>>;
  /** Default: a minute. */
  timeoutMs?: number;
  /** Ends git; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** An exit code other than 0 that is an answer too, not a failure. */
  orEndsWith?: number;
  /** Enough is enough: git is ended when it has printed this much, and that is the answer. */
  atMostBytes?: number;
}

export interface Git {
  readonly directory: string;
  run(args: string[], options?: GitRunOptions): Promise<Buffer>;
  text(args: string[], options?: GitRunOptions): Promise<string>;
}

/** Which repository, whose files and which index, said outright: git then never looks around for them. */
export interface GitBinding {
  gitDir: string;
  workTree: string;
  indexFile: string;
}

/**
 * Git in one directory. Every call is bounded in time, never asks a question, takes no optional lock (so that it can't
 * disturb the user's own git), and sees only the environment it is given.
 */
export function createGit(directory: string, env: Record<string, string>, binding?: GitBinding): Git {
  const place: Record<string, string> = binding
    ? { GIT_DIR: binding.gitDir, GIT_WORK_TREE: binding.workTree, GIT_INDEX_FILE: binding.indexFile }
    : {};
  const always = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
  const environment = { ...withoutLocation(env), ...place, ...always };

  const run = (args: string[], options: GitRunOptions = {}): Promise<Buffer> =>
    traced(`git ${verbOf(args)}`, {}, () => runGit(args, options));

  function runGit(args: string[], options: GitRunOptions): Promise<Buffer> {
    const atMostBytes = options.atMostBytes ?? Number.POSITIVE_INFINITY;
    const failed = (exitCode: number | null, detail: string, cause?: unknown): AgentosError =>
      new AgentosError(
        { code: 'git-failed', command: `git ${args.join(' ')}`, exitCode, detail: withoutLogins(detail) },
        { cause },
      );
    return new Promise((resolve, reject) => {
      const child = spawn('git', ['-c', 'core.quotePath=false', '-c', 'core.fsmonitor=false', ...args], {
        cwd: directory,
        env: withTraceparent({ ...environment, ...options.env }),
        stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
      // A timer of our own: spawn's keeps running to its end when there is no such program.
      const timer = systemClock.timer(options.timeoutMs ?? TIMEOUT_MS, () => child.kill('SIGKILL'));
      const stop = (): void => void child.kill('SIGKILL');
      options.signal?.addEventListener('abort', stop, { once: true });
      if (options.signal?.aborted) stop();
      const out: Buffer[] = [];
      let size = 0;
      let errors = '';
      child.stdout.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > LARGEST_OUTPUT_BYTES) child.kill('SIGKILL');
        else out.push(chunk);
        if (size >= atMostBytes) child.kill('SIGKILL');
      });
      child.stderr.on('data', (chunk: Buffer) => {
        if (errors.length < 4_000) errors += chunk.toString('utf8');
      });
      // Git may end before it has read its input; its exit code tells.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(options.input);
      child.on('error', (error) => {
        timer.stop();
        const missing = systemCode(error) === 'ENOENT';
        reject(
          missing ? new AgentosError({ code: 'git-missing' }, { cause: error }) : failed(null, String(error), error),
        );
      });
      child.on('close', (code, signal) => {
        timer.stop();
        options.signal?.removeEventListener('abort', stop);
        if (options.signal?.aborted) reject(options.signal.reason);
        else if (code === 0 || code === options.orEndsWith || size >= atMostBytes) resolve(Buffer.concat(out));
        else reject(failed(code, errors.trim().split('\n')[0] || `ended by ${signal ?? 'an unknown cause'}`));
      });
    });
  }

  return { directory, run, text: async (args, options) => (await run(args, options)).toString('utf8').trimEnd() };
}

/** The URL of a remote may hold a password. */
function withoutLogins(text: string): string {
  return text.replace(/(?<=:\/\/)[^@/\s]*@/g, '');
}

/** What git is asked to do, without the settings in front of it. */
function verbOf(args: readonly string[]): string {
  let at = 0;
  while (args[at] === '-c') at += 2;
  return args[at] ?? '';
}

/** Set in hooks, these would send every call to another repository than the directory it runs in. */
function withoutLocation(env: Record<string, string>): Record<string, string> {
  const { GIT_DIR: _, GIT_WORK_TREE: __, GIT_INDEX_FILE: ___, GIT_COMMON_DIR: ____, GIT_PREFIX: _____, ...rest } = env;
  return rest;
}
