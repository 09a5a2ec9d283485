import { expect, test } from 'vitest';
import type { TestCase } from '../port.ts';
import { parseVitestNotes, withVitestNotes } from './vitest.ts';

const inWorktree = (path: string): string | null => (path.startsWith('/w/') ? path.slice(3) : null);
const one = (name: string, outcome: TestCase['outcome'], file = 'a.test.ts'): TestCase => ({
  file,
  name,
  outcome,
  message: null,
});

test('tests behind a hook that failed have failed, and a hook after them is a failure of its own', () => {
  const report = {
    cases: [
      one('before > x', 'skipped'),
      one('before > y', 'skipped'),
      one('after > z', 'passed'),
      one('w', 'skipped'),
    ],
    loadFailures: [],
  };
  const notes = {
    unhandled: [],
    suites: [
      { file: '/w/a.test.ts', name: 'before', message: 'Error: hook' },
      { file: '/w/a.test.ts', name: 'after', message: 'Error: late hook' },
    ],
    expected: [],
  };
  const reading = withVitestNotes(report, notes, inWorktree);
  expect(reading.cases.map(({ name, outcome, message }) => [name, outcome, message])).toEqual([
    ['before > x', 'failed', 'Error: hook'],
    ['before > y', 'failed', 'Error: hook'],
    ['after > z', 'passed', null],
    ['w', 'skipped', null],
  ]);
  expect(reading.loadFailures).toEqual([{ file: 'a.test.ts', message: 'Error: late hook' }]);
});

test('a file that could not be loaded is told of once, with more words', () => {
  const reading = withVitestNotes(
    { cases: [], loadFailures: [{ file: 'a.test.ts', message: 'short' }] },
    { unhandled: [], suites: [{ file: '/w/a.test.ts', name: '', message: 'short, and where' }], expected: [] },
    inWorktree,
  );
  expect(reading.loadFailures).toEqual([{ file: 'a.test.ts', message: 'short, and where' }]);
});

test('errors outside of tests are load failures, and a test that is expected to fail is skipped', () => {
  const reading = withVitestNotes(
    { cases: [one('xf', 'passed'), one('xp', 'failed')], loadFailures: [] },
    {
      unhandled: [
        { file: '/w/b.test.ts', message: 'Error: late' },
        { file: null, message: 'Error: nowhere' },
      ],
      suites: [],
      expected: [
        { file: '/w/a.test.ts', name: 'xf' },
        { file: '/w/a.test.ts', name: 'xp' },
      ],
    },
    inWorktree,
  );
  expect(reading.cases.map(({ outcome }) => outcome)).toEqual(['skipped', 'failed']);
  expect(reading.loadFailures).toEqual([
    { file: 'b.test.ts', message: 'Error: late' },
    { file: null, message: 'Error: nowhere' },
  ]);
});

test('notes that were cut off are none', () => {
  expect(parseVitestNotes('{"unhandled":[')).toBeNull();
});
