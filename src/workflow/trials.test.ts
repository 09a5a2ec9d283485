import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { testJournal } from '../../test/support/test-journal.ts';
import type { Config } from '../core/config.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { TestRun } from '../testing/port.ts';
import { NO_BASELINE } from '../verification/baseline.ts';
import { createTrials, describeTrial } from './writing.ts';

const RUN: TestRun = {
  command: 'npm test',
  outcome: 'failed',
  exitCode: 1,
  durationMs: 5,
  cases: [],
  loadFailures: [],
  coverage: null,
  tail: 'the tail',
};

test('a run is described by its counts, and what failed and why, within bounds', () => {
  const failed = (name: string, message: string) => ({
    file: 'a.test.js',
    name,
    outcome: 'failed' as const,
    message,
  });
  const cases = [
    ...Array.from({ length: 30 }, (_, at) => failed(`new ${at}`, 'x'.repeat(5_000))),
    { ...failed('fine', ''), outcome: 'passed' as const },
  ];
  const text = describeTrial(
    { ...RUN, cases: [failed('old', 'one\n\ntwo'), ...cases] },
    {
      others: ['a.test.js\0old'],
      notLoaded: [],
    },
  );
  expect(text.split('\n').slice(0, 5)).toEqual([
    'npm test: 1 passed, 31 failed.',
    '',
    'Failed: "old" (a.test.js) (before your change too)',
    '  one',
    '  two',
  ]);
  expect(text.length).toBeLessThan(17_000);
  expect(text).toMatch(/… and \d+ more failures$/);
});

test('a run without a report is described by the end of its output', () => {
  const text = describeTrial({ ...RUN, outcome: 'timed-out' }, NO_BASELINE);
  expect(text).toBe('the tests did not end in time: npm test.\n\nthe tail');
});

test.each([
  { what: 'number', durationMs: 1, allowed: 10 },
  { what: 'time', durationMs: 40, allowed: 3 },
])('runs of one call are bounded in $what, the same after a restart', async ({ durationMs, allowed }) => {
  const file = join(await testFolder(), 'journal.db');
  const bounded = async (isStored: boolean): Promise<number> => {
    const journal = testJournal(file);
    const worktree: Partial<Worktree> = {
      snapshot: async () => 'tree',
      restore: async () => undefined,
      dropIgnored: async () => [],
    };
    const run = createTrials(
      {
        worktree: worktree as Worktree,
        setUp: {
          first: async () => false,
          ensure: async () => undefined,
          same: async () => ({ removed: [] }),
          afterBaseline: async () => undefined,
          afterWriting: async (_, tree) => ({ tree, problem: null }),
        },
        journal,
        config: { tests: { timeoutMs: 100 } } as Config,
        mask: (text) => text,
        portable: (text) => text,
      },
      {
        suite: { runner: 'node', command: 'x', folders: [''], isTestFile: () => true, run: async () => RUN },
        runs: {
          baseline: () => expect.unreachable('no baseline'),
          after: () => expect.unreachable('no gate'),
          once: async () => (isStored ? expect.unreachable('it ran once more') : { ...RUN, durationMs, dropped: [] }),
        },
        baseline: NO_BASELINE,
      },
      { step: 'code-1', phase: 'code', start: 'tree' },
    );
    for (let count = 0; ; count++) {
      if ('refused' in (await run(null))) {
        journal.close();
        return count;
      }
    }
  };
  expect(await bounded(false)).toBe(allowed);
  expect(await bounded(true)).toBe(allowed);
});
