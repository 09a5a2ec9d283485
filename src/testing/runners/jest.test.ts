import { expect, test } from 'vitest';
import { parseJestJson } from './jest.ts';

const read = (report: unknown) =>
  parseJestJson(JSON.stringify(report), (path) => (path.startsWith('/w/') ? path.slice(3) : null));

const result = (name: string, status: string, message: string, assertionResults: unknown[] = []) => ({
  name: `/w/test/${name}`,
  status,
  message,
  assertionResults,
});

test("Jest's report: suites are joined, and every status has its outcome", () => {
  const one = (title: string, status: string, more: object = {}) => ({
    ancestorTitles: ['outer', 'inner'],
    title,
    status,
    failing: false,
    failureMessages: [],
    ...more,
  });
  const reading = read({
    success: false,
    testResults: [
      result('ok.test.js', 'failed', '  ● outer › inner › fails\n\n    Expected: 2', [
        one('passes', 'passed'),
        one('fails', 'failed', {
          failureMessages: ['\u001B[31mError: expect(received).toBe(expected)\u001B[39m\n    at x'],
        }),
        one('sk', 'pending'),
        one('td', 'todo'),
        one('xf', 'passed', { failing: true }),
      ]),
    ],
  });
  expect(reading).toEqual({
    cases: [
      { file: 'test/ok.test.js', name: 'outer > inner > passes', outcome: 'passed', message: null },
      {
        file: 'test/ok.test.js',
        name: 'outer > inner > fails',
        outcome: 'failed',
        message: 'Error: expect(received).toBe(expected)\n    at x',
      },
      { file: 'test/ok.test.js', name: 'outer > inner > sk', outcome: 'skipped', message: null },
      { file: 'test/ok.test.js', name: 'outer > inner > td', outcome: 'skipped', message: null },
      { file: 'test/ok.test.js', name: 'outer > inner > xf', outcome: 'skipped', message: null },
    ],
    loadFailures: [],
  });
});

test('a file that Jest can not load is no case, and an error after its tests is told of beside them', () => {
  const passed = { ancestorTitles: ['h'], title: 'x', status: 'passed', failureMessages: [] };
  const reading = read({
    testResults: [
      result(
        'missing.test.js',
        'failed',
        "  ● Test suite failed to run\n\n    Cannot find module '../src/b' from 'test/missing.test.js'\n",
      ),
      result('after.test.js', 'failed', '\n\n  ● Test suite failed to run\n\n    hook\n', [passed]),
    ],
  });
  expect(reading?.cases.map(({ name, outcome }) => [name, outcome])).toEqual([['h > x', 'passed']]);
  expect(reading?.loadFailures.map(({ file, message }) => [file, message.split('\n').at(-1)?.trim()])).toEqual([
    ['test/missing.test.js', "Cannot find module '../src/b' from 'test/missing.test.js'"],
    ['test/after.test.js', 'hook'],
  ]);
});

test('no test files is an empty report; anything else is none', () => {
  expect(read({ numTotalTests: 0, success: true, testResults: [] })).toEqual({ cases: [], loadFailures: [] });
  expect(read({ success: true })).toBeNull();
  expect(parseJestJson('{"testResults": [', () => null)).toBeNull();
});
