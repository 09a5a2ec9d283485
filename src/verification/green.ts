import type { GateEvidence } from '../core/gate.ts';
import { errorMessage } from '../core/reason.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { type Baseline, countsOf } from './baseline.ts';
import { wronglySkipped } from './scenario-tests.ts';
import { countOf, countsOfRun, evidenceOf, testKey, testTitle, titleOfKey, whyNothingRan } from './test-key.ts';

export interface GreenFacts {
  run: TestRun;
  /** The tests written for this design. */
  tests: readonly TestCase[];
  /** The files that they are in. */
  files: readonly string[];
  baseline: Baseline;
  scenarios: readonly LldScenario[];
  /** Test files that the LLD deletes: their tests may disappear. */
  deleted: ReadonlySet<string>;
  /** Keys of old tests that failed once and whose outcome was taken from a second run. */
  ranAgain?: readonly string[];
}

/** The new tests pass, every scenario has one, and what passed before still does. */
export function greenGate({
  run,
  tests,
  files,
  baseline,
  scenarios,
  deleted,
  ranAgain = [],
}: GreenFacts): GateEvidence {
  const problems: string[] = [];
  const broken = brokenTests(run, baseline, (file) => deleted.has(file));
  const details = ranAgain
    .filter((key) => !broken.has(key))
    .map((key) => `${titleOfKey(key)} failed in one run and passed in the next`);
  const nothing = whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  const notLoaded = run.loadFailures.filter(({ file }) => !baseline.notLoaded.includes(file ?? ''));
  for (const { file, message } of notLoaded)
    problems.push(`${file ?? 'a test file'} can't be loaded: ${errorMessage(message)}`);
  for (const test of tests)
    if (test.outcome === 'failed') problems.push(`${testTitle(test)} fails: ${errorMessage(test.message ?? '')}`);
  for (const test of wronglySkipped(tests, scenarios)) problems.push(`${testTitle(test)} is skipped`);
  if (nothing === null) {
    const missing = missingScenarios(scenarios, tests, details);
    // Missing tests may be in the file that can't be loaded, or in what failed without a name, even if it did so before.
    const unnamed = run.loadFailures.find(({ file }) => file === null);
    if (notLoaded.length === 0 && missing.length > 0 && unnamed !== undefined)
      problems.push(`the new tests did not run: ${errorMessage(unnamed.message)}`);
    else if (notLoaded.length === 0 && missing.length > 0 && tests.length === 0)
      problems.push(`none of the new tests ran: does the command run ${files.join(', ')}?`);
    else if (notLoaded.length === 0) problems.push(...missing);
    problems.push(...broken.values());
  }
  const { passed } = countsOfRun(run);
  const summary = `${countOf(passed, 'test')} ${passed === 1 ? 'passes' : 'pass'}, ${tests.length} of them new`;
  return evidenceOf('green', run, { summary, details, problems });
}

function missingScenarios(scenarios: readonly LldScenario[], tests: readonly TestCase[], details: string[]): string[] {
  return scenarios.flatMap(({ id, scenario }) => {
    const named = tests.filter((test) => namesScenario(test.name, id));
    if (named.length === 0) return [`scenario ${id} (${scenario}) has no test: no new test's name contains ${id}`];
    details.push(`${id}: ${named.map(testTitle).join(', ')}`);
    return [];
  });
}

/** The problem of each test that passed before and doesn't now, by key. `mayDisappear`: whether tests of a file may disappear. */
export function brokenTests(
  run: TestRun,
  { passed }: Pick<Baseline, 'passed'>,
  mayDisappear: (file: string) => boolean,
): Map<string, string> {
  const now = Map.groupBy(run.cases, testKey);
  const found = new Map<string, string>();
  for (const [key, before] of countsOf(passed)) {
    const tests = now.get(key) ?? [];
    const failed = tests.find((test) => test.outcome === 'failed');
    const passing = tests.filter((test) => test.outcome === 'passed').length;
    // A file that can't be loaded is reported separately.
    const isGone = tests.length === 0 && run.loadFailures.length === 0;
    if (failed !== undefined) found.set(key, `passed before and fails now: ${errorMessage(failed.message ?? '')}`);
    else if (tests.length > 0 && passing === 0) found.set(key, 'passed before and is skipped now');
    else if (!mayDisappear(key.split('\0')[0] ?? '') && (isGone || (tests.length > 0 && passing < before)))
      found.set(key, isGone ? 'passed before and is gone' : `passed ${before} times before, and ${passing} now`);
  }
  return new Map([...found].map(([key, wrong]) => [key, `${titleOfKey(key)} ${wrong}`]));
}

const MOST_UNSTEADY = 10;

/**
 * Keys of old tests that may be flaky: they are the only problem of the run, and there are few of them. Empty if anything
 * else is wrong or too many fail, since then the code is the likely reason.
 */
export function unsteadyTests({ run, tests, baseline, deleted }: GreenFacts): string[] {
  const isElsewhere =
    whyNothingRan(run) !== null ||
    run.loadFailures.some(({ file }) => !baseline.notLoaded.includes(file ?? '')) ||
    tests.some(({ outcome }) => outcome === 'failed');
  const keys = isElsewhere ? [] : [...brokenTests(run, baseline, (file) => deleted.has(file)).keys()];
  return keys.length > MOST_UNSTEADY ? [] : keys;
}

/** Replaces the outcomes of these tests by those of another run of the same state. */
export function withOutcomesOf(run: TestRun, other: TestRun, keys: readonly string[]): TestRun {
  const isAsked = (test: TestCase): boolean => keys.includes(testKey(test));
  return { ...run, cases: [...run.cases.filter((test) => !isAsked(test)), ...other.cases.filter(isAsked)] };
}

/** Without the code, none of the new tests may pass: that shows that they test the code. */
export function reverseGate(run: TestRun, tests: readonly TestCase[]): GateEvidence {
  const passing = new Set(run.cases.filter((test) => test.outcome === 'passed').map(testKey));
  const problems = tests
    .filter((test) => passing.has(testKey(test)))
    .map((test) => `${testTitle(test)} passes without the code`);
  // It is fine if no test can be loaded without the code, but the run itself must have started.
  const nothing = run.outcome === 'no-tests' ? null : whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  return evidenceOf('reverse', run, {
    summary: `${countOf(tests.length, 'new test')} ${tests.length === 1 ? 'fails' : 'fail'} again without the code`,
    details: [`${tests.length - problems.length} of ${tests.length} new test(s) do not pass without the code`],
    problems,
  });
}
