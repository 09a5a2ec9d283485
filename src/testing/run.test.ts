import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TestSettings } from '../core/config.ts';
import { isProcessAlive } from '../process/process-tree.ts';
import { detectTests } from './detect.ts';
import type { TestRun, TestRunOptions, TestSuite } from './port.ts';
import { isMissingCode } from './runners.ts';

/*
 * Real runners in real folders. What is not installed is skipped, and the name of the test says so.
 */

const ours = resolve(import.meta.dirname, '../../node_modules');
let base = '';
let directory = '';
let lines: string[] = [];
let groups: boolean[] = [];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'agentos suite-'));
  directory = join(base, 'work tree');
  await mkdir(directory);
  lines = [];
  groups = [];
});
afterEach(async () => {
  await rm(base, { recursive: true });
});

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  }
}

async function run(options: Partial<TestRunOptions> = {}, settings: Partial<TestSettings> = {}): Promise<TestRun> {
  const suite = await open(settings);
  return await suite.run({ signal: new AbortController().signal, ...options });
}

async function open(settings: Partial<TestSettings> = {}, paths: string[] = []): Promise<TestSuite> {
  const { PATH = '', HOME = '' } = process.env;
  const kept = ['CARGO_HOME', 'RUSTUP_HOME', 'GOPATH', 'GOCACHE'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return await detectTests({
    directory,
    paths,
    settings: { command: null, runner: null, report: null, coverage: null, files: [], timeoutMs: 60_000, ...settings },
    env: { PATH: `${join(ours, '.bin')}:${PATH}`, HOME, ...Object.fromEntries(kept) },
    scratch: join(base, 'scratch'),
    onLine: (line) => lines.push(line),
    onProgress: () => undefined,
    onGroup: (_, ended) => groups.push(ended),
  });
}

const brief = (found: TestRun): string[] => found.cases.map(({ file, name, outcome }) => `${outcome} ${file}: ${name}`);

async function filesInWorktree(): Promise<string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  return found.flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : [])).toSorted();
}

function isThere(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore', timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

/** The one load failure of a file, and whether it is only for what these changes bring. */
function notThere(found: TestRun, file: string, added: string[], modified: string[] = []): boolean {
  const failures = found.loadFailures.filter((failure) => failure.file === file);
  expect(failures, `load failures of ${file}`).toHaveLength(1);
  return failures.every((failure) => isMissingCode(failure, { added, modified }, directory));
}

describe('node:test', () => {
  const TESTS = {
    'package.json': '{"type":"module","scripts":{"build":"true","test":"npm run build && node --test"}}',
    'src/a.js': 'export function a(x) {\n  if (x) {\n    return 1;\n  }\n  return 2;\n}\n',
    'test/a.test.js': `import { describe, test } from 'node:test'; import assert from 'node:assert'; import { a } from '../src/a.js';
      describe('outer', () => { test('010 works', () => assert.equal(a(true), 1)); test('020 fails', () => assert.equal(1, 2));
      test('030 later', { skip: true }, () => {}); test('040 todo', { todo: true }, () => { throw new Error('x'); }); });`,
    'test/fixtures/data.json': '{}',
  };

  test('without a folder of packages, Yarn starts the script', async () => {
    const bin = join(base, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'yarn'), '#!/bin/sh\nshift\nBY_YARN=yes exec "$@"\n', { mode: 0o755 });
    const known = "import { test } from 'node:test'; test(`by Yarn: ${process.env.BY_YARN}`, () => {});";
    await write({ 'package.json': '{"type":"module","scripts":{"test":"node --test"}}', 'test/a.test.js': known });
    const { PATH = '' } = process.env;
    process.env['PATH'] = `${bin}:${PATH}`;
    try {
      expect(brief(await run())).toEqual(['passed test/a.test.js: by Yarn: undefined']);
      await write({ '.pnp.cjs': '' });
      expect(brief(await run())).toEqual(['passed test/a.test.js: by Yarn: yes']);
    } finally {
      process.env['PATH'] = PATH;
    }
  });

  test('outcomes, names, coverage, and a log that can be read; nothing is left in the worktree', async () => {
    await write(TESTS);
    const before = await filesInWorktree();
    const found = await run({ coverage: true });
    expect(brief(found)).toEqual([
      'passed test/a.test.js: outer > 010 works',
      'failed test/a.test.js: outer > 020 fails',
      'skipped test/a.test.js: outer > 030 later',
      'skipped test/a.test.js: outer > 040 todo',
    ]);
    expect(found).toMatchObject({ outcome: 'failed', exitCode: 1, command: 'npm test', loadFailures: [] });
    expect(found.cases[1]?.message).toContain('1 == 2');
    expect(found.coverage).toContainEqual({ file: 'src/a.js', lines: 6, covered: 5, missed: [5] });
    expect(lines.join('\n')).toContain('020 fails');
    expect(found.tail).toContain('020 fails');
    expect(await filesInWorktree()).toEqual(before);
    expect(groups).toContain(true);
    expect(groups.filter((ended) => ended)).toHaveLength(groups.length / 2);
    expect(await readdir(join(base, 'scratch'))).toEqual([]);
  });

  test('a linter that stops at code that is not there yet does not keep the tests from running', async () => {
    await write({
      'package.json': '{"type":"module","scripts":{"lint":"node lint.js","test":"npm run lint && node --test"}}',
      'lint.js': "console.log('../src/b.js is not found (n/no-missing-import)'); process.exit(1);",
      'test/missing.test.js': `import test from 'node:test'; import { b } from '../src/b.js'; test('x', () => b());`,
    });
    expect(await run({})).toMatchObject({ outcome: 'no-report', loadFailures: [] });
    const found = await run({ lacksCode: true });
    expect(found).toMatchObject({ outcome: 'failed', command: 'npm test' });
    expect(found.loadFailures.map(({ file }) => file)).toEqual(['test/missing.test.js']);
  });

  test('the build of a monorepo runs before the tests of a package once it is wanted; its failure is one', async () => {
    const signal = new AbortController().signal;
    const files = {
      'package.json': '{"scripts":{"build":"node build.cjs"}}',
      'build.cjs': "require('fs').cpSync('packages/a/src', 'packages/a/dist', { recursive: true });",
      'packages/a/package.json': '{"type":"module","scripts":{"test":"node --test"}}',
      'packages/a/src/a.js': 'export const a = 1;\n',
      'packages/a/a.test.js': `import test from 'node:test'; import '../a/dist/a.js'; test('a', () => {});`,
    };
    await write(files);
    const suite = await open({}, ['packages/a/a.test.js']);
    expect(await suite.run({ signal })).toMatchObject({ outcome: 'failed', cases: [] });
    suite.buildFirst?.(true);
    const command = 'npm run build && cd packages/a && npm test';
    expect(suite.command).toBe(command);
    expect(await suite.run({ signal })).toMatchObject({ outcome: 'passed', command, loadFailures: [] });
    await write({ 'build.cjs': "throw new Error('no compiler')" });
    const broken = await suite.run({ signal });
    expect(brief(broken)).toEqual(['passed packages/a/a.test.js: a']);
    expect(broken).toMatchObject({ outcome: 'failed', loadFailures: [{ file: null }] });
    expect(broken.loadFailures[0]?.message).toMatch(/^npm run build:[^]*Error: no compiler/);
    expect((await open({ command: 'node --test' })).buildFirst).toBeUndefined();
  });

  test('files that can not be loaded are told from tests, with the reason', async () => {
    await write({
      'package.json': '{"type":"module","scripts":{"test":"node --test"}}',
      'src/a.js': 'export const a = 1;\n',
      'test/missing.test.js': `import test from 'node:test'; import { b } from '../src/b.js'; test('x', () => b());`,
      'test/common.test.cjs': `const test = require('node:test'); const { b } = require('../src/b'); test('x', () => b());`,
      'test/name.test.js': `import test from 'node:test'; import { nope } from '../src/a.js'; test('x', () => nope());`,
      'test/package.test.js': `import test from 'node:test'; import { b } from 'no-such-package'; test('x', () => b());`,
      'test/syntax.test.js': `import test from 'node:test'; test('x', () => {`,
      'test/good.test.js': `import test from 'node:test'; test('good', () => {});`,
    });
    const found = await run();
    expect(brief(found)).toEqual(['passed test/good.test.js: good']);
    expect(found.outcome).toBe('failed');
    expect(found.loadFailures).toHaveLength(5);
    expect(notThere(found, 'test/missing.test.js', ['src/b.js'])).toBe(true);
    expect(notThere(found, 'test/missing.test.js', ['src/c.js'])).toBe(false);
    expect(notThere(found, 'test/common.test.cjs', ['src/b.js'])).toBe(true);
    expect(notThere(found, 'test/name.test.js', [], ['src/a.js'])).toBe(true);
    expect(notThere(found, 'test/name.test.js', ['src/b.js'])).toBe(false);
    expect(notThere(found, 'test/package.test.js', ['src/b.js'])).toBe(false);
    expect(notThere(found, 'test/syntax.test.js', ['src/b.js'], ['src/a.js'])).toBe(false);
  });

  test('only the files that are asked for are run', async () => {
    await write({ ...TESTS, 'test/b.test.js': `import test from 'node:test'; test('other', () => {});` });
    const found = await run({ files: ['test/b.test.js', 'test/fixtures/data.json'] });
    expect(brief(found)).toEqual(['passed test/b.test.js: other']);
    expect(found).toMatchObject({ outcome: 'passed', command: 'true && node --test test/b.test.js', coverage: null });
  });

  test('tests that are compiled first are told of by the files that a person wrote', async () => {
    const config = {
      compilerOptions: { module: 'nodenext', target: 'es2022', outDir: 'dist', rootDir: '.', types: [] },
    };
    await symlink(ours, join(directory, 'node_modules'));
    await write({
      'package.json': `{"type":"module","scripts":{"pretest":"tsc -p .","test":"node --test 'dist/test/*.js'"}}`,
      'tsconfig.json': JSON.stringify({ ...config, include: ['src', 'test'] }),
      'src/a.ts': 'export const a: number = 1;\n',
      'test/node.d.ts': `declare module 'node:test' { export function test(name: string, run: () => void): void; }`,
      'test/a.test.ts': `import { test } from 'node:test'; import { a } from '../src/a.js'; test('010 a', () => { if (a !== 1) throw a; });`,
    });
    expect(brief(await run())).toEqual(['passed test/a.test.ts: 010 a']);
    await write({
      'test/b.test.ts': `import { test } from 'node:test'; import { b } from '../src/b.js'; test('020 b', b);`,
    });
    const found = await run();
    expect(found).toMatchObject({ outcome: 'failed', cases: [] });
    expect(notThere(found, 'test/b.test.ts', ['src/b.ts'])).toBe(true);
    expect(notThere(found, 'test/b.test.ts', ['src/c.ts'])).toBe(false);
  });
});

describe('how a run ends', () => {
  test('nothing to run is no success', async () => {
    await write({ 'package.json': '{"scripts":{"test":"node --test"}}', 'src/a.js': '' });
    expect(await run()).toMatchObject({ outcome: 'no-tests', cases: [] });
  });

  test('tests that are all skipped are as good as none', async () => {
    await write({ 'package.json': '{}', 'a.test.js': `require('node:test')('x', { skip: true }, () => {});` });
    expect(await run()).toMatchObject({ outcome: 'no-tests', cases: [{ name: 'x', outcome: 'skipped' }] });
  });

  test('a program that is not there could not be run, whatever its exit code', async () => {
    const found = await run({}, { command: 'no-such-program && node --test' });
    expect(found).toMatchObject({ outcome: 'could-not-run', exitCode: 127, cases: [] });
    expect(found.tail).toContain('no-such-program');
    expect(await run({}, { command: 'true', runner: 'vitest' })).toMatchObject({
      outcome: 'no-report',
      exitCode: 0,
    });
  });

  test('a run that was killed is none, whatever it had reported', async () => {
    await write({
      'package.json': '{}',
      'a.test.js': `const test = require('node:test');
test('one', () => undefined);
test('two', () => { process.kill(process.ppid, 'SIGKILL'); return new Promise((resolve) => setTimeout(resolve, 500)); });`,
    });
    expect(await run()).toMatchObject({ outcome: 'killed' });
    expect(await run({}, { command: 'node --test; exit $?', runner: 'node' })).toMatchObject({ outcome: 'killed' });
    expect(await run({}, { command: 'node --test || exit 1', runner: 'node' })).toMatchObject({ outcome: 'no-report' });
    const tap = 'echo ok 1; kill -9 $$';
    expect(await run({}, { command: tap, runner: 'tap' })).toMatchObject({ outcome: 'killed' });
  });

  test('a runner may end with the number of tests that failed', async () => {
    const command = 'for n in $(seq 137); do echo not ok $n; done; echo 1..137; exit 137';
    expect(await run({}, { command, runner: 'tap' })).toMatchObject({ outcome: 'failed', exitCode: 137 });
  });

  test('a run that takes too long is ended with all that it started', async () => {
    const command = `sh -c 'echo "child $$"; sleep 60' & wait; node --test`;
    const found = await run({}, { command, timeoutMs: 1_000 });
    expect(found).toMatchObject({ outcome: 'timed-out', cases: [] });
    const child = Number(/child (\d+)/.exec(found.tail)?.[1]);
    expect(child).toBeGreaterThan(0);
    expect(isProcessAlive(child)).toBe(false);
  });

  test('a run that is given up is rejected with the reason, and leaves nothing', async () => {
    const stop = new AbortController();
    await write({ 'package.json': '{}', 'a.test.js': '' });
    const running = run({ signal: stop.signal }, { command: 'echo begun; sleep 60', runner: 'tap' });
    running.catch(() => undefined);
    await expect.poll(() => lines).toContain('begun');
    stop.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    expect(await readdir(join(base, 'scratch'))).toEqual([]);
  });
});

describe('any other command', () => {
  const XML = '<testsuites><testsuite name="s"><testcase name="010 a" classname="s"/></testsuite></testsuites>';
  const LCOV = 'SF:src/a.js\nDA:1,1\nDA:2,0\nend_of_record\n';

  test('JUnit XML and lcov from where they are configured, and both are taken away again', async () => {
    await write({ 'make.sh': `mkdir -p out; echo '${XML}' > out/junit.xml; printf '${LCOV}' > out/lcov.info` });
    const settings = { command: 'sh make.sh', report: 'out/*.xml', coverage: 'out/lcov.info' };
    const found = await run({ coverage: true }, settings);
    expect(found).toMatchObject({ outcome: 'passed', cases: [{ name: 's > 010 a' }] });
    expect(found.coverage).toEqual([{ file: 'src/a.js', lines: 2, covered: 1, missed: [2] }]);
    expect(await readdir(join(directory, 'out'))).toEqual([]);
  });

  test('a report from an earlier time is none', async () => {
    await write({ 'junit.xml': XML, 'lcov.info': LCOV });
    const found = await run({ coverage: true }, { command: 'true', report: 'junit.xml', coverage: 'lcov.info' });
    expect(found).toMatchObject({ outcome: 'no-report', coverage: null });
    expect(await readdir(directory)).toEqual(['junit.xml', 'lcov.info']);
  });

  test('TAP from standard output', async () => {
    const found = await run({}, { command: "printf 'ok 1 - a\\nnot ok 2 - b\\n1..2\\n'", runner: 'tap' });
    expect(brief(found)).toEqual(['passed null: a', 'failed null: b']);
    expect(found.outcome).toBe('failed');
  });

  test('a command that fails though its report names no failure has failed', async () => {
    const found = await run({}, { command: "printf 'ok 1 - a\\n1..1\\n'; echo oops >&2; exit 3", runner: 'tap' });
    expect(found.outcome).toBe('failed');
    expect(found.loadFailures[0]?.message).toContain('oops');
  });
});

test('of several calls of a runner, one that fails does not keep the others from running', async () => {
  const test = (name: string, body: string): string => `require('node:test').test('${name}', () => { ${body} });`;
  await write({
    'package.json': JSON.stringify({
      scripts: { a: 'node --test a/*', test: 'npm run a && X=1 node --test b/* && touch c' },
    }),
    'a/x.test.js': test('fails', 'throw new Error("x")'),
    'b/y.test.js': test('passes', ''),
  });
  const found = await run({});
  expect(brief(found)).toEqual(['failed a/x.test.js: fails', 'passed b/y.test.js: passes']);
  expect(found).toMatchObject({ outcome: 'failed', exitCode: 1 });
});

test('vitest: outcomes, load failures, errors outside of tests', async () => {
  await mkdir(join(directory, 'node_modules'));
  for (const name of ['vitest', 'vite', '.bin']) await symlink(join(ours, name), join(directory, 'node_modules', name));
  await write({
    'package.json': '{"type":"module","scripts":{"test":"vitest"}}',
    'test/ok.test.js': `import { beforeAll, describe, expect, test } from 'vitest';
      describe('outer', () => { test('010 works', () => {}); test('020 fails', () => expect(1).toBe(2)); test.skip('030', () => {});
      test.fails('040', () => { throw new Error('x'); }); });
      describe('behind', () => { beforeAll(() => { throw new Error('hook'); }); test('050', () => {}); });`,
    'test/missing.test.js': `import { test } from 'vitest'; import { b } from '../src/b'; test('x', () => b());`,
    'test/syntax.test.js': `import { test } from 'vitest'; test('x', () => {`,
    'test/late.test.js': `import { test } from 'vitest'; test('060', async () => {
      setTimeout(() => { throw new Error('too late'); }, 5); await new Promise((done) => setTimeout(done, 50)); });`,
  });
  const before = await filesInWorktree();
  const found = await run({ coverage: true });
  expect(brief(found).toSorted()).toEqual([
    'failed test/ok.test.js: behind > 050',
    'failed test/ok.test.js: outer > 020 fails',
    'passed test/late.test.js: 060',
    'passed test/ok.test.js: outer > 010 works',
    'skipped test/ok.test.js: outer > 030',
    'skipped test/ok.test.js: outer > 040',
  ]);
  expect(found.loadFailures.map(({ file }) => String(file)).toSorted()).toEqual([
    'test/late.test.js',
    'test/missing.test.js',
    'test/syntax.test.js',
  ]);
  expect(notThere(found, 'test/missing.test.js', ['src/b.js'])).toBe(true);
  expect(notThere(found, 'test/syntax.test.js', ['src/b.js'])).toBe(false);
  expect(found.coverage).toBeNull();
  expect(await filesInWorktree()).toEqual(before);
  // What selects nothing runs all.
  expect(brief(await run({ files: ['test/gone.test.js'] }))).toEqual(brief(await run()));
});

const hasPytest = isThere('python3', '-m', 'pytest', '--version');
test.skipIf(!hasPytest)('pytest (skipped where it is not installed)', async () => {
  await write({
    'pkg/__init__.py': '',
    'pkg/a.py': 'def f(x):\n    if x:\n        return 1\n    return 2\n',
    'tests/test_ok.py': `import pytest\nfrom pkg.a import f\n
class TestF:
    def test_010_works(self): assert f(True) == 1\n
def test_020_fails(): assert f(True) == 2\n
@pytest.mark.xfail(strict=True)
def test_030_xpass(): pass\n
@pytest.mark.xfail
def test_040_xfail(): assert 0\n`,
    'tests/test_missing.py': 'from pkg.b import y\n\ndef test_x(): pass\n',
    'tests/test_name.py': 'from pkg.a import y\n\ndef test_x(): pass\n',
    'tests/test_syntax.py': 'def x(:\n',
  });
  const before = await filesInWorktree();
  // Named, as looking for it takes a while where Python starts slowly.
  const command = 'python3 -m pytest';
  const found = await run({ coverage: true }, { command });
  expect(brief(found)).toEqual([
    'passed tests/test_ok.py: TestF > test_010_works',
    'failed tests/test_ok.py: test_020_fails',
    'failed tests/test_ok.py: test_030_xpass',
    'skipped tests/test_ok.py: test_040_xfail',
  ]);
  expect(notThere(found, 'tests/test_missing.py', ['pkg/b.py'])).toBe(true);
  expect(notThere(found, 'tests/test_name.py', [], ['pkg/a.py'])).toBe(true);
  expect(notThere(found, 'tests/test_syntax.py', ['pkg/b.py'], ['pkg/a.py'])).toBe(false);
  if (isThere('python3', '-c', 'import pytest_cov'))
    expect(found.coverage).toContainEqual({ file: 'pkg/a.py', lines: 4, covered: 3, missed: [4] });
  expect(await filesInWorktree()).toEqual(before);
  await rm(join(directory, 'tests'), { recursive: true });
  expect(await run({}, { command })).toMatchObject({ outcome: 'no-tests', exitCode: 5 });
});

test.skipIf(!isThere('go', 'version'))('go test (skipped where it is not installed)', async () => {
  await write({
    'go.mod': 'module example.com/m\n\ngo 1.19\n',
    'good/good.go': 'package good\n\nfunc Add(a, b int) int {\n\tif a == 0 {\n\t\treturn b\n\t}\n\treturn a + b\n}\n',
    'good/good_test.go': `package good\n\nimport "testing"\n
func Test010(t *testing.T) {\n\tt.Run("sub one", func(t *testing.T) { if Add(1, 1) != 2 { t.Fatal("x") } })\n}\n
func Test020(t *testing.T) { t.Fatal("no") }\nfunc Test030(t *testing.T) { t.Skip("later") }\n`,
    'undef/a.go': 'package undef\n',
    'undef/a_test.go': 'package undef\n\nimport "testing"\n\nfunc TestX(t *testing.T) { Missing() }\n',
    'away/a_test.go':
      'package away\n\nimport (\n\t"testing"\n\n\t"example.com/m/fresh"\n)\n\nfunc TestX(t *testing.T) { fresh.Go() }\n',
    'bad/a_test.go': 'package bad\n\nfunc TestX(\n',
    'none/a.go': 'package none\n',
  });
  const before = await filesInWorktree();
  const found = await run({ coverage: true });
  expect(brief(found)).toEqual([
    'passed good/good_test.go: Test010',
    'passed good/good_test.go: Test010 > sub_one',
    'failed good/good_test.go: Test020',
    'skipped good/good_test.go: Test030',
  ]);
  expect(found.loadFailures.map(({ file }) => String(file)).toSorted()).toEqual(['away', 'bad', 'undef']);
  expect(notThere(found, 'undef', ['undef/b.go'])).toBe(true);
  expect(notThere(found, 'undef', ['good/b.go'])).toBe(false);
  expect(notThere(found, 'away', ['fresh/a.go'])).toBe(true);
  expect(notThere(found, 'bad', ['bad/a.go'])).toBe(false);
  expect(lines.some((line) => line.startsWith('{'))).toBe(false);
  const chosen = await run({ coverage: true, files: ['good/good_test.go'] });
  expect(chosen.coverage).toContainEqual({ file: 'good/good.go', lines: 5, covered: 3, missed: [5, 6] });
  expect(chosen.command).toBe('go test ./good');
  expect(await run({ files: ['none/a_test.go'] })).toMatchObject({ command: 'go test ./...' });
  expect(await filesInWorktree()).toEqual(before);
});

test.skipIf(!isThere('go', 'version'))('what measures coverage decides nothing (skipped without Go)', async () => {
  await write({
    'go.mod': 'module example.com/m\n\ngo 1.19\n',
    'good/good.go': 'package good\n\nfunc Add(a, b int) int { return a + b }\n',
    'good/good_test.go': 'package good\n\nimport "testing"\n\nfunc Test010(t *testing.T) { Add(1, 1) }\n',
    // With -coverpkg=./... it is a part of every test binary, and refuses the flags of the tests.
    'tool/tool.go': 'package tool\n\nimport "flag"\n\nfunc init() { flag.Parse() }\n',
  });
  const found = await run({ coverage: true });
  expect(found).toMatchObject({ outcome: 'passed', loadFailures: [], coverage: null });
  expect(brief(found)).toEqual(['passed good/good_test.go: Test010']);
});

// `sort -C`: in this order. Before 1.74, cargo ends at the first file that doesn't compile.
const newCargo = 'printf "1.74\\n%s\\n" "$(cargo --version | cut -d" " -f2)" | sort -C -V';
test.skipIf(!isThere('sh', '-c', newCargo))('cargo test (skipped without cargo 1.74)', async () => {
  await write({
    'Cargo.toml': '[package]\nname = "my-m"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/lib.rs': `pub mod inner;\npub fn add(a: i32, b: i32) -> i32 { a + b }\n#[cfg(test)]\nmod tests {\n    use super::*;
    #[test] fn works() { assert_eq!(add(1, 1), 2) }\n    #[test] fn breaks() { assert_eq!(add(1, 1), 3, "why not") }
    #[test] #[ignore] fn later() {}\n}\n`,
    'src/inner.rs': '#[cfg(test)]\nmod tests {\n    #[test] fn deep() {}\n}\n',
    'tests/integ.rs': '#[test]\nfn integ() { assert_eq!(my_m::add(1, 2), 3) }\n',
  });
  const before = await filesInWorktree();
  const found = await run();
  expect(brief(found).toSorted()).toEqual([
    'failed src/lib.rs: tests > breaks',
    'passed src/lib.rs: inner > tests > deep',
    'passed src/lib.rs: tests > works',
    'passed tests/integ.rs: integ',
    'skipped src/lib.rs: tests > later',
  ]);
  expect(found.cases.find(({ outcome }) => outcome === 'failed')?.message).toContain('why not');
  expect(await filesInWorktree()).toEqual(before);
  await write({
    'tests/newt.rs': 'use my_m::newmod::thing;\n#[test]\nfn n() { thing(); }\n',
    'tests/called.rs': '#[test]\nfn n() { my_m::sub(1); }\n',
    'tests/wrong.rs': '#[test]\nfn n() { let _x: i32 = "s"; }\n',
  });
  const broken = await run({ files: ['tests/newt.rs', 'tests/called.rs', 'tests/wrong.rs'] });
  expect(broken).toMatchObject({ outcome: 'failed', cases: [] });
  expect(notThere(broken, 'tests/newt.rs', ['src/newmod.rs'], ['src/lib.rs'])).toBe(true);
  expect(notThere(broken, 'tests/called.rs', [], ['src/lib.rs'])).toBe(true);
  expect(notThere(broken, 'tests/wrong.rs', [], ['src/lib.rs'])).toBe(false);
});

describe.skipIf(!isThere('python3', '--version'))('unittest', () => {
  const calc = `import unittest

from calc import add


class Calc(unittest.TestCase):
    def test_010_adds(self):
        self.assertEqual(add(1, 2), 3)

    def test_020_fails(self):
        self.assertEqual(add(1, 2), 4)

    @unittest.skip("later")
    def test_030_later(self):
        pass
`;

  test('each test is told by its file, name and outcome; a file that can’t load is named; nothing is left behind', async () => {
    await write({
      'calc.py': 'def add(a, b):\n    return a + b\n',
      'test_calc.py': calc,
      'test_new.py': 'import unittest\nfrom brand_new import thing\n',
    });
    const before = await filesInWorktree();
    const found = await run();
    expect(brief(found).toSorted()).toEqual([
      expect.stringMatching(/^failed test_calc\.py: .*test_020_fails/),
      expect.stringMatching(/^passed test_calc\.py: .*test_010_adds/),
      expect.stringMatching(/^skipped test_calc\.py: .*test_030_later/),
    ]);
    expect(notThere(found, 'test_new.py', ['brand_new.py'])).toBe(true);
    expect(await filesInWorktree()).toEqual(before);
    await write({ 'test_other.py': calc.replace('class Calc', 'class Other') });
    expect((await run()).cases).toHaveLength(6);
    expect(brief(await run({ files: ['test_calc.py'] })).every((line) => line.includes('test_calc.py'))).toBe(true);
  });
});
