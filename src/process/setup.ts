import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { errorLines } from '../core/lines.ts';
import { runProgram } from './program.ts';
import { goSetup, nodeSetup, pythonSetup, rustSetup, type SetupFolder } from './setup-detection.ts';

/**
 * What prepares a worktree, by the files that say so; null: there is nothing to prepare. `updated`: manifests were changed,
 * and lock files are to follow them.
 */
export async function detectSetup(directory: string, locks: 'frozen' | 'updated' = 'frozen'): Promise<string | null> {
  const names = new Set(await readdir(directory).catch(() => [] as string[]));
  const folder: SetupFolder = {
    names,
    read: (name) => readFile(join(directory, name), 'utf8').catch(() => ''),
    updatesLocks: locks === 'updated',
  };
  const commands: string[] = [];
  for (const detect of [nodeSetup, pythonSetup, goSetup, rustSetup]) {
    const command = await detect(folder);
    if (command !== null) commands.push(command);
  }
  return commands.length === 0 ? null : commands.join(' && ');
}

export interface SetupOptions {
  command: string;
  directory: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
  signal: AbortSignal;
  onLine?: (line: string, stream: 'stdout' | 'stderr') => void;
  onProgress?: () => void;
  onGroup?: (leader: number, ended: boolean) => void;
}

const DETAIL_LINES = 5;
/** Of its output: what went wrong is said near its end, but hints and updates may come after it. */
const KEPT_LINES = 400;

/** Runs it to its end. A failure stays one until a person does something; running out of time may pass. */
export async function runSetup({ command, directory, env, timeoutMs, signal, ...watch }: SetupOptions): Promise<void> {
  const lines: string[] = [];
  const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
    watch.onLine?.(line, stream);
    lines.push(line);
    if (lines.length > KEPT_LINES) lines.shift();
  };
  const end = await runProgram({ command, cwd: directory, env, timeoutMs, signal, ...watch, onLine });
  if (end.exitCode === 0 && !end.timedOut) return;
  const said = errorLines(lines.length === 0 ? end.tail : lines.join('\n'), DETAIL_LINES)
    .map((line) => line.trim())
    .join(' | ');
  const detail = end.timedOut
    ? `it was not done after ${Math.round(timeoutMs / 1_000)} s${said ? `: ${said}` : ''}`
    : said || (end.signal === null ? 'it said nothing' : `ended by ${end.signal}`);
  throw new AgentosError(
    { code: 'setup-failed', command, exitCode: end.exitCode, detail },
    { retry: end.timedOut ? 'transient' : 'permanent' },
  );
}
