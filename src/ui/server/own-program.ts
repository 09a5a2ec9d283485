import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../process/own-process.ts';
import { readRecord, runIds } from '../../run/history/run-files.ts';
import type { Project } from '../../run/project.ts';

/** Another process of this program, started as a user would start it in the repository. */
interface OwnProgram {
  /** Resolves with its output when it has ended. */
  output: Promise<Output>;
  pid: number | undefined;
  startedAt: string;
}

interface Output {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

const MOST_CHARS = 8 << 20;

/**
 * In its own session, so it outlives us and ignores Ctrl+C in our terminal. Its output after our end is lost, which does it no
 * harm.
 */
export function startOwnProgram(
  args: readonly string[],
  project: Project,
  { withOutput }: { withOutput: boolean },
): OwnProgram {
  const startedAt = new Date().toISOString();
  const child = spawn(process.execPath, [join(packageRoot(), 'dist', 'cli.js'), ...args], {
    cwd: project.paths.repository,
    env: project.env as NodeJS.ProcessEnv,
    detached: true,
    stdio: ['ignore', withOutput ? 'pipe' : 'ignore', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (stdout.length < MOST_CHARS) stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < MOST_CHARS) stderr += text;
  });
  const output = new Promise<Output>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
  output.catch(() => undefined);
  child.unref();
  return { output, pid: child.pid, startedAt };
}

const LOOK_EVERY_MS = 50;

/** The run that the process has started; null: it ended without starting one, and its output says why. */
export async function runBegunBy({ pid, output, startedAt }: OwnProgram, { paths }: Project): Promise<string | null> {
  let hasEnded = false;
  output.then(
    () => (hasEnded = true),
    () => (hasEnded = true),
  );
  for (;;) {
    const isLast = hasEnded;
    for (const runId of (await runIds(paths)).slice(0, 3)) {
      const record = await readRecord(paths, runId);
      if (record !== null && record.pid === pid && record.startedAt >= startedAt) return runId;
    }
    if (isLast) return null;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
