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
}

/** The new tests pass, every scenario has one, and what passed before still does. */
export function greenGate({ run, tests, baseline, scenarios, deleted }: GreenFacts): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
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
    problems.push(...broken(run, baseline, deleted));
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

function broken(run: TestRun, baseline: Baseline, deleted: ReadonlySet<string>): string[] {
  const now = new Map<string, TestCase[]>();
  for (const test of run.cases) now.set(testKey(test), [...(now.get(testKey(test)) ?? []), test]);
  return [...countsOf(baseline.passed)].flatMap(([key, before]) => {
    const [file = '', name = ''] = key.split('\0');
    if (deleted.has(file)) return [];
    const title = testTitle({ file: file === '' ? null : file, name });
    const tests = now.get(key);
    // A file that can't be loaded was named already.
    if (tests === undefined) return run.loadFailures.length > 0 ? [] : [`${title} passed before and is gone`];
    const failed = tests.find((test) => test.outcome === 'failed');
    if (failed !== undefined) return [`${title} passed before and fails now: ${errorMessage(failed.message ?? '')}`];
    const passing = tests.filter((test) => test.outcome === 'passed').length;
    if (passing === 0) return [`${title} passed before and is skipped now`];
    return passing >= before ? [] : [`${title} passed ${before} times before, and ${passing} now`];
  });
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
