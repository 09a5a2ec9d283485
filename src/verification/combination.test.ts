import { expect, test } from 'vitest';
import type { TestCase, TestRun } from '../testing/port.ts';
import { briefly, brokenIn } from './green.ts';
import { baselineOf } from './test-results.ts';

const FILE = 'test/a.test.js';

function caseOf(text: string): TestCase {
  const [outcome = 'passed', name = '', file = FILE] = text.split(':');
  const message = outcome === 'failed' ? 'Error: wrong' : null;
  return { file: file === '' ? null : file, name, outcome: outcome as TestCase['outcome'], message };
}

function runOf(cases: string[], more: Partial<TestRun> = {}): TestRun {
  return {
    command: 'npm test',
    outcome: cases.some((one) => one.startsWith('failed')) ? 'failed' : cases.length === 0 ? 'no-tests' : 'passed',
    exitCode: 0,
    durationMs: 1,
    cases: cases.map(caseOf),
    loadFailures: [],
    coverage: null,
    tail: '',
    ...more,
  };
}

interface Case {
  what: string;
  base: string[];
  run: TestRun;
  proven?: string[];
  changed?: string[];
  texts: string[];
}

const cases: Case[] = [
  { what: 'nothing changed', base: ['passed:a'], run: runOf(['passed:a']), texts: [] },
  { what: 'what was red before', base: ['failed:a', 'skipped:b'], run: runOf(['failed:a', 'failed:b']), texts: [] },
  {
    what: 'a test that passed before',
    base: ['passed:a'],
    run: runOf(['failed:a']),
    texts: [`"a" (${FILE}) passed before and fails now: Error: wrong`],
  },
  { what: 'a new test', base: [], run: runOf(['failed:a']), texts: [`"a" (${FILE}) fails: Error: wrong`] },
  {
    what: 'a test that is skipped now',
    base: ['passed:a'],
    run: runOf(['skipped:a', 'passed:b']),
    texts: [`"a" (${FILE}) passed before and is skipped now`],
  },
  {
    what: 'a test that is gone from a file that no branch changes',
    base: ['passed:a', 'passed:b'],
    run: runOf(['passed:b']),
    texts: [`"a" (${FILE}) passed before and is gone`],
  },
  {
    what: 'a test that a branch took out',
    base: ['passed:a', 'passed:b'],
    run: runOf(['passed:b']),
    changed: [FILE],
    texts: [],
  },
  {
    what: 'a test that proves a branch and did not run',
    base: ['passed:a'],
    run: runOf(['passed:a', 'skipped:b c']),
    proven: ['a', 'b c'],
    texts: ['"b c" did not run'],
  },
  { what: 'a name on two lines', base: [], run: runOf(['passed:b\n  c']), proven: ['b c'], texts: [] },
  {
    what: 'a file that can’t be loaded, whose tests are not missing',
    base: ['passed:a', 'passed:b:test/b.test.js'],
    run: runOf(['passed:a'], {
      outcome: 'failed',
      loadFailures: [{ file: 'test/b.test.js', message: 'SyntaxError: no' }],
    }),
    proven: ['b'],
    texts: ["test/b.test.js can't be loaded: SyntaxError: no"],
  },
  { what: 'no tests where there were none', base: [], run: runOf([]), texts: [] },
  { what: 'no tests where there were some', base: ['passed:a'], run: runOf([]), texts: ['no test ran: npm test'] },
  {
    what: 'a suite that hangs',
    base: ['passed:a'],
    run: runOf([], { outcome: 'timed-out' }),
    texts: ['the tests did not end in time: npm test'],
  },
];

test.each(cases)('of $what is said what is broken', ({ base, run, proven = [], changed = [], texts }) => {
  const broken = brokenIn(run, { baseline: baselineOf(runOf(base)), proven, changed: new Set(changed) });
  expect([...broken.values()]).toEqual(texts);
});

test('on one line, a failure is said without its stack', () => {
  const text =
    '"a" fails: AssertionError: not equal:\n\n120 !== 90\n\n    at x (file:///a.js:5:33)\n    at node:internal:1:2\n';
  expect(briefly(text)).toBe('"a" fails: AssertionError: not equal: 120 !== 90');
});
