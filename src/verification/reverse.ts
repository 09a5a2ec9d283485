import type { GateEvidence } from '../core/gate.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { countOf, countsOfRun, hashOfRun, testKey, testTitle, whyNothingRan } from './test-key.ts';

/** With the code taken out again, none of these tests passes: they test the code, and not themselves. */
export function reverseGate(run: TestRun, tests: readonly TestCase[]): GateEvidence {
  const passing = new Set(run.cases.filter((test) => test.outcome === 'passed').map(testKey));
  const problems = tests
    .filter((test) => passing.has(testKey(test)))
    .map((test) => `${testTitle(test)} passes without the code`);
  // Tests of which none can be loaded any more are no failure of the run; one that never began is.
  const nothing = run.outcome === 'no-tests' ? null : whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  return {
    gate: 'reverse',
    passed: problems.length === 0,
    skipped: null,
    command: run.command,
    counts: countsOfRun(run),
    hash: hashOfRun(run),
    summary: `${countOf(tests.length, 'new test')} ${tests.length === 1 ? 'fails' : 'fail'} again without the code`,
    details: [`${tests.length - problems.length} of ${tests.length} new test(s) do not pass without the code`],
    problems,
  };
}
