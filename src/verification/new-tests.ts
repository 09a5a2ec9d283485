import type { TestCase, TestRun } from '../testing/port.ts';
import type { Baseline } from './baseline.ts';
import { testKey } from './test-key.ts';

/**
 * The tests that were written for this design: those that the baseline does not know, and those in a changed file that
 * fail now, because what they expect was changed.
 */
export function newTests(run: TestRun, baseline: Baseline, changedFiles: ReadonlySet<string>): TestCase[] {
  const known = new Set([...baseline.passed, ...baseline.others]);
  return run.cases.filter((test) => {
    if (!known.has(testKey(test))) return true;
    return test.outcome === 'failed' && test.file !== null && changedFiles.has(test.file);
  });
}
