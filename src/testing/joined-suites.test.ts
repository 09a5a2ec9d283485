import { expect, test } from 'vitest';
import { joinedSuites } from './joined-suites.ts';
import type { TestOutcome, TestRunOptions, TestSuite } from './port.ts';

const { signal } = new AbortController();

function suite(folder: string, outcome: TestOutcome, asked: string[] = []): TestSuite {
  return {
    runner: 'node',
    command: `cd ${folder} && npm test`,
    folders: [folder],
    isTestFile: (path) => path.startsWith(`${folder}/test/`),
    run: async ({ files }: TestRunOptions) => {
      asked.push(`${folder} ${files?.join(',') ?? 'all'}`);
      const test = { file: `${folder}/test/a.test.js`, name: 'a', outcome: 'passed' as const, message: null };
      return {
        command: `cd ${folder} && npm test`,
        outcome,
        exitCode: outcome === 'passed' ? 0 : 1,
        durationMs: 5,
        cases: [test],
        loadFailures: [],
        coverage: null,
        tail: folder,
      };
    },
  };
}

test('one suite stays as it is', () => {
  const only = suite('a', 'passed');
  expect(joinedSuites([only])).toBe(only);
});

test('several run one after another, each with its own files, and their reports are one', async () => {
  const asked: string[] = [];
  const joined = joinedSuites([suite('a', 'passed', asked), suite('b', 'failed', asked)]);
  const run = await joined.run({ signal });
  expect(run).toMatchObject({ outcome: 'failed', exitCode: 1, durationMs: 10, coverage: null });
  expect(run.cases.map(({ file }) => file)).toEqual(['a/test/a.test.js', 'b/test/a.test.js']);
  await joined.run({ signal, files: ['b/test/x.test.js'] });
  expect(asked).toEqual(['a all', 'b all', 'b b/test/x.test.js']);
  expect([joined.isTestFile('b/test/x.js'), joined.isTestFile('c/test/x.js')]).toEqual([true, false]);
});

test.each([
  [['passed', 'timed-out', 'failed'], 'timed-out'],
  [['no-tests', 'passed'], 'passed'],
  [['no-tests', 'no-tests'], 'no-tests'],
] as const)('%j together is %s', async (outcomes, expected) => {
  const [first, ...others] = outcomes.map((outcome, at) => suite(`p${at}`, outcome));
  if (first === undefined) throw new Error('no suite');
  expect((await joinedSuites([first, ...others]).run({ signal })).outcome).toBe(expected);
});
