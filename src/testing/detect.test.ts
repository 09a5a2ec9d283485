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

async function detected(files: Record<string, string>, settings: Partial<TestSettings> = {}): Promise<string> {
  await write(files);
  const suite = await detectTests({
    directory,
    settings: { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 10_000, ...settings },
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
  ])('%s', async (script, runner) => {
    expect(await detected(packageJson({ test: script, unit: 'jest', build: 'tsc' }))).toBe(`${runner}: npm test`);
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
    'mocha',
    'c8 ava',
    'tap',
    'bun test',
    'turbo run test',
    'make test',
    'echo ok',
    'npm run unit',
    'node test/all.js',
  ])('%s is not understood, whatever else is there', async (script) => {
    const files = { ...packageJson({ test: script, unit: 'mocha' }, { vitest: '5' }), 'go.mod': 'module x' };
    await expect(detected({ ...files, 'test/a.test.js': '' })).rejects.toMatchObject({
      problem: { code: 'tests-undetected', script, runner: null },
    });
  });
});

describe('without a script', () => {
  test.each([
    ['mocha', 'mocha'],
    ['ava', 'ava'],
    ['tap', 'tap'],
    ['uvu', 'uvu'],
    ['jasmine', 'jasmine'],
    ['qunit', 'qunit'],
    ['@types/bun', 'bun test'],
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
    ['package.json alone', { 'package.json': '{}' }, 'node: node --test'],
    ['tests alone', { 'test/a.test.mjs': '' }, 'node: node --test'],
  ])('%s', async (_, files, expected) => {
    expect(await detected(files)).toBe(expected);
  });

  test('nothing at all is an error with the folder in it', async () => {
    await expect(detected({ 'README.md': '' })).rejects.toMatchObject({
      problem: { code: 'tests-undetected', directory },
    });
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
    expect(await detected(packageJson({ test: 'tape t/*.js' }), { runner: 'tap' })).toBe('tap: npm test');
  });
});
