import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** A program that runs the same command several times at once and marks each line with its origin. */
export interface Contestant {
  readonly file: string;
  readonly args: (command: string, count: number) => string[];
}

/** Why a peer can't take part here. */
export interface Absence {
  readonly absent: string;
}

const RUN_LIMIT_MS = 120_000;
const INSTALL_LIMIT_MS = 60_000;

export function gnuParallel(): Contestant | Absence {
  const file = 'parallel';
  const { stdout } = spawnSync(file, ['--version'], { encoding: 'utf8' });
  if (!stdout?.startsWith('GNU parallel')) return { absent: 'GNU parallel is not installed' };
  return {
    file,
    args: (command, count) => ['--jobs', `${count}`, '--line-buffer', '--tag', ':::', ...repeated(command, count)],
  };
}

export function concurrently(folder: string): Contestant | Absence {
  const install = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-package-lock', 'concurrently@9'];
  const { status } = spawnSync('npm', install, { cwd: folder, stdio: 'ignore', timeout: INSTALL_LIMIT_MS });
  if (status !== 0) return { absent: 'npm could not install concurrently' };
  const file = join(folder, 'node_modules', '.bin', 'concurrently');
  return { file, args: (command, count) => ['--no-color', ...repeated(command, count)] };
}

const repeated = (command: string, count: number): string[] => Array.from({ length: count }, () => command);

/** From start to exit, its output thrown away by the system. Rejects if it fails or takes too long. */
export async function timeOf(
  { file, args }: Contestant,
  { command, count, folder }: { command: string; count: number; folder: string },
): Promise<{ seconds: number; stderr: string }> {
  const nowhere = openSync('/dev/null', 'w');
  try {
    const before = performance.now();
    const child = spawn(file, args(command, count), {
      cwd: folder,
      env: { ...process.env, PARALLEL_HOME: folder },
      stdio: ['ignore', nowhere, 'pipe'],
      timeout: RUN_LIMIT_MS,
      killSignal: 'SIGKILL',
    });
    const { promise, resolve, reject } = Promise.withResolvers<{ seconds: number; stderr: string }>();
    let stderr = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0) resolve({ seconds: (performance.now() - before) / 1000, stderr });
      else reject(new Error(`${file} ended with ${code ?? signal}: ${stderr}`));
    });
    return await promise;
  } finally {
    closeSync(nowhere);
  }
}
