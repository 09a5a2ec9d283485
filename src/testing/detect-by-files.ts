import type { PackageJson } from './package-json.ts';
import type { ProjectFiles } from './project-files.ts';
import { pytestCommand } from './python-command.ts';
import type { KnownRunner } from './runner-calls.ts';

const PYTHON_TEST = /^(test_.*|.*_test)\.py$/;
const NODE_TEST = /[._-]test\.[cm]?[jt]s$/;

/** Runners whose reports nobody here can read by themselves, by the packages and the configuration that speak for them. */
const OTHER_RUNNERS: readonly (readonly [runner: string, packages: readonly string[], configuration?: RegExp])[] = [
  ['mocha', ['mocha'], /^\.mocharc\./],
  ['ava', ['ava'], /^ava\.config\./],
  ['tap', ['tap', '@tapjs/core'], /^\.taprc$/],
  ['tape', ['tape']],
  ['uvu', ['uvu']],
  ['jasmine', ['jasmine', 'jasmine-core'], /^jasmine\.(json|mjs)$/],
  ['qunit', ['qunit', 'qunitjs']],
  ['bun test', ['@types/bun', 'bun-types'], /^bunfig\.toml$/],
  ['borp', ['borp']],
  ['lab', ['@hapi/lab']],
  ['karma', ['karma'], /^karma\.conf\./],
  ['web-test-runner', ['@web/test-runner'], /^web-test-runner\.config\./],
  ['Playwright', ['@playwright/test'], /^playwright\.config\./],
  ['Cypress', ['cypress'], /^cypress\.config\./],
];

/** `other`: a runner that is not known, which its files speak for. */
export type DetectedByFiles = { runner: KnownRunner } | { other: string } | null;

/**
 * The runner that the files of a project speak for, the first of: Vitest or Jest among the dependencies or by its
 * configuration; signs of pytest; go.mod; Cargo.toml; a Python project without a word about tests; a runner that is not
 * known; package.json, or files that Node's own runner takes for tests.
 */
export async function detectedByFiles(files: ProjectFiles, found: PackageJson | null): Promise<DetectedByFiles> {
  const [top, ...folders] = await Promise.all(['', 'tests', 'test'].map((folder) => files.names(folder)));
  const has = (pattern: RegExp): boolean => top?.some((name) => pattern.test(name)) ?? false;
  const names = [top ?? [], ...folders].flat();
  if (found?.dependencies.has('vitest') || has(/^vitest\.(config|workspace)\.[cm]?[jt]s$/)) return { runner: 'vitest' };
  if (found?.dependencies.has('jest') || has(/^jest\.config\.([cm]?[jt]s|json)$/)) return { runner: 'jest' };
  const isPython = names.some((name) => name === 'conftest.py' || PYTHON_TEST.test(name));
  if (isPython || has(/^\.?pytest\.(ini|toml)$/) || (await mentionsPytest(files))) return { runner: 'pytest' };
  if (has(/^go\.mod$/)) return { runner: 'go' };
  if (has(/^Cargo\.toml$/)) return { runner: 'cargo' };
  if (has(/^(pyproject\.toml|setup\.cfg|setup\.py)$/)) return { runner: 'pytest' };
  const other = OTHER_RUNNERS.find(
    ([, packages, configuration]) =>
      packages.some((name) => found?.dependencies.has(name)) || (configuration !== undefined && has(configuration)),
  );
  if (other !== undefined) return { other: other[0] };
  return found !== null || names.some((name) => NODE_TEST.test(name)) ? { runner: 'node' } : null;
}

/** How a person starts it where nothing else is said. */
export async function scriptFor(
  runner: KnownRunner,
  files: ProjectFiles,
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
      const isWorkspace = /^\[workspace\]/m.test(await files.read('Cargo.toml'));
      return isWorkspace ? 'cargo test --workspace' : 'cargo test';
    }
  }
}

export async function packageManager(files: ProjectFiles): Promise<string> {
  const managers = { 'pnpm-lock.yaml': 'pnpm', 'yarn.lock': 'yarn', 'bun.lock': 'bun run', 'bun.lockb': 'bun run' };
  const top = await files.names('');
  return Object.entries(managers).find(([lock]) => top.includes(lock))?.[1] ?? 'npm';
}

async function mentionsPytest(files: ProjectFiles): Promise<boolean> {
  const [project, setup, tox] = await Promise.all(
    ['pyproject.toml', 'setup.cfg', 'tox.ini'].map((name) => files.read(name)),
  );
  return project?.includes('pytest') || setup?.includes('[tool:pytest]') || tox?.includes('[pytest]') || false;
}
