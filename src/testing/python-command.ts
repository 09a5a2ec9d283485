import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../process/program.ts';
import { isProgram } from './search-path.ts';
import { shellQuoted } from './shell-script.ts';

const PROBE_TIMEOUT_MS = 30_000;
const ENVIRONMENTS = ['.venv/bin/python', 'venv/bin/python', '.venv/Scripts/python.exe', 'venv/Scripts/python.exe'];

/**
 * How pytest is started: by the worktree's own virtual environment, by the tool that keeps its lock file, by a Python that
 * has it, or by its name.
 */
export async function pytestCommand(directory: string, env: Readonly<Record<string, string>>): Promise<string> {
  for (const python of ENVIRONMENTS) {
    if (existsSync(join(directory, python)) && (await hasPytest(join(directory, python), directory, env)))
      return `${shellQuoted(python)} -m pytest`;
  }
  for (const tool of ['uv', 'poetry']) {
    if (existsSync(join(directory, `${tool}.lock`)) && (await isProgram(tool, env))) return `${tool} run pytest`;
  }
  for (const python of ['python3', 'python']) {
    if ((await isProgram(python, env)) && (await hasPytest(python, directory, env))) return `${python} -m pytest`;
  }
  return 'pytest';
}

async function hasPytest(python: string, cwd: string, env: Readonly<Record<string, string>>): Promise<boolean> {
  const command = [python, '-c', 'import pytest'];
  const { signal } = new AbortController();
  const ended = await runProgram({ command, cwd, env, signal, timeoutMs: PROBE_TIMEOUT_MS });
  return ended.exitCode === 0;
}
