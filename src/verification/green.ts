import type { GateEvidence } from '../core/gate.ts';
import { errorMessage } from '../core/reason.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { type Baseline, countsOf } from './baseline.ts';
import { wronglySkipped } from './scenario-tests.ts';
import { countOf, countsOfRun, evidenceOf, testKey, testTitle, whyNothingRan } from './test-key.ts';

export interface GreenFacts {
  run: TestRun;
  /** Those written for this design. */
  tests: readonly TestCase[];
  baseline: Baseline;
  scenarios: readonly LldScenario[];
  /** Test files that the LLD deletes: their tests may go. */
  deleted: ReadonlySet<string>;
  /** Keys of old tests that failed in one run, and whose outcome is that of another one. */
  ranAgain?: readonly string[];
}

/** The new tests pass, every scenario has one, and what passed before still does. */
export function greenGate({ run, tests, baseline, scenarios, deleted, ranAgain = [] }: GreenFacts): GateEvidence {
  const problems: string[] = [];
  const broken = brokenTests(run, baseline, deleted);
  const details = ranAgain
    .filter((key) => !broken.has(key))
    .map((key) => `${titleOf(key)} failed in one run and passed in the next`);
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
    // The tests of a file that can't be loaded are not missing.
    if (notLoaded.length === 0) problems.push(...missing);
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

/** What is wrong with each test that passed before, by its key. */
function brokenTests(run: TestRun, baseline: Baseline, deleted: ReadonlySet<string>): Map<string, string> {
  const now = Map.groupBy(run.cases, testKey);
  const found = new Map<string, string>();
  for (const [key, before] of countsOf(baseline.passed)) {
    if (deleted.has(key.split('\0')[0] ?? '')) continue;
    const tests = now.get(key);
    const failed = tests?.find((test) => test.outcome === 'failed');
    const passing = tests?.filter((test) => test.outcome === 'passed').length ?? 0;
    const wrong =
      tests === undefined
        ? 'passed before and is gone'
        : failed !== undefined
          ? `passed before and fails now: ${errorMessage(failed.message ?? '')}`
          : passing === 0
            ? 'passed before and is skipped now'
            : `passed ${before} times before, and ${passing} now`;
    // A file that can't be loaded was named already.
    const isNamed = tests === undefined && run.loadFailures.length > 0;
    if (!isNamed && (failed !== undefined || passing < before)) found.set(key, `${titleOf(key)} ${wrong}`);
  }
  return found;
}

function titleOf(key: string): string {
  const [file = '', name = ''] = key.split('\0');
  return testTitle({ file: file === '' ? null : file, name });
}

const MOST_UNSTEADY = 10;

/**
 * Keys of the few old tests that are all that is wrong with a run: under load some suites have one that fails now and then.
 * None where anything else is wrong, or so much that the code is the reason.
 */
export function unsteadyTests({ run, tests, baseline, deleted }: GreenFacts): string[] {
  const isElsewhere =
    whyNothingRan(run) !== null ||
    run.loadFailures.some(({ file }) => !baseline.notLoaded.includes(file ?? '')) ||
    tests.some(({ outcome }) => outcome === 'failed');
  const keys = isElsewhere ? [] : [...brokenTests(run, baseline, deleted).keys()];
  return keys.length > MOST_UNSTEADY ? [] : keys;
}

/** A run with the outcomes of these tests from another run of the same state. */
export function withOutcomesOf(run: TestRun, other: TestRun, keys: readonly string[]): TestRun {
  const isAsked = (test: TestCase): boolean => keys.includes(testKey(test));
  return { ...run, cases: [...run.cases.filter((test) => !isAsked(test)), ...other.cases.filter(isAsked)] };
}

/** With the code taken out again, none of these tests passes: they test the code, and not themselves. */
export function reverseGate(run: TestRun, tests: readonly TestCase[]): GateEvidence {
  const passing = new Set(run.cases.filter((test) => test.outcome === 'passed').map(testKey));
  const problems = tests
    .filter((test) => passing.has(testKey(test)))
    .map((test) => `${testTitle(test)} passes without the code`);
  // Tests of which none can be loaded any more are no failure of the run; one that never began is.
  const nothing = run.outcome === 'no-tests' ? null : whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  return evidenceOf('reverse', run, {
    summary: `${countOf(tests.length, 'new test')} ${tests.length === 1 ? 'fails' : 'fail'} again without the code`,
    details: [`${tests.length - problems.length} of ${tests.length} new test(s) do not pass without the code`],
    problems,
  });
}
