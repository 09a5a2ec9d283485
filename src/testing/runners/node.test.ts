import { expect, test } from 'vitest';
import { parseNodeLines } from './node.ts';

const inWorktree = (path: string): string | null =>
  path.startsWith('/w/') ? path.slice(3) : path.startsWith('/') ? null : path;

function read(...lines: object[]) {
  const whole = lines.map((line) => ({
    type: 'pass',
    kind: 'test',
    file: '/w/test/a.test.js',
    excused: false,
    failure: null,
    message: null,
    printed: '',
    ...line,
  }));
  return parseNodeLines(
    [{ type: 'begin' }, ...whole, { type: 'end' }].map((line) => JSON.stringify(line)).join('\n'),
    inWorktree,
    inWorktree,
  );
}

test('suites are joined and left out, tests with subtests stay', () => {
  const reading = read(
    { names: ['outer', 'inner', 'a'] },
    { names: ['outer', 'inner', 'b'], type: 'fail', failure: 'testCodeFailure', message: 'Error: x' },
    { names: ['outer', 'inner', 'c'], excused: true, type: 'fail', message: 'todo' },
    { names: ['outer', 'inner'], kind: 'suite', type: 'fail', failure: 'subtestsFailed' },
    { names: ['outer'], kind: 'suite', type: 'fail', failure: 'subtestsFailed' },
    { names: ['parent', 'child'] },
    { names: ['parent'] },
  );
  expect(reading?.cases.map(({ name, outcome, message }) => [name, outcome, message])).toEqual([
    ['outer > inner > a', 'passed', null],
    ['outer > inner > b', 'failed', 'Error: x'],
    ['outer > inner > c', 'skipped', null],
    ['parent > child', 'passed', null],
    ['parent', 'passed', null],
  ]);
  expect(reading?.loadFailures).toEqual([]);
});

test.each(['/w/test/a.test.js', 'test/a.test.js'])(
  'a failed test named %s is a file that could not be loaded',
  (name) => {
    const reading = read({
      names: [name],
      type: 'fail',
      message: 'test failed (exit code 1)',
      printed: 'SyntaxError: x\n',
    });
    expect(reading).toEqual({
      cases: [],
      loadFailures: [{ file: 'test/a.test.js', message: 'SyntaxError: x\n\ntest failed (exit code 1)' }],
    });
  },
);

test('a file without tests passes as a test of its name, which is none', () => {
  expect(read({ names: ['test/a.test.js'] })).toEqual({ cases: [], loadFailures: [] });
});

test('tests behind a failed hook have the reason of the hook; a hook after them is a failure of its own', () => {
  const reading = read(
    { names: ['h', 'x'], type: 'fail', failure: 'cancelledByParent', message: 'test did not finish' },
    { names: ['h'], kind: 'suite', type: 'fail', failure: 'hookFailed', message: 'Error: before' },
    { names: ['k', 'y'] },
    { names: ['k'], kind: 'suite', type: 'fail', failure: 'hookFailed', message: 'Error: after' },
  );
  expect(reading?.cases.map(({ name, message }) => [name, message])).toEqual([
    ['h > x', 'Error: before'],
    ['k > y', null],
  ]);
  expect(reading?.loadFailures).toEqual([{ file: 'test/a.test.js', message: 'Error: after' }]);
});

test('a reporter that began and met nothing has an empty report; one that never began has none', () => {
  expect(read()).toEqual({ cases: [], loadFailures: [] });
  expect(parseNodeLines('', inWorktree, inWorktree)).toBeNull();
});

test('a report that never came to its end is none', () => {
  const text = '{"type":"begin"}\n{"type":"pass","kind":"te';
  expect(parseNodeLines(text, inWorktree, inWorktree)).toBeNull();
});
