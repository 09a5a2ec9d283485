import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import { runProgram } from './program.ts';
import { goSetup, nodeSetup, pythonSetup, rustSetup, type SetupFolder } from './setup-detection.ts';

/** What prepares a fresh worktree, by the files that say so; null: there is nothing to prepare. */
export async function detectSetup(directory: string): Promise<string | null> {
  const names = new Set(await readdir(directory).catch(() => [] as string[]));
  const folder: SetupFolder = {
    names,
    read: (name) => readFile(join(directory, name), 'utf8').catch(() => ''),
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

/** Runs it to its end. A failure stays one until a person does something; running out of time may pass. */
export async function runSetup({ command, directory, env, timeoutMs, signal, ...watch }: SetupOptions): Promise<void> {
  const end = await runProgram({ command, cwd: directory, env, timeoutMs, signal, ...watch });
  if (end.exitCode === 0 && !end.timedOut) return;
  const last = end.tail.trim().split('\n').slice(-DETAIL_LINES).join(' | ');
  const detail = end.timedOut
    ? `it was not done after ${Math.round(timeoutMs / 1_000)} s${last ? `: ${last}` : ''}`
    : last || (end.signal === null ? 'it said nothing' : `ended by ${end.signal}`);
  throw new AgentosError(
    { code: 'setup-failed', command, exitCode: end.exitCode, detail },
    { retry: end.timedOut ? 'transient' : 'permanent' },
  );
}
