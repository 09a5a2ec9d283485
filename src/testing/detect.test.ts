import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TestSettings } from '../core/config.ts';
import { detectTests } from './detect.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'agentos-detect-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

async function detected(
  files: Record<string, string>,
  settings: Partial<TestSettings> = {},
  paths: readonly string[] = [],
): Promise<string> {
  await write(files);
  const suite = await detectTests({
    directory,
    settings: { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 10_000, ...settings },
    paths,
    // Nothing but what is in the worktree: what this machine has installed must not matter.
    env: { PATH: join(directory, 'bin') },
    scratch: join(directory, 'scratch'),
    onLine: () => undefined,
    onProgress: () => undefined,
    onGroup: () => undefined,
  });
  return `${suite.runner}: ${suite.command}`;
}

const packageJson = (scripts: object, devDependencies: object = {}): Record<string, string> => ({
  'package.json': JSON.stringify({ scripts, devDependencies }),
});

describe('the script test of package.json', () => {
  test.each([
    ['vitest run', 'vitest'],
    ['npm run build && npm run unit', 'jest'],
    ['tsc && node --test dist/test', 'node'],
    ['python -m pytest', 'pytest'],
    ['mocha --recursive', 'mocha'],
    ['xo && c8 ava', 'ava'],
    ['tap --no-coverage', 'tap'],
    ['uvu -r tsm tests', 'uvu'],
    ['jasmine', 'jasmine'],
    ['qunit test', 'qunit'],
    ['bun test', 'bun'],
    ['eslint . && borp --coverage', 'borp'],
    ['node --import tsx --test', 'node'],
    ['run-s build unit', 'jest'],
  ])('%s', async (script, runner) => {
    expect(await detected(packageJson({ test: script, unit: 'jest', build: 'tsc' }))).toBe(`${runner}: npm test`);
  });

  test('that starts a file with node:test in it, or in what that imports, is a call of the runner', async () => {
    const files = {
      ...packageJson({ test: 'c8 --100 npm run api', api: 'node --conditions development test/index.js' }),
      'test/index.js': "import './io/a.js'\n",
      'test/io/a.js': "import test from 'node:test'\n",
    };
    expect(await detected(files)).toBe('node: npm test');
  });

  test('of the top names the script of a package that its tool runs', async () => {
    const files = {
      'package.json': JSON.stringify({
        scripts: { test: 'pnpm run ci', ci: 'nx run-many --targets=lint,test:lib,build' },
      }),
      'pnpm-lock.yaml': '',
      'packages/a/package.json': JSON.stringify({
        scripts: { lint: 'eslint', 'test:lib': 'vitest', 'test:dev': 'jest' },
      }),
      'packages/a/tests/a.test.ts': '',
      'packages/b/package.json': JSON.stringify({ scripts: { 'test:lib': 'vitest', build: 'jest' } }),
    };
    expect(await detected(files, {}, ['packages/a/tests/a.test.ts'])).toBe(
      'vitest: cd packages/a && pnpm run test:lib',
    );
    await expect(detected({}, {}, ['packages/b/b.test.ts'])).rejects.toMatchObject({
      problem: { code: 'tests-undetected' },
    });
  });

  test('wins over everything that lies beside it', async () => {
    const files = { ...packageJson({ test: 'node --test' }, { vitest: '1' }), 'go.mod': 'module x', 'Cargo.toml': '' };
    expect(await detected(files)).toBe('node: npm test');
  });

  test('is called by the package manager that the lock file is from', async () => {
    expect(await detected({ ...packageJson({ test: 'jest' }), 'pnpm-lock.yaml': '' })).toBe('jest: pnpm test');
  });

  test.each(['echo "Error: no test specified" && exit 1', ''])('%s is none: the dependencies tell', async (script) => {
    expect(await detected(packageJson({ test: script }, { vitest: '^5' }))).toBe('vitest: vitest run');
  });

  test.each([
    'lab test/*.js',
    'node scripts/run.js --test',
    'pnpm --filter vitest build',
    'pnpm -r test',
    'turbo run test',
    'nx run-many -t test',
    'lerna run test',
    'make test',
    'echo ok',
    'npm run unit',
    'node test/all.js',
  ])('%s is not understood, whatever else is there', async (script) => {
    const files = { ...packageJson({ test: script, unit: 'lab' }, { vitest: '5' }), 'go.mod': 'module x' };
    await expect(detected({ ...files, 'test/a.test.js': '' })).rejects.toMatchObject({
      problem: { code: 'tests-undetected', script, runner: null },
    });
  });
});

describe('without a script', () => {
  test.each([
    ['mocha', 'mocha: mocha'],
    ['ava', 'ava: ava'],
    ['tap', 'tap: tap'],
    ['tape', "tap: tape 'test/**/*.js'"],
    ['uvu', 'uvu: uvu'],
    ['jasmine', 'jasmine: jasmine'],
    ['qunit', 'qunit: qunit'],
    ['borp', 'borp: borp'],
  ])('a dependency on %s names the runner', async (name, expected) => {
    expect(await detected({ ...packageJson({}, { [name]: '1' }), 'test/a.test.js': '' })).toBe(expected);
  });

  test.each([
    ['@hapi/lab', 'lab'],
    ['@playwright/test', 'Playwright'],
  ])('a dependency on %s is a runner that is not known', async (name, runner) => {
    await expect(detected({ ...packageJson({}, { [name]: '1' }), 'test/a.test.js': '' })).rejects.toMatchObject({
      problem: { code: 'tests-undetected', script: null, runner },
    });
  });

  test('one that is known beside it is used', async () => {
    expect(await detected(packageJson({}, { mocha: '1', vitest: '1' }))).toBe('vitest: vitest run');
    expect(await detected({ ...packageJson({}, { mocha: '1' }), 'go.mod': 'module x' })).toBe('go: go test ./...');
  });
});

describe('the files', () => {
  test.each<[string, Record<string, string>, string]>([
    ['jest configured in package.json', { 'package.json': '{"jest":{"preset":"ts-jest"}}' }, 'jest: jest'],
    ['jest by its configuration', { 'jest.config.js': '', 'package.json': '{}' }, 'jest: jest'],
    ['a test of pytest, before go.mod', { 'tests/test_a.py': '', 'go.mod': 'module x' }, 'pytest: pytest'],
    ['pytest in the project', { 'pyproject.toml': '[tool.pytest.ini_options]', 'Cargo.toml': '' }, 'pytest: pytest'],
    ['a Python project', { 'pyproject.toml': '[project]' }, 'pytest: pytest'],
    [
      'a project in both Rust and Python',
      { 'pyproject.toml': '[project]', 'Cargo.toml': '[package]' },
      'cargo: cargo test',
    ],
    ['go.mod', { 'go.mod': 'module x', 'package.json': '{"private":true}' }, 'go: go test ./...'],
    ['a workspace', { 'Cargo.toml': '[workspace]\nmembers = ["a"]' }, 'cargo: cargo test --workspace'],
    ['tests alone', { 'test/a.test.mjs': "import test from 'node:test';" }, 'node: node --test'],
    ['tests of bun', { 'a.test.ts': 'import { test } from "bun:test";', 'package.json': '{}' }, 'bun: bun test'],
    ['tests of unittest', { 'tests/test_a.py': 'import unittest' }, 'unittest: python -m unittest discover -s tests'],
    ['what tox runs', { 'tox.ini': '[testenv]\ncommands = pytest {posargs}', 'setup.py': '' }, 'pytest: pytest'],
    [
      'what nox runs',
      { 'noxfile.py': 'session.run("python", "-m", "unittest")\n# -m unittest -v', 'setup.py': '' },
      'unittest: python -m unittest -v',
    ],
    [
      'modules of go.work, none at the top',
      { 'go.work': 'go 1.22\n\nuse (\n\t./a\n\t./b // two\n)\n' },
      'go: go test ./a/... ./b/...',
    ],
    ['pom.xml', { 'pom.xml': '', mvnw: '' }, 'maven: ./mvnw test'],
    ['Gradle', { 'settings.gradle.kts': '' }, 'gradle: gradle test'],
    ['PHPUnit', { 'phpunit.xml.dist': '', 'vendor/bin/phpunit': '' }, 'phpunit: vendor/bin/phpunit'],
    ['PHPUnit of the machine', { 'phpunit.xml.dist': '', 'composer.json': '{}' }, 'phpunit: phpunit'],
    ['RSpec', { '.rspec': '', Gemfile: '' }, 'rspec: bundle exec rspec'],
    ['Minitest', { Rakefile: 'Minitest::TestTask.create' }, 'minitest: rake test'],
    [
      'all tests in one file',
      { Rakefile: 'task :default=>:spec', 'test/test.rb': "require 'minitest/autorun'" },
      'minitest: rake spec',
    ],
    [
      'test-unit',
      { Rakefile: 'task :default => :test', 'test/test_a.rb': "require 'test/unit'" },
      'test-unit: rake test',
    ],
    [
      'Minitest in a helper',
      {
        Rakefile: 'task :default => [:spec]',
        'spec/spec_helper.rb': "require 'minitest/autorun'",
        'spec/a_spec.rb': '',
      },
      'minitest: rake spec',
    ],
    ['.NET', { 'Shop.sln': '' }, 'dotnet: dotnet test'],
  ])('%s', async (_, files, expected) => {
    expect(await detected(files)).toBe(expected);
  });

  test('a package.json that says nothing is not taken for a project of node:test', async () => {
    const found = detected({ 'package.json': '{}', 'test/a.test.js': "const test = require('./own.js');" });
    await expect(found).rejects.toMatchObject({ problem: { code: 'tests-undetected', script: null } });
  });

  test('tox that starts something unknown is not guessed at', async () => {
    const files = { 'tox.ini': '[testenv]\ncommands = python -m tornado.test', 'setup.py': '' };
    await expect(detected(files)).rejects.toMatchObject({ problem: { code: 'tests-undetected', runner: 'tox' } });
  });

  test('nothing at all is an error with the folder in it', async () => {
    await expect(detected({ 'README.md': '' })).rejects.toMatchObject({
      problem: { code: 'tests-undetected', directory },
    });
  });
});

describe('the package of a monorepo that the files of the LLD are in', () => {
  const root = { 'package.json': JSON.stringify({ scripts: { test: 'turbo run test' }, workspaces: ['packages/*'] }) };
  const own = (test: string): string => JSON.stringify({ scripts: { test } });
  const both = {
    ...root,
    'pnpm-lock.yaml': '',
    'packages/a/package.json': own('vitest run'),
    'packages/b/package.json': own('mocha'),
  };
  test.each<[string, Record<string, string>, string[], string]>([
    [
      'its own script',
      both,
      ['packages/a/src/x.ts', 'packages/a/test/x.test.ts'],
      'vitest: cd packages/a && pnpm test',
    ],
    ['the package of the tests', both, ['README.md', 'packages/b/test/x.js'], 'mocha: cd packages/b && pnpm test'],
    [
      'without a script of its own, the top',
      { 'package.json': own('vitest run'), 'packages/a/package.json': '{"devDependencies":{"mocha":"1"}}' },
      ['packages/a/x.test.ts'],
      'vitest: npm test',
    ],
    [
      'files of several packages: the tests of each',
      both,
      ['packages/a/test/x.test.ts', 'packages/b/test/y.test.ts', 'packages/b/test/z.test.ts'],
      'vitest: (cd packages/a && pnpm test) && (cd packages/b && pnpm test)',
    ],
    [
      'a file of a package and one of none: the top',
      { ...both, 'package.json': own('jest') },
      ['packages/a/test/x.test.ts', 'test/y.test.ts'],
      'jest: pnpm test',
    ],
    [
      'Go modules, none at the top',
      { 'svc/a/go.mod': 'module a', 'svc/b/go.mod': 'module b' },
      ['svc/b/calc/x.go', 'svc/b/calc/x_test.go'],
      'go: cd svc/b && go test ./...',
    ],
    [
      'a crate of a workspace',
      { 'Cargo.toml': '[workspace]\nmembers = ["crates/*"]', 'crates/a/Cargo.toml': '[package]\nname = "a"' },
      ['crates/a/src/x.rs', 'crates/a/tests/x.rs'],
      'cargo: cd crates/a && cargo test',
    ],
    [
      'a Python package',
      { 'package.json': '{}', 'libs/p/pyproject.toml': '[tool.pytest.ini_options]' },
      ['libs/p/src/p/x.py', 'libs/p/tests/test_x.py'],
      'pytest: cd libs/p && pytest',
    ],
    [
      'a Maven build beside other packages, from its outermost folder',
      { 'web/package.json': own('jest'), 'api/pom.xml': '', 'api/core/pom.xml': '' },
      ['api/core/src/main/java/X.java', 'api/core/src/test/java/XTest.java'],
      'maven: cd api && mvn test',
    ],
    [
      'a module of a Gradle build: the top',
      { 'settings.gradle.kts': '', 'app/build.gradle.kts': '' },
      ['app/src/test/kotlin/XTest.kt'],
      'gradle: gradle test',
    ],
  ])('%s', async (_, files, paths, expected) => {
    expect(await detected(files, {}, paths)).toBe(expected);
  });
});

describe('Python', () => {
  async function program(path: string, text = 'exit 0'): Promise<void> {
    await write({ [path]: `#!/bin/sh\n${text}\n` });
    await chmod(join(directory, path), 0o755);
  }

  test('the virtual environment of the worktree comes first', async () => {
    await program('.venv/bin/python');
    await program('bin/uv');
    expect(await detected({ 'conftest.py': '', 'uv.lock': '' })).toBe('pytest: .venv/bin/python -m pytest');
  });

  test('one without pytest is passed over', async () => {
    await program('.venv/bin/python', 'exit 1');
    await program('bin/uv');
    expect(await detected({ 'conftest.py': '', 'uv.lock': '' })).toBe('pytest: uv run pytest');
  });

  test('a lock file whose tool is not there does not count', async () => {
    await program('bin/python3');
    expect(await detected({ 'conftest.py': '', 'poetry.lock': '' })).toBe('pytest: python3 -m pytest');
  });
});

describe('what is configured', () => {
  test('a command is taken as it is, and its runner worked out', async () => {
    const files = packageJson({ unit: 'vitest run' });
    expect(await detected(files, { command: 'npm run unit' })).toBe('vitest: npm run unit');
  });

  test('a command that hides its runner: the report says which, or else the files', async () => {
    expect(await detected({ 'go.mod': 'module x' }, { command: 'make test' })).toBe('go: make test');
    expect(await detected({}, { command: 'make test', report: 'out/junit.xml' })).toBe('junit: make test');
    expect(await detected({}, { command: 'make test', report: 'out/all.tap' })).toBe('tap: make test');
  });

  test('a command that hides a runner which can not be seen through is not guessed at', async () => {
    const found = detected(packageJson({}, { vitest: '5' }), { command: 'make test' });
    await expect(found).rejects.toMatchObject({ problem: { code: 'tests-undetected' } });
  });

  test('a runner without a command: the script if it is the same, or else the usual command', async () => {
    expect(await detected(packageJson({ test: 'vitest run' }), { runner: 'vitest' })).toBe('vitest: npm test');
    expect(await detected(packageJson({ test: 'vitest run' }), { runner: 'go' })).toBe('go: go test ./...');
    expect(await detected(packageJson({ test: 'lab -r tap t/*.js' }), { runner: 'tap' })).toBe('tap: npm test');
  });
});
