import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { FileCoverage, LoadFailure, TestCase, TestRun } from '../testing/port.ts';
import { coverageGate, greenGate, reverseGate, unsteadyTests, withOutcomesOf } from './green.ts';
import { redGate, scenarioGate } from './red.ts';
import { baselineOf, hashOfRun, loadWarning, newTests, testKey, whyNoBaseline } from './test-results.ts';

const FILE = 'test/item.test.js';
const WORKTREE = realpathSync(tmpdir());

function testCase(name: string, outcome: TestCase['outcome'], file: string | null = FILE): TestCase {
  return { file, name, outcome, message: outcome === 'failed' ? `${name} went wrong` : null };
}

function run(cases: TestCase[], more: Partial<TestRun> = {}): TestRun {
  const failed = cases.some((one) => one.outcome === 'failed') || (more.loadFailures?.length ?? 0) > 0;
  return {
    command: 'node --test',
    outcome: failed ? 'failed' : cases.length === 0 ? 'no-tests' : 'passed',
    exitCode: failed ? 1 : 0,
    durationMs: 1,
    cases,
    loadFailures: [],
    coverage: null,
    tail: '',
    ...more,
  };
}

const SCENARIOS = ['010', '020'].map((id) => ({ id, scenario: `scenario ${id}` }) as LldScenario);
const OLD = testCase('the answer', 'passed', 'test/main.test.js');
const BASELINE = baselineOf(run([OLD, testCase('flaky', 'failed', 'test/main.test.js')]));
const MISSING: LoadFailure = {
  file: FILE,
  message: `Error [ERR_MODULE_NOT_FOUND]: Cannot find module '${WORKTREE}/src/item.js' imported from ${WORKTREE}/test/item.test.js`,
};

test.each([
  ['010 adds', '010', true],
  ['suite > 010', '010', true],
  ['test_010_adds', '010', true],
  ['Test010Adds', '010', true],
  ['T010: adds', 'T010', true],
  ['adds 10100 times', '010', false],
  ['adds 0100', '010', false],
  ['adds 10', '010', false],
])('%s names scenario %s: %s', (name, id, expected) => {
  expect(namesScenario(name, id)).toBe(expected);
});

test('tests with the same name are counted: one more is new, one less is missed', () => {
  const twice = [testCase('same', 'passed', 'test/a.js'), testCase('same', 'passed', 'test/a.js')];
  const baseline = baselineOf(run(twice));
  expect(newTests(run(twice), baseline, new Set())).toEqual([]);
  const third = testCase('same', 'failed', 'test/a.js');
  expect(newTests(run([third, ...twice]), baseline, new Set())).toEqual([third]);
  const facts = { tests: [], files: [], baseline, scenarios: [], deleted: new Set<string>() };
  expect(greenGate({ ...facts, run: run(twice) }).problems).toEqual([]);
  expect(greenGate({ ...facts, run: run(twice.slice(1)) }).problems).toEqual([
    '"same" (test/a.js) passed 2 times before, and 1 now',
  ]);
});

test.each([
  ['casts 2026-11-17T16:02:39.990Z', 'casts 2026-11-17T16:09:01.002Z'],
  ['casts Tue Nov 17 2026 16:02:39 GMT+0000 (UTC)', 'casts Tue Nov 17 2026 16:09:01 GMT+0000 (UTC)'],
  ['test_a[<object at 0x7f16b1a4>]', 'test_a[<object at 0x7fa0c3d8>]'],
  ['of 6f1e2a3b-0000-4abc-8def-0123456789ab', 'of 0c1d2e3f-1111-4abc-8def-0123456789ab'],
])('a name that changes from run to run is the same test: %s', (before, now) => {
  expect(testKey({ file: 'a', name: before })).toBe(testKey({ file: 'a', name: now }));
  expect(testKey({ file: 'a', name: 'adds 10 to 20' })).not.toBe(testKey({ file: 'a', name: 'adds 11 to 20' }));
});

test('a scenario without a test, and one whose only test is skipped, are found', () => {
  const tests = [testCase('020 refuses', 'skipped')];
  const { passed, problems } = scenarioGate({ scenarios: SCENARIOS, tests, notLoaded: new Map() });
  expect(passed).toBe(false);
  expect(problems).toEqual([
    "scenario 010 (scenario 010) has no test: no new test's name contains 010",
    'the test of scenario 020 is skipped: "020 refuses" (test/item.test.js)',
  ]);
});

test('the text of a file that could not be loaded tells which scenarios it has', () => {
  const notLoaded = new Map([[FILE, "test('010 adds'); test('020 refuses')"]]);
  expect(scenarioGate({ scenarios: SCENARIOS, tests: [], notLoaded }).passed).toBe(true);
});

test('a scenario that only a comment names has no test', () => {
  const notLoaded = new Map([[FILE, "// 020 refuses: see http://x\ntest('010 adds')"]]);
  expect(scenarioGate({ scenarios: SCENARIOS, tests: [], notLoaded }).problems).toEqual([
    "scenario 020 (scenario 020) has no test: no new test's name contains 020",
  ]);
});

test('a test that is left out in a file that can not be loaded is found in its text', () => {
  const text = "test('010 adds'); \ntest.skip('020 refuses')";
  const { problems } = scenarioGate({ scenarios: SCENARIOS, tests: [], notLoaded: new Map([[FILE, text]]) });
  expect(problems).toEqual(['test/item.test.js leaves a test out, in line 2: no test may be skipped or focused']);
});

const red = (result: TestRun, tests: TestCase[], ...guards: string[]) =>
  redGate({
    run: result,
    tests,
    files: [FILE],
    baseline: BASELINE,
    scenarios: SCENARIOS,
    guards: new Set(guards),
    changes: { added: ['src/item.js'], modified: [] },
    worktree: WORKTREE,
  });

test('red: every new test fails', () => {
  const tests = [testCase('010', 'failed'), testCase('020', 'failed')];
  expect(red(run([OLD, ...tests]), tests)).toMatchObject({ passed: true, problems: [] });
});

test('red: a test that passes, or is skipped, is named', () => {
  const tests = [testCase('010', 'passed'), testCase('020', 'skipped')];
  expect(red(run(tests), tests).problems).toEqual([
    '"010" (test/item.test.js) passes before the code is written',
    '"020" (test/item.test.js) is skipped',
  ]);
});

test('red: a file that waits for a path of the LLD is enough; one that is broken is not', () => {
  expect(red(run([OLD], { loadFailures: [MISSING] }), []).passed).toBe(true);
  const broken = { file: FILE, message: 'SyntaxError: Unexpected token' };
  expect(red(run([OLD], { loadFailures: [broken] }), []).problems).toEqual([
    "test/item.test.js can't be loaded, for another reason than the missing code: SyntaxError: Unexpected token",
  ]);
});

test('red: what could not be loaded before is nobody’s fault, and no new test at all is a problem', () => {
  const baseline = baselineOf(run([OLD], { loadFailures: [{ file: 'test/old.test.js', message: 'x' }] }));
  const evidence = redGate({
    run: run([OLD], { loadFailures: [{ file: 'test/old.test.js', message: 'x' }] }),
    tests: [],
    files: [FILE],
    baseline,
    scenarios: SCENARIOS,
    guards: new Set(),
    changes: { added: [], modified: [] },
    worktree: WORKTREE,
  });
  expect(evidence.problems).toEqual(['no new test was found: node --test runs none of test/item.test.js']);
});

test('red: the test of a guard passes before the code, and no other one may', () => {
  const tests = [testCase('010', 'failed'), testCase('020', 'passed')];
  expect(red(run(tests), tests, '020')).toMatchObject({ passed: true, problems: [] });
  const failing = [testCase('010', 'failed'), testCase('020', 'failed')];
  expect(red(run(failing), failing, '020').problems).toEqual([
    '"020" (test/item.test.js) fails before the code, and is a guard\'s: 020 went wrong',
  ]);
  const both = [testCase('010 and 020', 'passed')];
  expect(red(run(both), both, '020').problems).toEqual([
    '"010 and 020" (test/item.test.js) passes before the code is written',
  ]);
});

test('red: a guard whose test could not be loaded was not seen to hold', () => {
  const [problem = '', ...more] = red(run([OLD], { loadFailures: [MISSING] }), [], '020').problems;
  expect(problem).toContain('scenario 020 (scenario 020) is a guard, and no test of it ran before the code');
  expect(more).toEqual([]);
});

test('red and green: of the variants of a test one has to run; the others may be skipped', () => {
  const before = [testCase('010 [c]', 'skipped'), testCase('010 [js]', 'failed'), testCase('020', 'failed')];
  expect(red(run(before), before)).toMatchObject({ passed: true, problems: [] });
  const after = [testCase('010 [c]', 'skipped'), testCase('010 [js]', 'passed'), testCase('020', 'passed')];
  expect(greenOf(run([OLD, ...after]), after)).toMatchObject({ passed: true, problems: [] });
  const none = [testCase('010 [c]', 'skipped'), testCase('010 [js]', 'skipped'), testCase('020', 'passed')];
  expect(greenOf(run([OLD, ...none]), none).problems).toEqual([
    '"010 [c]" (test/item.test.js) is skipped',
    '"010 [js]" (test/item.test.js) is skipped',
  ]);
});

test.each([
  ['tests that run', [OLD], [], 'node', [], null],
  ['a test that fails, and no other', [testCase('a', 'failed')], [], 'node', [], null],
  ['no file with tests yet', [], [], 'node', [], null],
  ['files with tests, of which none ran', [], [], 'node', [FILE], 'although there are test files: test/item.test.js'],
  ['tests that are all skipped', [testCase('a', 'skipped')], [], 'vitest', [], 'all of them are skipped'],
  ['an empty report of a runner that nobody knows', [], [], 'tap', [], 'its report names none'],
  ['files of which none could be loaded', [], [MISSING], 'node', [FILE], 'no test passed, and 1 file(s)'],
  ['one that loads and passes', [OLD], [MISSING], 'node', [FILE], null],
] as const)('a baseline of %s', (_, cases, loadFailures, runner, files, why) => {
  const found = whyNoBaseline({ cases: [...cases], loadFailures: [...loadFailures] }, runner, files);
  if (why === null) expect(found).toBeNull();
  else expect(found).toContain(why);
});

test.each(['could-not-run', 'killed', 'no-report', 'timed-out', 'no-tests'] as const)(
  'red and green: %s is not a result',
  (outcome) => {
    const result = run([], { outcome });
    expect(red(result, []).passed).toBe(false);
    expect(greenOf(result, []).passed).toBe(false);
  },
);

const greenOf = (result: TestRun, tests: TestCase[], deleted = new Set<string>()) =>
  greenGate({ run: result, tests, files: [FILE], baseline: BASELINE, scenarios: SCENARIOS, deleted });
const GOOD = [testCase('010', 'passed'), testCase('020', 'passed')];

test('green: the new tests pass, and what passed before does', () => {
  expect(greenOf(run([OLD, ...GOOD]), GOOD)).toMatchObject({ passed: true, problems: [] });
});

test('green: new tests that the whole suite does not run are told by their files', () => {
  expect(greenOf(run([OLD]), []).problems).toEqual([`none of the new tests ran: does the command run ${FILE}?`]);
});

test('green: of a file that can’t be loaded only that is said, not that its scenarios have no test', () => {
  const loadFailures = [
    { file: FILE, message: 'at x (y.js:1:1)\nSyntaxError: Unexpected token\n  })\nNode.js v24.1.0' },
  ];
  const { problems } = greenOf(run([OLD], { loadFailures }), []);
  expect(problems).toEqual([expect.stringContaining(`${FILE} can't be loaded: SyntaxError: Unexpected token\n`)]);
});

test('green: new tests that did not run because a module fails, as before, are told with its reason', () => {
  const loadFailures = [{ file: null, message: 'It exited with 1.\n[ERROR] No such plugin' }];
  const before = baselineOf(run([OLD], { loadFailures }));
  const facts = { tests: [], files: [FILE], scenarios: SCENARIOS, deleted: new Set<string>() };
  const { problems } = greenGate({ run: run([OLD], { loadFailures }), baseline: before, ...facts });
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(/^the new tests did not run: \[ERROR\] No such plugin\n/);
});

test('a baseline of which half of the files can’t be loaded is a warning, with the numbers', () => {
  const loadFailures = [{ file: 'b.js', message: "Error: Cannot find module '../dist/x.js'" }];
  expect(loadWarning(run([testCase('a', 'passed', 'a.js')], { loadFailures }))).toBe(
    "only 1 of 2 test files load before the change; the first that does not is b.js: Error: Cannot find module '../dist/x.js'",
  );
  const more = [testCase('a', 'passed', 'a.js'), testCase('c', 'passed', 'c.js')];
  expect(loadWarning(run(more, { loadFailures }))).toBeNull();
  expect(loadWarning(run(more))).toBeNull();
});

test('green: a test that failed before may go on failing', () => {
  expect(greenOf(run([OLD, testCase('flaky', 'failed', 'test/main.test.js'), ...GOOD]), GOOD).passed).toBe(true);
});

test.each([
  ['fails', [testCase('the answer', 'failed', 'test/main.test.js')], 'passed before and fails now'],
  ['is skipped', [testCase('the answer', 'skipped', 'test/main.test.js')], 'passed before and is skipped now'],
  ['is gone', [], 'passed before and is gone'],
])('green: an old test that %s', (_, old, said) => {
  const { problems } = greenOf(run([...old, ...GOOD]), GOOD);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(said);
});

test('green: a few old tests that fail alone are run again, and what is said of them is the second run', () => {
  const failing = run([{ ...OLD, outcome: 'failed' }, ...GOOD]);
  const written = { tests: GOOD, files: [FILE], scenarios: SCENARIOS, deleted: new Set<string>() };
  const facts = { run: failing, baseline: BASELINE, ...written };
  const keys = unsteadyTests(facts);
  expect(keys).toEqual([testKey(OLD)]);
  const steady = withOutcomesOf(failing, run([OLD, ...GOOD]), keys);
  expect(greenGate({ ...facts, run: steady, ranAgain: keys })).toMatchObject({
    problems: [],
    details: expect.arrayContaining(['"the answer" (test/main.test.js) failed in one run and passed in the next']),
  });
  const still = greenGate({ ...facts, run: withOutcomesOf(failing, failing, keys), ranAgain: keys });
  expect(still.problems).toEqual([expect.stringContaining('passed before and fails now')]);
  expect(unsteadyTests({ ...facts, tests: [testCase('010', 'failed')] })).toEqual([]);
  expect(unsteadyTests({ ...facts, run: run([OLD, ...GOOD]) })).toEqual([]);
});

test('green: the tests of a file that the LLD deletes may go', () => {
  expect(greenOf(run(GOOD), GOOD, new Set(['test/main.test.js'])).passed).toBe(true);
});

test('green: a scenario whose test is not there in the end', () => {
  const tests = [testCase('010', 'passed')];
  expect(greenOf(run([OLD, ...tests]), tests).problems[0]).toContain('scenario 020');
});

test('reverse: a new test that passes without the code is named', () => {
  const result = run([OLD, testCase('010', 'failed'), testCase('020', 'passed')]);
  expect(reverseGate(result, GOOD).problems).toEqual(['"020" (test/item.test.js) passes without the code']);
  expect(reverseGate(run([OLD], { loadFailures: [MISSING] }), GOOD).passed).toBe(true);
});

test('new tests are those that the baseline does not know, and changed ones that fail', () => {
  const changed = testCase('the answer', 'failed', 'test/main.test.js');
  const result = run([changed, ...GOOD]);
  expect(newTests(result, BASELINE, new Set())).toEqual(GOOD);
  expect(newTests(result, BASELINE, new Set(['test/main.test.js']))).toEqual([changed, ...GOOD]);
});

const covered = (files: FileCoverage[] | null): TestRun => run(GOOD, { coverage: files });
const HALF: FileCoverage = { file: 'src/item.js', lines: 10, covered: 5, missed: [6, 7, 8, 9, 10] };

test('coverage counts the changed files alone, against the target', () => {
  const files = [HALF, { file: 'src/other.js', lines: 100, covered: 100, missed: [] }];
  const changed = new Set(['src/item.js']);
  const target = { percent: 80, from: 'LLD' } as const;
  expect(coverageGate(covered(files), changed, target)).toMatchObject({
    passed: false,
    problems: [
      'the changed files are covered to 50.0 %, the LLD asks for 80 %',
      'src/item.js: 50.0 % of 10 line(s); not reached: 6, 7, 8, 9, 10',
    ],
  });
  expect(coverageGate(covered(files), changed, { ...target, percent: 50 }).passed).toBe(true);
});

test('coverage that nobody measured is a failure only for whoever asked for it in the configuration', () => {
  const changed = new Set(['src/item.js']);
  expect(coverageGate(covered(null), changed, { percent: 80, from: 'configuration' }).passed).toBe(false);
  expect(coverageGate(covered(null), changed, { percent: 80, from: 'LLD' })).toMatchObject({
    passed: true,
    skipped: 'the test runner gave no coverage',
  });
});

test('the hash of a run does not depend on the order of its tests, and does on their outcomes', () => {
  const [one, two] = GOOD;
  expect(hashOfRun(run([one, two].filter((each) => each !== undefined)))).toBe(hashOfRun(run([...GOOD].reverse())));
  expect(hashOfRun(run([testCase('010', 'failed'), testCase('020', 'passed')]))).not.toBe(hashOfRun(run(GOOD)));
});
