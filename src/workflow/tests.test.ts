import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../test/support/folder.ts';
import { testItem } from '../../test/support/test-item.ts';
import { testJournal } from '../../test/support/test-journal.ts';
import type { Config } from '../core/config.ts';
import { codeOf } from '../core/errors.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { TestCase, TestOutcome, TestRun, TestSuite } from '../testing/port.ts';
import { createTestRuns, createTrials, describeTrial } from './tests.ts';
import type { WorktreeContext } from './worktree-item.ts';

const SET_UP: WorktreeContext['setUp'] = {
  first: async () => false,
  prepare: async () => [],
  afterBaseline: async () => undefined,
  afterWriting: async (_, tree) => ({ tree, problem: null }),
};
const NO_BASELINE = { passed: [], others: [], notLoaded: [] };
const SUITE: Omit<TestSuite, 'run'> = { runner: 'node', command: 'x', folders: [''], isTestFile: () => true };

interface Played {
  runs: ReturnType<typeof createTestRuns>;
  /** What ran, in which state of the worktree. */
  ran: string[];
  close(): void;
}

/** Test runs with these outcomes, one after another, over a journal that can be opened again. */
function play(file: string, outcomes: TestOutcome[], hasBuild = false): Played {
  const journal = testJournal(file);
  const ran: string[] = [];
  let tree = '';
  let isBuilt = false;
  const run = async (): Promise<TestRun> => {
    const outcome = outcomes.shift() ?? expect.unreachable('it ran once more');
    ran.push(`${tree}: ${outcome}${isBuilt ? ', built' : ''}`);
    const cases: TestCase[] = outcome === 'passed' ? [{ file: null, name: 'a', outcome, message: null }] : [];
    return { command: 'x', outcome, exitCode: 1, durationMs: 1, cases, loadFailures: [], coverage: null, tail: '' };
  };
  const worktree: Pick<Worktree, 'restore' | 'dropIgnored'> = {
    restore: async (wanted) => {
      tree = wanted;
    },
    dropIgnored: async () => [],
  };
  const builds = hasBuild ? { buildFirst: (isWanted: boolean) => void (isBuilt = isWanted) } : {};
  const runs = createTestRuns({
    ...testItem({ journal }),
    suite: { ...SUITE, run, ...builds },
    worktree: worktree as Worktree,
    setUp: SET_UP,
    baseTree: 'base',
  });
  return { runs, ran, close: () => journal.close() };
}

const failure = (run: Promise<unknown>): Promise<unknown> =>
  run.then(
    () => expect.unreachable('it ended well'),
    (error: unknown) => error,
  );

test.each<[string, TestOutcome[], string[]]>([
  ['read at once', ['failed'], ['code: failed']],
  ['late once', ['timed-out', 'passed'], ['code: timed-out', 'code: passed']],
  ['without a report once', ['no-report', 'passed', 'failed'], ['code: no-report', 'base: passed', 'code: failed']],
])('a run that is %s is a result, and stored', async (_, outcomes, expected) => {
  const file = join(await testFolder(), 'journal.db');
  const first = play(file, outcomes);
  const run = await first.runs.run({ step: 'green-1', tree: 'code' });
  expect(first.ran).toEqual(expected);
  first.close();
  const second = play(file, []);
  expect(await second.runs.run({ step: 'green-1', tree: 'code' })).toEqual(run);
  second.close();
});

test.each<[string, TestOutcome[]]>([
  ['can not be started', ['could-not-run']],
  ['is killed', ['killed']],
  ['has no report where the base has none either', ['no-report', 'killed']],
  ['is late, and then killed', ['timed-out', 'killed']],
])('a run that %s fails the attempt, may work later, and is not stored', async (_, outcomes) => {
  const file = join(await testFolder(), 'journal.db');
  const first = play(file, outcomes);
  const error = await failure(first.runs.run({ step: 'green-1', tree: 'code' }));
  expect(error).toMatchObject({ retry: 'transient', problem: { code: 'tests-cannot-run' } });
  first.close();
  const second = play(file, ['passed']);
  expect(await second.runs.run({ step: 'green-1', tree: 'code' })).toMatchObject({ outcome: 'passed' });
  second.close();
});

test.each<[TestOutcome, TestOutcome[]]>([
  ['timed-out', ['timed-out', 'timed-out']],
  ['no-report', ['no-report', 'passed', 'no-report']],
])(
  'a run that is twice %s is reported to the writer in the same words, until a run has a report',
  async (outcome, outcomes) => {
    const file = join(await testFolder(), 'journal.db');
    const first = play(file, [...outcomes]);
    const told = await first.runs.run({ step: 'green-1', tree: 'code' });
    expect(told).toMatchObject({ outcome });
    first.close();
    const second = play(file, [...outcomes]);
    expect(await second.runs.run({ step: 'green-1', tree: 'code' })).toEqual(told);
    expect(second.ran).toHaveLength(1);
    second.close();
    const third = play(file, ['passed']);
    expect(await third.runs.run({ step: 'green-1', tree: 'code' })).toMatchObject({ outcome: 'passed' });
    third.close();
  },
);

test.each<[string, TestOutcome[], string]>([
  ['is late twice', ['timed-out', 'timed-out'], 'ceiling'],
  ['has no report', ['no-report'], 'transient'],
  ['is refused', ['no-tests'], 'permanent'],
])('a baseline that %s is not stored', async (_, outcomes, retry) => {
  const file = join(await testFolder(), 'journal.db');
  const first = play(file, outcomes);
  const error = await failure(first.runs.runBase(async () => 'nothing ran'));
  expect(codeOf(error)).toBe('tests-cannot-run');
  expect(error).toMatchObject({ retry });
  first.close();
  const second = play(file, ['passed']);
  expect(await second.runs.runBase(async () => null)).toMatchObject({ outcome: 'passed' });
  expect(second.ran).toEqual(['base: passed']);
  second.close();
});

test('a baseline that a build makes usable is built in every later run, also of a resumed item', async () => {
  const file = join(await testFolder(), 'journal.db');
  const refuse = async ({ outcome }: TestRun): Promise<string | null> => (outcome === 'passed' ? null : 'nothing ran');
  const first = play(file, ['no-tests', 'passed', 'failed'], true);
  expect(await first.runs.runBase(refuse)).toMatchObject({ outcome: 'passed' });
  await first.runs.run({ step: 'green-1', tree: 'code' });
  expect(first.ran).toEqual(['base: no-tests', 'base: passed, built', 'code: failed, built']);
  first.close();
  const second = play(file, ['passed'], true);
  await second.runs.runBase(refuse);
  await second.runs.run({ step: 'green-2', tree: 'more' });
  expect(second.ran).toEqual(['more: passed, built']);
  second.close();
});

test('a build that changes nothing is not kept', async () => {
  const runs = play(join(await testFolder(), 'journal.db'), ['no-tests', 'no-tests', 'passed', 'passed'], true);
  expect(codeOf(await failure(runs.runs.runBase(async () => 'nothing ran')))).toBe('tests-cannot-run');
  await runs.runs.runBase(async () => null);
  await runs.runs.run({ step: 'green-1', tree: 'code' });
  expect(runs.ran).toEqual(['base: no-tests', 'base: no-tests, built', 'base: passed', 'code: passed']);
  runs.close();
});

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
        suite: { ...SUITE, run: async () => RUN },
        worktree: worktree as Worktree,
        setUp: SET_UP,
        journal,
        config: { tests: { timeoutMs: 100 } } as Config,
        mask: (text) => text,
        portable: (text) => text,
      },
      {
        once: async () =>
          isStored ? expect.unreachable('it ran once more') : { ...RUN, durationMs, dropped: [], directory: '/' },
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
