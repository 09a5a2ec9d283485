import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../core/clock.ts';
import { LONGEST_MS } from '../core/duration.ts';
import { systemCode } from '../core/errors.ts';
import { createLineReader } from '../core/lines.ts';
import { isInside } from '../core/paths.ts';
import { createOutputKeeper } from '../core/reason.ts';
import { withTraceparent } from '../telemetry/tracer.ts';
import { readText } from './files.ts';
import { endTagged, endTree, endUntagged, processStat, signalTree } from './process-tree.ts';
import type { Sandbox } from './sandbox/sandbox.ts';

export interface ProgramOptions {
  /** A string is for the shell; an array is a program and its arguments. */
  command: string | readonly string[];
  cwd: string;
  /** All that it sees of the environment. */
  env: Readonly<Record<string, string>>;
  /** What it runs in; absent: nothing holds it back. */
  sandbox?: Sandbox | undefined;
  /** Its standard input, whole or bit by bit; without it, there is none. */
  input?: string | Readable;
  /** Each line as it comes. */
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Hides secrets: a line that is passed on in pieces is not cut inside of one. */
  mask?: ((text: string) => string) | undefined;
  /** On every sign of life. */
  onProgress?: () => void;
  /** Its own timeout is bound enough: while it runs, silence is a sign of life too. */
  maySleep?: boolean;
  /** Called with its process group, so that another process can end it should this process die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
  /** Ends it, with all that it started; the promise is then rejected with the signal's reason. */
  signal: AbortSignal;
  timeoutMs: number;
  /** Of standard output, from its beginning; more is not kept (default 32 MB). */
  keepBytes?: number;
  /** A longer line of standard output comes in pieces. */
  longestLine?: number;
}

export interface ProgramEnd {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  /** There is no such program, or it may not be run. */
  missing: boolean;
  stdout: string;
  /** The first errors and the last lines of both streams. */
  tail: string;
  durationMs: number;
}

const KEEP_BYTES = 32 * 1024 * 1024;
/** What the shell says when there is no such program, or it may not be run. */
const NEVER_RUNS: ReadonlySet<number | null> = new Set([126, 127]);
/** For output that is still in the pipe when the last process has ended. */
const DRAIN_MS = 1_000;
const ALIVE_EVERY_MS = 1_000;

/**
 * Runs a program in a process group of its own. When it ends, so does everything that it left behind in the group.
 * How it ended is an answer, not an error; only the caller's signal rejects.
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramEnd> {
  const { cwd, input, sandbox, onLine, onProgress, onGroup, signal, timeoutMs } = options;
  signal.throwIfAborted();
  const startedAt = performance.now();
  const plain = {
    command: typeof options.command === 'string' ? ['sh', '-c', options.command] : options.command,
    cwd,
    env: withTraceparent(options.env),
  };
  const entered = sandbox?.enter(plain);
  const { command, env } = entered ?? plain;
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd,
    env,
    detached: true,
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', ...(entered?.stdio ?? [])],
  });
  entered?.started(child);
  if (child.pid !== undefined) onGroup?.(child.pid, false);
  // A program that doesn't read its input closes the pipe.
  child.stdin?.on('error', () => undefined);
  if (typeof input === 'object' && child.stdin !== null) input.pipe(child.stdin);
  else child.stdin?.end(input ?? '');

  const kept: Buffer[] = [];
  let bytes = 0;
  const tail = createOutputKeeper();
  const take = (stream: 'stdout' | 'stderr') => (line: string) => {
    onLine?.(line, stream);
    tail.push(line);
  };
  const readers = {
    stdout: createLineReader(take('stdout'), options.longestLine, options.mask),
    stderr: createLineReader(take('stderr'), undefined, options.mask),
  };
  child.stdout?.on('data', (piece: Buffer) => {
    if (bytes < (options.keepBytes ?? KEEP_BYTES)) kept.push(piece);
    bytes += piece.byteLength;
    onProgress?.();
    readers.stdout.push(piece);
  });
  child.stderr?.on('data', (piece: Buffer) => {
    onProgress?.();
    readers.stderr.push(piece);
  });

  const stopping: { done: Promise<void> | null } = { done: null };
  let timedOut = false;
  const stop = (): void => {
    stopping.done ??= endTree(child.pid, sandbox?.endsAll === true);
  };
  signal.addEventListener('abort', stop, { once: true });
  const timer = systemClock.timer(Math.min(timeoutMs, LONGEST_MS), () => {
    timedOut = true;
    stop();
  });
  const alive = options.maySleep === true ? setInterval(() => onProgress?.(), ALIVE_EVERY_MS) : undefined;
  try {
    // Not that of the child: with a channel for messages it would never come.
    const closed = Promise.all(
      [child.stdout, child.stderr].flatMap((stream) => (stream ? [once(stream, 'close')] : [])),
    );
    closed.catch(() => undefined);
    const failure = await once(child, 'exit').then(
      () => null,
      (error: unknown) => error,
    );
    if (stopping.done === null) signalTree(child.pid, 'SIGKILL');
    else await stopping.done;
    // A process that made itself independent of the group may hold the pipe open for ever.
    await Promise.race([closed.catch(() => undefined), sleep(DRAIN_MS, undefined, { ref: false })]);
    child.stdout?.destroy();
    child.stderr?.destroy();
    readers.stdout.end();
    readers.stderr.end();
    signal.throwIfAborted();
    const missing = failure === null ? NEVER_RUNS.has(child.exitCode) : systemCode(failure) !== null;
    return {
      // Node puts a negative number there when nothing was started.
      exitCode: failure === null ? child.exitCode : null,
      signal: child.signalCode,
      timedOut,
      missing,
      stdout: new TextDecoder().decode(Buffer.concat(kept)),
      tail: failure === null ? tail.text() : failure instanceof Error ? failure.message : 'it could not be started',
      durationMs: performance.now() - startedAt,
    };
  } finally {
    timer.stop();
    clearInterval(alive);
    if (child.pid !== undefined) onGroup?.(child.pid, true);
    signal.removeEventListener('abort', stop);
  }
}

/** Of one call of a command or an agent. */
const CALL_TAG = 'AGENTOS_CALL';

/**
 * A program whose every descendant carries a value of its own in a variable. What is left of them when it ends is ended too, also
 * what made itself independent of the process group, or even of its environment: it would keep changing files that are being
 * looked at.
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

/**
 * A program as it is started: a script that leaves it to the PATH to say what runs it gets that from outside of this folder, too.
 */
export async function interpreted(
  file: string,
  path: string | undefined,
  except: string,
): Promise<[file: string, ...args: string[]]> {
  const name = /^#!\s*\S*\/env\s+(?:-S\s+)?([\w.+-]+)\s*$/.exec(firstLineOf(file))?.[1];
  const program = name === undefined ? null : await findProgram(name, path, except);
  return program === null ? [file] : [program, file];
}

/** Empty for a program that is no text. */
function firstLineOf(file: string): string {
  try {
    return readText(file, null, 256)?.split('\n')[0] ?? '';
  } catch {
    return '';
  }
}

/** A relative folder on the PATH would mean another one in each place. */
function foldersOf(path: string | undefined): string[] {
  return (path ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
}

/** The PATH without folders of a repository: npm puts one first, where a stranger could have committed a program of any name. */
export function pathOutside(path: string | undefined, repository: string): string {
  const isUsers = (folder: string): boolean => !isInside(repository, folder) && !isInside(repository, realOf(folder));
  return foldersOf(path).filter(isUsers).join(delimiter);
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** The PATH for programs that we start for ourselves, also before the repository is known. */
export function usersPath(path: string | undefined): string {
  return foldersOf(path)
    .filter((folder) => !/\/node_modules\/\.bin\/*$/.test(folder))
    .join(delimiter);
}

/** Where the shell would find it; null: nowhere. `except`: a folder in which it is not looked for. */
export async function findProgram(
  name: string,
  path: string | undefined,
  except: string | null = null,
): Promise<string | null> {
  const outside = except === null ? null : realOf(except);
  const isLeftOut = (place: string): boolean => outside !== null && isInside(outside, realOf(place));
  const files = foldersOf(path).flatMap((folder) => (isLeftOut(folder) ? [] : [join(folder, name)]));
  return files.find((file) => !isLeftOut(file) && isProgram(file)) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
