import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageJson } from './package-json.ts';
import { pytestCommand } from './python-command.ts';
import type { KnownRunner } from './runner-calls.ts';

const PYTHON_TEST = /^(test_.*|.*_test)\.py$/;
const NODE_TEST = /[._-]test\.[cm]?[jt]s$/;

/**
 * The runner that the files of a worktree speak for, the first of: Vitest or Jest among the dependencies or by its
 * configuration; signs of pytest; go.mod; Cargo.toml; a Python project without a word about tests; package.json, or files
 * that Node's own runner takes for tests.
 */
export async function detectedByFiles(directory: string, found: PackageJson | null): Promise<KnownRunner | null> {
  const top = await namesIn(directory);
  const has = (pattern: RegExp): boolean => top.some((name) => pattern.test(name));
  if (found?.dependencies.has('vitest') || has(/^vitest\.(config|workspace)\.[cm]?[jt]s$/)) return 'vitest';
  if (found?.dependencies.has('jest') || has(/^jest\.config\.([cm]?[jt]s|json)$/)) return 'jest';
  const tests = [...(await namesIn(join(directory, 'tests'))), ...(await namesIn(join(directory, 'test')))];
  const isPython = [...top, ...tests].some((name) => name === 'conftest.py' || PYTHON_TEST.test(name));
  if (isPython || has(/^\.?pytest\.(ini|toml)$/) || (await mentionsPytest(directory))) return 'pytest';
  if (has(/^go\.mod$/)) return 'go';
  if (has(/^Cargo\.toml$/)) return 'cargo';
  if (has(/^(pyproject\.toml|setup\.cfg|setup\.py)$/)) return 'pytest';
  return found !== null || [...top, ...tests].some((name) => NODE_TEST.test(name)) ? 'node' : null;
}

/** How a person starts it where nothing else is said. */
export async function scriptFor(
  runner: KnownRunner,
  directory: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  switch (runner) {
    case 'vitest':
      return 'vitest run';
    case 'jest':
      return 'jest';
    case 'node':
      return 'node --test';
    case 'pytest':
      return await pytestCommand(directory, env);
    case 'go':
      return 'go test ./...';
    case 'cargo': {
      const isWorkspace = /^\[workspace\]/m.test(await textOf(join(directory, 'Cargo.toml')));
      return isWorkspace ? 'cargo test --workspace' : 'cargo test';
    }
  }
}

export async function packageManager(directory: string): Promise<string> {
  const managers = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun run', 'bun.lockb': 'bun run' };
  for (const [lock, manager] of Object.entries(managers)) if (existsSync(join(directory, lock))) return manager;
  return 'npm';
}

async function mentionsPytest(directory: string): Promise<boolean> {
  const [project, setup, tox] = await Promise.all(
    ['pyproject.toml', 'setup.cfg', 'tox.ini'].map(async (name) => await textOf(join(directory, name))),
  );
  return project?.includes('pytest') || setup?.includes('[tool:pytest]') || tox?.includes('[pytest]') || false;
}

async function textOf(path: string): Promise<string> {
  return await readFile(path, 'utf8').catch(() => '');
}

async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch(() => []);
}
