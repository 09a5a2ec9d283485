import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import type { CommandSpec } from '../core/model-spec.ts';
import { NO_USAGE } from '../core/money.ts';
import { endTree, signalTree } from '../workspace/process-tree.ts';
import { type CallLimits, MAX_REPLY_BYTES, withinBounds } from './call-bounds.ts';
import { detailOf } from './detail.ts';
import { createLineReader } from './line-reader.ts';
import type { ModelRequest, Provider } from './port.ts';
import { promptText } from './prompt-text.ts';

export interface CommandOptions extends CallLimits {
  spec: CommandSpec;
  cwd: string;
  /** All that the command sees of the environment. */
  env: Readonly<Record<string, string>>;
  /** Each line that it writes to stderr. */
  onLine?: ((line: string) => void) | undefined;
  /** Told of the process group that a call runs in, so that somebody else can end it should this process die. */
  onGroup?: ((leader: number, ended: boolean) => void) | undefined;
}

/** A shell command as a model: the prompt on stdin, the reply on stdout. */
export function createCommandProvider({ spec, cwd, env, onLine, onGroup, ...limits }: CommandOptions): Provider {
  return {
    spec: spec.text,
    isModel: true,
    complete: (request) =>
      withinBounds({ what: spec.text, limits, signal: request.signal }, async ({ signal, alive }) => {
        const text = await run({ command: spec.command, cwd, env, onLine, onGroup, request, signal, alive });
        if (text.trim() === '')
          throw new AgentosError({ code: 'reply-empty', provider: spec.text }, { retry: 'transient' });
        return { text, asked: spec.text, answered: null, substituted: false, usage: NO_USAGE, metered: false };
      }),
  };
}

interface Run extends Pick<CommandOptions, 'cwd' | 'env' | 'onLine' | 'onGroup'> {
  command: string;
  request: ModelRequest;
  signal: AbortSignal;
  alive: () => void;
}

const KEPT_LINES = 20;
/** For output that is still in the pipe when the last process has ended. */
const DRAIN_MS = 1_000;

async function run({ command, cwd, env, onLine, onGroup, request, signal, alive }: Run): Promise<string> {
  const child = spawn('sh', ['-c', command], { cwd, env, detached: true, stdio: 'pipe' });
  if (child.pid !== undefined) onGroup?.(child.pid, false);
  // A command that doesn't read its prompt closes the pipe; its reply counts all the same.
  child.stdin.on('error', () => {});
  child.stdin.end(`${promptText([{ text: request.system }, ...request.parts])}\n`);

  const reply: Buffer[] = [];
  let bytes = 0;
  let tooLarge = false;
  const lastLines: string[] = [];
  const stderr = createLineReader((line) => {
    onLine?.(line);
    lastLines.push(line);
    if (lastLines.length > KEPT_LINES) lastLines.shift();
  });
  const life = (): void => {
    alive();
    request.onProgress?.({ outputChars: bytes });
  };
  let stopping: Promise<void> | null = null;
  const stop = (): void => {
    stopping ??= endTree(child.pid);
  };
  child.stdout.on('data', (piece: Buffer) => {
    if (tooLarge) return;
    reply.push(piece);
    bytes += piece.byteLength;
    life();
    tooLarge = bytes > MAX_REPLY_BYTES;
    if (tooLarge) stop();
  });
  child.stderr.on('data', (piece: Buffer) => {
    life();
    stderr.push(piece);
  });
  signal.addEventListener('abort', stop, { once: true });
  try {
    const { exitCode, exitSignal } = await ended(child, () => stopping);
    stderr.end();
    signal.throwIfAborted();
    if (tooLarge)
      throw new AgentosError({ code: 'reply-too-large', provider: `command:${command}`, limitBytes: MAX_REPLY_BYTES });
    const text = new TextDecoder().decode(Buffer.concat(reply));
    if (exitCode !== 0) throw failed(command, exitCode, exitSignal, lastLines.join(' ').trim() || text);
    return text;
  } finally {
    if (child.pid !== undefined) onGroup?.(child.pid, true);
    signal.removeEventListener('abort', stop);
  }
}

/** Resolves when the command has ended, nothing that it started is left, and its output was read. */
async function ended(
  child: ChildProcess,
  stopping: () => Promise<void> | null,
): Promise<{ exitCode: number | null; exitSignal: string | null }> {
  const closed = once(child, 'close');
  closed.catch(() => {});
  await once(child, 'exit').catch((error: unknown) => {
    const detail = detailOf(error instanceof Error ? error.message : String(error));
    const command = child.spawnargs.at(-1) ?? '';
    throw new AgentosError({ code: 'command-failed', command, exitCode: null, signal: null, detail }, { cause: error });
  });
  const orderly = stopping();
  if (orderly === null) signalTree(child.pid, 'SIGKILL');
  else await orderly;
  // A process that made itself independent of the group may hold the pipe open for ever.
  await Promise.race([closed, sleep(DRAIN_MS, undefined, { ref: false })]);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return { exitCode: child.exitCode, exitSignal: child.signalCode };
}

/** What the shell says when there is no such program, or it may not be run. */
const NEVER_RUNS = new Set([126, 127]);

function failed(command: string, exitCode: number | null, signal: string | null, said: string): AgentosError {
  // The end of what it said, because programs explain themselves last.
  const detail = detailOf(said.slice(-300));
  const retry = exitCode !== null && NEVER_RUNS.has(exitCode) ? 'permanent' : 'transient';
  return new AgentosError({ code: 'command-failed', command, exitCode, signal, detail }, { retry });
}
