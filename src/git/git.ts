import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { systemClock, type Timer } from '../core/clock.ts';
import { AgentosError, codeOf, systemCode } from '../core/errors.ts';
import { usersPath } from '../process/program.ts';
import { traced, withTraceparent } from '../telemetry/tracer.ts';

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

interface GitPlace {
  /** Explicit paths of repository, files and index, so that git does not search for them. */
  place?: Readonly<Partial<Record<'GIT_DIR' | 'GIT_WORK_TREE' | 'GIT_INDEX_FILE', string>>>;
  /** For every call. */
  settings?: readonly GitSetting[];
}

/**
 * Git in one directory. Every call is bounded in time, never asks a question, takes no optional lock (so that it can't
 * disturb the user's own git), and sees only the environment it is given. A repository's settings make it run no program
 * but Git LFS: no hook, no monitor of the file system, no filter or merge driver, and no fetch of objects that are missing.
 */
export function createGit(
  directory: string,
  env: Record<string, string>,
  { place = {}, settings = [] }: GitPlace = {},
): Git {
  const always = { GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', GIT_NO_LAZY_FETCH: '1', LC_ALL: 'C' };
  const environment = { ...withoutLocation(env), PATH: usersPath(env['PATH']), ...place, ...always };

  const run = (args: string[], options: GitRunOptions = {}): Promise<Buffer> =>
    traced(`git ${verbOf(args)}`, {}, async () => {
      const off = RUNS_DRIVERS.has(verbOf(args)) ? await driversOff(place.GIT_DIR ?? directory, runGit) : [];
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
    const { input, timeoutMs = TIMEOUT_MS, signal, orEndsWith, atMostBytes } = options;
    return new Promise((resolve, reject) => {
      const child = execFile(
        'git',
        [...SETTINGS, ...args],
        {
          cwd: directory,
          env: environmentWith(settingsNow, options),
          encoding: 'buffer',
          maxBuffer: atMostBytes ?? LARGEST_OUTPUT_BYTES,
          killSignal: 'SIGKILL',
          ...(signal === undefined ? {} : { signal }),
        },
        (error, stdout, stderr) => {
          timer.stop();
          const isCut = atMostBytes !== undefined && stdout.length >= atMostBytes;
          if (signal?.aborted) reject(signal.reason);
          else if (error === null || error.code === orEndsWith || isCut) resolve(stdout);
          else {
            const said = stderr.toString('utf8').trim().split('\n')[0];
            if (typeof error.code === 'number') reject(failure(args, error.code, said || 'it said nothing'));
            else
              reject(failure(args, null, said || (error.signal ? `ended by ${error.signal}` : error.message), error));
          }
        },
      );
      // A timer of our own: execFile's counts time during which the machine sleeps.
      const timer = systemClock.timer(timeoutMs, () => child.kill('SIGKILL'));
      // Git may end before it has read its input. Its exit code says whether it failed.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
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

/** The settings whose names match, of all that git reads, or of one file. */
export async function settingsOf(git: Git, pattern: string, file: string | null): Promise<GitSetting[]> {
  const where = file === null ? [] : ['--file', file];
  const listing = (await git.answer(['config', ...where, '--null', '--get-regexp', pattern])) ?? '';
  return listing
    .split('\0')
    .filter(Boolean)
    .map((entry) => {
      const end = entry.indexOf('\n');
      return end === -1 ? [entry, 'true'] : [entry.slice(0, end), entry.slice(end + 1)];
    });
}

/** Commands that read or write files of a checkout, or merge. */
const RUNS_DRIVERS: ReadonlySet<string> = new Set(
  'add checkout-index diff diff-files merge-tree read-tree reset status submodule update-index'.split(' '),
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

export interface GitObject {
  id: string;
  type: string;
  content: Buffer;
}

type Batch = ChildProcessByStdio<Writable, Readable, null>;

interface Question {
  resolve: (object: GitObject | null) => void;
  reject: (error: unknown) => void;
}

const IDLE_MS = 5_000;
const HEADER = /^([0-9a-f]+) (\w+) (\d+)$/;

/**
 * Reads objects with one `git cat-file --batch`, which answers in the order of the questions. It starts at the first question and
 * ends after a while without any. It does not keep this process alive, and ends with it, because its input is closed then.
 */
function createObjectReader(start: () => Batch, failed: (cause: unknown) => Error): Git['object'] {
  let ask: ((name: string, question: Question) => void) | null = null;
  return (name) =>
    new Promise((resolve, reject) => {
      // Git would read two names.
      if (name.includes('\n')) return resolve(null);
      ask ??= openBatch(start(), failed, () => {
        ask = null;
      });
      ask(name, { resolve, reject });
    });
}

function openBatch(
  child: Batch,
  failed: (cause: unknown) => Error,
  onClose: () => void,
): (name: string, question: Question) => void {
  const { stdin, stdout } = child;
  const questions: Question[] = [];
  let timeout: Timer | null = null;
  let isOpen = true;
  const close = (): void => {
    if (isOpen) onClose();
    isOpen = false;
    clearTimeout(idle);
    timeout?.stop();
    stdin.end();
  };
  const idle = setTimeout(() => (questions.length === 0 ? close() : idle.refresh()), IDLE_MS).unref();
  const fail = (cause: unknown): void => {
    close();
    for (const { reject } of questions.splice(0)) reject(failed(cause));
  };
  const answer = (object: GitObject | null): void => {
    questions.shift()?.resolve(object);
    idle.refresh();
    timeout?.refresh();
    if (questions.length > 0) return;
    timeout?.stop();
    if (stdout instanceof Socket) stdout.unref();
  };
  let chunks: Buffer[] = [];
  let size = 0;
  /** Of an object whose content has not come yet; null: the next line is a header. */
  let header: { id: string; type: string; bytes: number } | null = null;
  stdout.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
    // An object may come in thousands of chunks, so they are joined when it is whole. A line break follows the content.
    while (size > (header?.bytes ?? 0)) {
      const [first = Buffer.alloc(0)] = chunks;
      const all = chunks.length === 1 ? first : Buffer.concat(chunks);
      const end = header === null ? all.indexOf('\n') : header.bytes;
      if (end < 0) break;
      if (header !== null) {
        answer({ id: header.id, type: header.type, content: all.subarray(0, end) });
        header = null;
      } else {
        const [, id = '', type = '', bytes] = HEADER.exec(all.toString('utf8', 0, end)) ?? [];
        if (bytes === undefined) answer(null);
        else header = { id, type, bytes: Number(bytes) };
      }
      chunks = [all.subarray(end + 1)];
      size -= end + 1;
    }
  });
  stdin.on('error', () => undefined);
  child.on('error', fail);
  child.on('close', (code) => fail(`ended with ${code ?? 'a signal'}`));
  child.unref();
  return (name, question) => {
    if (questions.push(question) === 1) {
      if (stdout instanceof Socket) stdout.ref();
      timeout = systemClock.timer(TIMEOUT_MS, () => child.kill('SIGKILL'));
    }
    stdin.write(`${name}\n`);
  };
}
