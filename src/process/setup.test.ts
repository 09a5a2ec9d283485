import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { codeOf } from '../core/errors.ts';
import { detectSetup, isSetupFile, runSetup } from './setup.ts';

const NPM = '--no-audit --no-fund --prefer-offline';
const VENV = 'python3 -m venv --system-site-packages "$VIRTUAL_ENV"';
const PIP = '"$VIRTUAL_ENV/bin/python" -m pip install';
const pip = (what: string): string => `${VENV} && { ${PIP} ${what} || ${PIP} --no-build-isolation ${what}; }`;
const BUILT = '[build-system]\nrequires = ["setuptools"]\n';
const DEPENDS = '{"dependencies":{"a":"1"}}';

test.each<[string, Record<string, string>, string | null]>([
  ['nothing', {}, null],
  ['a package without dependencies', { 'package.json': '{"scripts":{"test":"node --test"}}' }, null],
  ['a package that is no JSON', { 'package.json': '{' }, null],
  ['npm with a lock', { 'package.json': '{}', 'package-lock.json': '{}' }, `npm ci ${NPM}`],
  ['npm without a lock', { 'package.json': DEPENDS }, `npm install --no-package-lock ${NPM}`],
  ['npm workspaces', { 'package.json': '{"workspaces":["a"]}' }, `npm install --no-package-lock ${NPM}`],
  ['an install script', { 'package.json': '{"scripts":{"prepare":"x"}}' }, `npm install --no-package-lock ${NPM}`],
  ['pnpm', { 'package.json': DEPENDS, 'pnpm-lock.yaml': '' }, 'pnpm install --frozen-lockfile'],
  ['bun', { 'package.json': DEPENDS, 'bun.lock': '' }, 'bun install --frozen-lockfile'],
  [
    'a pnpm workspace without a lock file',
    { 'package.json': '{}', 'pnpm-workspace.yaml': '' },
    'pnpm install --no-frozen-lockfile',
  ],
  [
    'a manager that package.json names',
    { 'package.json': '{"packageManager":"yarn@4.1.0","workspaces":["a"]}' },
    'yarn install --no-immutable',
  ],
  [
    'yarn 1',
    { 'package.json': DEPENDS, 'yarn.lock': '# yarn lockfile v1\n' },
    'yarn install --frozen-lockfile --non-interactive',
  ],
  ['yarn 4', { 'package.json': DEPENDS, 'yarn.lock': '\n__metadata:\n  version: 8\n' }, 'yarn install --immutable'],
  ['uv', { 'pyproject.toml': '', 'uv.lock': '' }, 'uv sync --frozen'],
  ['poetry', { 'pyproject.toml': '', 'poetry.lock': '' }, `${VENV} && poetry install --no-interaction`],
  ['pdm', { 'pyproject.toml': '', 'pdm.lock': '' }, `${VENV} && pdm install --frozen-lockfile`],
  ['a build system', { 'pyproject.toml': `[project]\nname = "x"\n${BUILT}` }, pip('-e .')],
  [
    'a lock of a tool that is not there, and a build system',
    { 'pyproject.toml': BUILT, 'poetry.lock': '' },
    pip('-e .'),
  ],
  [
    'an older build system, and requirements',
    { 'setup.py': '', 'requirements.txt': 'a\n' },
    pip('-r requirements.txt -e .'),
  ],
  [
    'an extra for tests',
    { 'pyproject.toml': `${BUILT}[project.optional-dependencies]\ndev = ["b"]\ntests = ["a"]\n` },
    pip("-e '.[tests]'"),
  ],
  [
    'a dependency group for tests',
    {
      'pyproject.toml': `${BUILT}[dependency-groups]\ndev = ["z"]\ntests = [\n  # "no"\n  'a; os_name == "nt"',\n  "b[c]>1",\n  { include-group = "more" },\n]\nmore = ["d"]\n`,
    },
    pip(`-e . 'a; os_name == "nt"' 'b[c]>1' 'd'`),
  ],
  [
    'requirements',
    { 'requirements.txt': 'a==1\n', 'requirements-dev.txt': 'b\n', 'requirements-gpu.txt': 'c\n' },
    `${VENV} && ${PIP} -r requirements-dev.txt -r requirements.txt`,
  ],
  ['empty requirements', { 'requirements.txt': '# none\n\n' }, null],
  [
    'a pyproject with dependencies',
    { 'pyproject.toml': '[project]\ndependencies = [\n  # x\n  "a>=1",\n]\n' },
    pip('-e .'),
  ],
  [
    'a pyproject without',
    { 'pyproject.toml': '[project]\nname = "x"\ndependencies = []\n[tool.x]\ny = ["z"]\n' },
    null,
  ],
  ['go', { 'go.mod': 'module x\n\ngo 1.19\n' }, 'go mod download'],
  [
    'cargo with a lock',
    { 'Cargo.toml': '[package]\n[dependencies]\na = "1"\n', 'Cargo.lock': '' },
    'cargo fetch --locked',
  ],
  ['cargo without a lock', { 'Cargo.toml': '[package]\nname = "x"\n' }, 'cargo fetch'],
  [
    'two languages',
    { 'package.json': DEPENDS, 'go.mod': 'require a v1\n' },
    `npm install --no-package-lock ${NPM} && go mod download`,
  ],
])('the set-up of %s', async (_, files, command) => {
  const folder = await testFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  expect(await detectSetup(folder, '/nowhere')).toBe(command);
});

test('Ruby and PHP are set up where their tools are', async () => {
  const folder = await testFolder();
  await writeFile(join(folder, 'Gemfile'), '');
  await writeFile(join(folder, 'composer.json'), '{"require-dev":{"phpunit/phpunit":"^11"}}');
  expect(await detectSetup(folder, '/nowhere')).toBe(null);
  for (const tool of ['bundle', 'composer']) await writeFile(join(folder, tool), '', { mode: 0o755 });
  const ruby = '{ bundle check || bundle install; }';
  expect(await detectSetup(folder, folder)).toBe(`${ruby} && composer install --no-interaction --no-progress`);
  await writeFile(join(folder, 'composer.json'), '{"require":{"php":">=8"}}');
  expect(await detectSetup(folder, folder)).toBe(`${ruby} && composer dump-autoload --no-interaction`);
});

test.each<[Record<string, string>, string]>([
  [{ 'package.json': '{}', 'package-lock.json': '{}' }, `npm install ${NPM}`],
  [{ 'package.json': DEPENDS }, `npm install --no-package-lock ${NPM}`],
  [{ 'package.json': DEPENDS, 'pnpm-lock.yaml': '' }, 'pnpm install --no-frozen-lockfile'],
  [{ 'package.json': DEPENDS, 'bun.lock': '' }, 'bun install'],
  [{ 'package.json': DEPENDS, 'yarn.lock': '' }, 'yarn install --non-interactive'],
  [{ 'package.json': DEPENDS, 'yarn.lock': '__metadata:\n' }, 'yarn install --no-immutable'],
  [{ 'pyproject.toml': '', 'uv.lock': '' }, 'uv sync'],
  [{ 'poetry.lock': '' }, `${VENV} && poetry lock --no-interaction && poetry install --no-interaction`],
  [{ 'go.mod': 'require a v1\n', 'go.sum': '' }, 'go mod tidy'],
  [{ 'Cargo.toml': '[dependencies]\na = "1"\n', 'Cargo.lock': '' }, 'cargo fetch'],
])('after a change of %o the lock file may follow', async (files, command) => {
  const folder = await testFolder();
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  expect(await detectSetup(folder, '/nowhere', { locks: 'updated' })).toBe(command);
  expect(Object.keys(files).every(isSetupFile)).toBe(true);
});

const WORKSPACE = '{"workspaces":["web/*"]}';

test.each<[string, Record<string, string>, string[], string | null]>([
  [
    'without anything at the top',
    { 'web/package.json': DEPENDS },
    ['web'],
    `(cd 'web' && npm install --no-package-lock ${NPM})`,
  ],
  [
    'of several languages',
    { 'web/package.json': DEPENDS, 'web/yarn.lock': '', 'api/go.mod': 'require a v1\n', 'py/setup.py': '' },
    ['web', 'api', 'py'],
    `(cd 'web' && yarn install --frozen-lockfile --non-interactive) && (cd 'api' && go mod download) && (cd 'py' && ${pip('-e .')})`,
  ],
  [
    'that a workspace installs',
    { 'package.json': WORKSPACE, 'web/a/package.json': DEPENDS },
    ['web/a'],
    `npm install --no-package-lock ${NPM}`,
  ],
  [
    'of a workspace below the top',
    { 'web/package.json': WORKSPACE, 'web/package-lock.json': '', 'web/a/package.json': DEPENDS },
    ['web/a'],
    `(cd 'web' && npm ci ${NPM})`,
  ],
  [
    'with a lock file of its own',
    { 'package.json': WORKSPACE, "we'b/package.json": DEPENDS, "we'b/pnpm-lock.yaml": '' },
    ["we'b"],
    `npm install --no-package-lock ${NPM} && (cd 'we'\\''b' && pnpm install --frozen-lockfile)`,
  ],
  [
    'of a Cargo workspace',
    { 'Cargo.toml': '[workspace]\n', 'a/Cargo.toml': '[dependencies]\nb = "1"\n' },
    ['a'],
    'cargo fetch',
  ],
])('the set-up of a package %s', async (_, files, packages, command) => {
  const folder = await testFolder();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  expect(await detectSetup(folder, '/nowhere', { packages })).toBe(command);
});

test('what is installed depends on manifests and lock files, wherever they are, and on nothing else', () => {
  for (const path of ['packages/a/package.json', 'requirements-dev.txt']) expect(isSetupFile(path)).toBe(true);
  for (const path of ['src/package.ts', 'requirements.md', 'package.json.md']) expect(isSetupFile(path)).toBe(false);
});

test('a set-up that fails says how, and that another try is no use', async () => {
  const lines: string[] = [];
  const error = await runSetup({
    command: 'echo one; echo two >&2; exit 3',
    directory: await testFolder(),
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 60_000,
    signal: new AbortController().signal,
    onLine: (line) => lines.push(line),
  }).catch((caught: unknown) => caught);
  expect(codeOf(error)).toBe('setup-failed');
  expect(error).toMatchObject({
    retry: 'permanent',
    problem: { exitCode: 3, command: 'echo one; echo two >&2; exit 3' },
  });
  expect(String(error)).toContain('two');
  expect(lines.toSorted()).toEqual(['one', 'two']);
});

test('a set-up that runs out of time is ended, and may be tried again', async () => {
  const error = await runSetup({
    command: 'sleep 600',
    directory: await testFolder(),
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 100,
    signal: new AbortController().signal,
  }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ retry: 'transient', problem: { code: 'setup-failed' } });
});
