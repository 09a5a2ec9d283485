import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { systemClock } from '../core/clock.ts';
import { AgentosError, codeOf, systemCode } from '../core/errors.ts';
import { usersPath } from '../process/program.ts';
import { traced, withTraceparent } from '../telemetry/tracer.ts';
import { createObjectReader, type GitObject } from './object-reader.ts';

const TIMEOUT_MS = 60_000;
const LARGEST_OUTPUT_BYTES = 256 * 1024 * 1024;

export interface GitRunOptions {
  input?: string | Buffer;
  /** Additional variables. */
  env?: Readonly<Record<string, string>>;
  /** Default: a minute. */
  timeoutMs?: number;
  /** Git may use the network. */
  isNetworked?: boolean;
  /** Ends git; the promise is then rejected with the signal's reason. */
  signal?: AbortSignal;
  /** Another exit code that is not a failure. */
  orEndsWith?: number;
  /** Git is killed when it has printed this much, which is not a failure. */
  atMostBytes?: number;
}

export interface Git {
  readonly directory: string;
  run(args: string[], options?: GitRunOptions): Promise<Buffer>;
  text(args: string[], options?: GitRunOptions): Promise<string>;
  /** For questions that git answers with its exit code: null if git fails. Rejects if it can't be run. */
  answer(args: string[], options?: GitRunOptions): Promise<string | null>;
  hasCommit(commit: string): Promise<boolean>;
  /** An object by any name that git accepts, such as `HEAD:src`; null if there is none. One git process reads many. */
  object(name: string): Promise<GitObject | null>;
}

/** Explicit paths of repository, files and index, so that git does not search for them. */
export interface GitBinding {
  gitDir: string;
  workTree: string;
  indexFile: string;
}

/**
 * Git in one directory. Every call is bounded in time, never asks a question, takes no optional lock (so that it can't
 * disturb the user's own git), and sees only the environment it is given. A repository's settings make it run no program
 * but Git LFS: no hook, no monitor of the file system, no filter or merge driver, and no fetch of objects that are missing.
 */
export function createGit(
  directory: string,
  env: Record<string, string>,
  binding?: GitBinding,
  settings: readonly GitSetting[] = [],
): Git {
  const place: Record<string, string> = binding
    ? { GIT_DIR: binding.gitDir, GIT_WORK_TREE: binding.workTree, GIT_INDEX_FILE: binding.indexFile }
    : {};
  const always = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' };
  const environment = { ...withoutLocation(env), PATH: usersPath(env['PATH']), ...place, ...always };

  const run = (args: string[], options: GitRunOptions = {}): Promise<Buffer> =>
    traced(`git ${verbOf(args)}`, {}, async () => {
      const off = RUNS_DRIVERS.has(verbOf(args)) ? await driversOff(place['GIT_DIR'] ?? directory, runGit) : [];
      return runGit(args, options, [...off, ...settings]);
    });

  const failure = (args: string[], exitCode: number | null, detail: string, cause?: unknown): AgentosError =>
    systemCode(cause) === 'ENOENT'
      ? new AgentosError({ code: 'git-missing' }, { cause })
      : new AgentosError(
          { code: 'git-failed', command: `git ${args.join(' ')}`, exitCode, detail: withoutLogins(detail) },
          { cause },
        );
  const environmentWith = (settingsNow: readonly GitSetting[], options: GitRunOptions): Record<string, string> =>
    withTraceparent({
      ...withSettings(environment, settingsNow),
      // The first is for a git that does not know GIT_NO_LAZY_FETCH; of the others none runs a program that an address names.
      GIT_ALLOW_PROTOCOL: options.isNetworked ? 'file:git:http:https:ssh' : 'none',
      ...options.env,
    });
  const batch = ['cat-file', '--batch'];
  const object = createObjectReader(
    () =>
      spawn('git', [...SETTINGS, ...batch], {
        cwd: directory,
        env: environmentWith(settings, {}),
        stdio: ['pipe', 'pipe', 'ignore'],
      }),
    (cause) => failure(batch, null, String(cause), cause),
  );

  function runGit(args: string[], options: GitRunOptions, settingsNow: readonly GitSetting[] = []): Promise<Buffer> {
    const atMostBytes = options.atMostBytes ?? Number.POSITIVE_INFINITY;
    return new Promise((resolve, reject) => {
      const child = spawn('git', [...SETTINGS, ...args], {
        cwd: directory,
        env: environmentWith(settingsNow, options),
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
      // Git may end before it has read its input. Its exit code says whether it failed.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(options.input);
      child.on('error', (error) => {
        timer.stop();
        reject(failure(args, null, String(error), error));
      });
      child.on('close', (code, signal) => {
        timer.stop();
        options.signal?.removeEventListener('abort', stop);
        if (options.signal?.aborted) reject(options.signal.reason);
        else if (code === 0 || code === options.orEndsWith || size >= atMostBytes) resolve(Buffer.concat(out));
        else reject(failure(args, code, errors.trim().split('\n')[0] || `ended by ${signal ?? 'an unknown cause'}`));
      });
    });
  }

  const text: Git['text'] = async (args, options) => (await run(args, options)).toString('utf8').trimEnd();
  const answer: Git['answer'] = (args, options) =>
    text(args, options).catch((error: unknown) => {
      if (codeOf(error) !== 'git-failed') throw error;
      return null;
    });
  const hasCommit = async (commit: string): Promise<boolean> =>
    (await answer(['cat-file', '-e', `${commit}^{commit}`])) !== null;
  return { directory, run, text, answer, hasCommit, object };
}

const SETTINGS = [
  'core.quotePath=false',
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'log.showSignature=false',
].flatMap((setting) => ['-c', setting]);

export type GitSetting = readonly [name: string, value: string];

/** Like `-c`, but for any name, and inherited by the programs that git starts. */
export function withSettings(
  env: Readonly<Record<string, string>>,
  settings: readonly GitSetting[],
): Record<string, string> {
  const there = Number(env['GIT_CONFIG_COUNT'] ?? 0) || 0;
  const added = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${there + index}`, name],
    [`GIT_CONFIG_VALUE_${there + index}`, value],
  ]);
  return { ...env, ...Object.fromEntries(added), GIT_CONFIG_COUNT: String(there + settings.length) };
}

/** Commands that read or write files of a checkout, or merge. */
const RUNS_DRIVERS: ReadonlySet<string> = new Set(
  'add checkout-index diff diff-files merge-tree read-tree status submodule update-index worktree'.split(' '),
);

const DRIVERS = String.raw`^(filter\..*\.(clean|smudge|process)|merge\..*\.driver)$`;

/** By git's folder; read once per process. */
const drivers = new Map<string, Promise<readonly GitSetting[]>>();

/** Settings that turn off all configured filters and merge drivers. */
function driversOff(
  folder: string,
  run: (args: string[], options: GitRunOptions) => Promise<Buffer>,
): Promise<readonly GitSetting[]> {
  const known =
    drivers.get(folder) ??
    // Exit code 1: none is set.
    run(['config', '--null', '--name-only', '--get-regexp', DRIVERS], {}).then(settingsAgainst, () => []);
  drivers.set(folder, known);
  return known;
}

function settingsAgainst(listing: Buffer): GitSetting[] {
  const names = new Set(listing.toString('utf8').split('\0').filter(Boolean));
  return [...names].flatMap((name): GitSetting[] =>
    name.startsWith('merge.')
      ? [[name, 'git merge-file --marker-size=%L %A %O %B']]
      : [
          [name, ''],
          [name.replace(/\.[a-z]+$/, '.required'), 'false'],
        ],
  );
}

/** The URL of a remote may hold a password. */
function withoutLogins(text: string): string {
  return text.replace(/(?<=:\/\/)[^@/\s]*@/g, '');
}

/** The git command, without the settings before it. */
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
