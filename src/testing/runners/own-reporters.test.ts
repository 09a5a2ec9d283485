import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createPathInWorktree, type Reading } from '../reports/report.ts';
import type { Runner, RunPlace } from '../runner.ts';
import { testScript } from '../runners.ts';
import { node } from './node.ts';
import { jest, vitest } from './own-reporters.ts';

/*
 * Our reporters, as the runners load and call them. That they are called so is shown by the tests that start the runners.
 */

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'agentos-reporter-'));
});
afterEach(() => rm(root, { recursive: true }));

/** What is read after the reporter was used; `use` gets its path. */
async function reported(runner: Runner, script: string, use: (reporter: string) => Promise<void>) {
  const folder = join(root, '.run');
  await mkdir(folder);
  const pathInWorktree = createPathInWorktree(root);
  const place: RunPlace = {
    script: testScript(script),
    worktree: root,
    pathInWorktree,
    env: {},
    folder,
    caches: folder,
    report: null,
    coverage: false,
    ask: async () => ({ stdout: '', stderr: '', exitCode: 0 }),
  };
  for (const call of place.script.calls) await runner.change?.(call, 0, place);
  await use(join(folder, `reporter-0.${runner === jest ? 'cjs' : 'mjs'}`));
  return brief(await runner.read(place, { stdout: '', stderr: '', exitCode: 1 }));
}

function brief(report: Reading | null): string[] {
  if (report === null) return ['no report'];
  const said = (message: string | null): string => (message === null ? '' : `: ${message}`);
  return [
    ...report.cases.map(({ file, name, outcome, message }) => `${outcome} ${file} ${name}${said(message)}`),
    ...report.loadFailures.map(({ file, message }) => `broken ${file}${said(message)}`),
  ];
}

describe('node', () => {
  type Event = { type: string; data: object };
  const ended = (type: 'pass' | 'fail', nesting: number, name: string, more: object = {}): Event => ({
    type: `test:${type}`,
    data: { nesting, name, file: join(root, 'test/a.test.js'), details: {}, ...more },
  });
  const started = (nesting: number, name: string): Event => ({ type: 'test:start', data: { nesting, name } });
  const failed = (failureType: string, message: string, type?: 'suite') => ({
    details: { type, error: { failureType, cause: { message } } },
  });
  const suite = { details: { type: 'suite' } };
  const played = (...events: Event[]) =>
    reported(node, 'node --test', async (reporter) => {
      const { default: report } = (await import(reporter)) as {
        default: (source: AsyncIterable<Event>) => AsyncIterable<string>;
      };
      async function* source() {
        yield* events;
      }
      for await (const text of report(source())) expect(text).toBe('');
    });

  test('suites are joined and left out, tests with subtests stay', async () => {
    expect(
      await played(
        started(0, 'outer'),
        started(1, 'inner'),
        ended('pass', 2, 'a'),
        ended('fail', 2, 'b', failed('testCodeFailure', 'Error: x')),
        ended('fail', 2, 'c', { todo: true }),
        ended('fail', 1, 'inner', failed('subtestsFailed', '2 failed', 'suite')),
        ended('pass', 0, 'outer', suite),
        started(0, 'parent'),
        ended('pass', 1, 'child'),
        ended('pass', 0, 'parent'),
      ),
    ).toEqual([
      'passed test/a.test.js outer > inner > a',
      'failed test/a.test.js outer > inner > b: Error: x',
      'skipped test/a.test.js outer > inner > c',
      'passed test/a.test.js parent > child',
      'passed test/a.test.js parent',
    ]);
  });

  test('a failed test with the name of its file is a file that could not be loaded; one that passes has no tests', async () => {
    const file = join(root, 'test/a.test.js');
    const failure = { details: { error: { message: 'test failed', exitCode: 1 } } };
    expect(
      await played(
        { type: 'test:stderr', data: { file, message: 'SyntaxError: x\n' } },
        ended('fail', 0, file, failure),
        ended('pass', 0, file),
      ),
    ).toEqual(['broken test/a.test.js: SyntaxError: x\n\ntest failed (exit code 1)']);
  });

  test('tests behind a failed hook have the reason of the hook; a hook after them is a failure of its own', async () => {
    expect(
      await played(
        started(0, 'h'),
        ended('fail', 1, 'x', failed('cancelledByParent', 'test did not finish')),
        ended('fail', 0, 'h', failed('hookFailed', 'Error: before', 'suite')),
        started(0, 'k'),
        ended('pass', 1, 'y'),
        ended('fail', 0, 'k', failed('hookFailed', 'Error: after', 'suite')),
      ),
    ).toEqual([
      'failed test/a.test.js h > x: Error: before',
      'passed test/a.test.js k > y',
      'broken test/a.test.js: Error: after',
    ]);
  });

  test('without an event there is an empty report; without a reporter that came to its end there is none', async () => {
    expect(await played()).toEqual([]);
    await rm(join(root, '.run'), { recursive: true });
    expect(await reported(node, 'node --test', async () => {})).toEqual(['no report']);
  });
});

describe('vitest', () => {
  const error = (message: string) => ({ message, stack: `Error: ${message}` });
  const read = [
    'failed a.test.ts before > x: Error: hook',
    'failed a.test.ts before > y: Error: hook',
    'passed a.test.ts after > z',
    'skipped a.test.ts later',
    'skipped a.test.ts expected to fail',
    'failed a.test.ts fails: Error: no',
    'broken a.test.ts: Error: late hook',
    'broken b.test.ts: Error: not loaded',
    'broken null: Error: nowhere',
  ];
  const called = (how: (Lines: new () => Record<string, (...args: unknown[]) => void>) => void) =>
    reported(vitest, 'vitest run', async (reporter) => how((await import(reporter)).default));

  test('from version 3 on', async () => {
    const of = (name: string, state: string, errors: object[] = [], options = {}) => ({
      name,
      options,
      result: () => ({ state, errors }),
    });
    const suite = (name: string, children: object[], errors: object[] = []) => ({
      name,
      children,
      errors: () => errors,
    });
    const modules = [
      {
        moduleId: join(root, 'a.test.ts'),
        ...suite('a.test.ts', [
          suite('before', [of('x', 'skipped'), of('y', 'pending')], [error('hook')]),
          suite('after', [of('z', 'passed')], [error('late hook')]),
          of('later', 'skipped'),
          of('expected to fail', 'passed', [], { fails: true }),
          of('fails', 'failed', [error('no')]),
        ]),
      },
      { moduleId: join(root, 'b.test.ts'), ...suite('b.test.ts', [], [error('not loaded')]) },
    ];
    expect(await called((Lines) => new Lines()['onTestRunEnd']?.(modules, [error('nowhere')]))).toEqual(read);
  });

  test('before version 3', async () => {
    const of = (name: string, state?: string, errors: object[] = [], fails = false) => ({
      name,
      fails,
      result: { state, errors },
    });
    const suite = (name: string, tasks: object[], errors: object[] = []) => ({ name, tasks, result: { errors } });
    const files = [
      {
        filepath: join(root, 'a.test.ts'),
        ...suite('a.test.ts', [
          suite('before', [of('x'), of('y')], [error('hook')]),
          suite('after', [of('z', 'pass')], [error('late hook')]),
          of('later', 'skip'),
          of('expected to fail', 'pass', [], true),
          of('fails', 'fail', [error('no')]),
        ]),
      },
      { filepath: join(root, 'b.test.ts'), ...suite('b.test.ts', [], [error('not loaded')]) },
    ];
    expect(await called((Lines) => new Lines()['onFinished']?.(files, [error('nowhere')]))).toEqual(read);
  });
});

test('jest: suites are joined, every status has its outcome; a file that can not be loaded is no case', async () => {
  const one = (title: unknown, status: string, more: object = {}) => ({
    ancestorTitles: ['outer', 'inner'],
    title,
    status,
    failing: false,
    failureMessages: [],
    ...more,
  });
  const testResults = [
    one('passes', 'passed'),
    one('fails', 'failed', { failureMessages: ['\u001B[31mError: expect(received)\u001B[39m\n    at x'] }),
    one('sk', 'pending'),
    one('td', 'todo'),
    one('xf', 'passed', { failing: true }),
    one([2010, 6], 'passed'),
  ];
  const found = await reported(jest, 'jest', async (reporter) => {
    const Lines = createRequire(import.meta.url)(reporter) as new () => Record<string, (...args: unknown[]) => void>;
    const lines = new Lines();
    const result = (name: string, more: object) =>
      lines['onTestResult']?.({}, { testFilePath: join(root, name), testResults: [], ...more });
    result('ok.test.js', { testResults, failureMessage: '● outer › inner › fails' });
    result('missing.test.js', { failureMessage: "Cannot find module '../src/b' from 'test/missing.test.js'" });
    result('after.test.js', { testResults: [one('x', 'passed')], testExecError: {}, failureMessage: 'hook' });
    lines['onRunComplete']?.();
  });
  expect(found).toEqual([
    'passed ok.test.js outer > inner > passes',
    'failed ok.test.js outer > inner > fails: Error: expect(received)\n    at x',
    'skipped ok.test.js outer > inner > sk',
    'skipped ok.test.js outer > inner > td',
    'skipped ok.test.js outer > inner > xf',
    'passed ok.test.js outer > inner > 2010,6',
    'passed after.test.js outer > inner > x',
    "broken missing.test.js: Cannot find module '../src/b' from 'test/missing.test.js'",
    'broken after.test.js: hook',
  ]);
});

test('a report that was cut off is none', async () => {
  const found = await reported(jest, 'jest', async (reporter) => {
    const Lines = createRequire(import.meta.url)(reporter) as new () => Record<string, (...args: unknown[]) => void>;
    new Lines()['onTestResult']?.({}, { testFilePath: join(root, 'a.js'), testResults: [], failureMessage: 'x' });
    expect(await readFile(reporter.replace(/cjs$/, 'lines'), 'utf8')).toContain('broken');
  });
  expect(found).toEqual(['no report']);
});
