import { errorLine } from '../core/reason.ts';
import type { RunnerName, TestCase, TestRun } from '../testing/port.ts';
import { testKey } from './test-key.ts';

/** The test results before any change: they show which tests are new and which must not break. */
export interface Baseline {
  command: string;
  /** Contains a key once for each test of that name. */
  passed: string[];
  /** Keys of which at least one test failed or was skipped: these may stay that way. */
  others: string[];
  /** Test files or packages that already failed to load. */
  notLoaded: string[];
}

export function baselineOf({ command, cases, loadFailures }: TestRun): Baseline {
  const others = new Set(cases.filter((test) => test.outcome !== 'passed').map(testKey));
  const keys = cases.map(testKey);
  return {
    command,
    passed: keys.filter((key) => !others.has(key)),
    others: keys.filter((key) => others.has(key)),
    notLoaded: [...new Set(loadFailures.map(({ file }) => file ?? ''))],
  };
}

/** For items that don't require tests. */
export const NO_BASELINE: Baseline = { command: '', passed: [], others: [], notLoaded: [] };

/** A warning if at least half of the test files could not be loaded. */
export function loadWarning({ cases, loadFailures }: Pick<TestRun, 'cases' | 'loadFailures'>): string | null {
  const loaded = new Set(cases.map(({ file }) => file)).size;
  const broken = new Set(loadFailures.map(({ file }) => file)).size;
  const [first] = loadFailures;
  if (first === undefined || broken < loaded) return null;
  const why = `${first.file ?? 'a test file'}: ${errorLine(first.message)}`;
  return `only ${loaded} of ${loaded + broken} test files load before the change; the first that does not is ${why}`;
}

const MOST_NAMED = 3;

/**
 * Why this run is no usable baseline; null if it is one. A suite in which nothing runs can't prove anything later. A run
 * without tests is accepted only from a known runner in a repository without test files. `testFiles`: those of the base
 * commit.
 */
export function whyNoBaseline(
  { cases, loadFailures }: Pick<TestRun, 'cases' | 'loadFailures'>,
  runner: RunnerName,
  testFiles: readonly string[],
): string | null {
  const count = (...outcomes: string[]): number => cases.filter(({ outcome }) => outcomes.includes(outcome)).length;
  const [broken] = loadFailures;
  if (broken !== undefined && count('passed') === 0) {
    const where = broken.file === null ? '' : `, ${broken.file} first`;
    return `no test passed, and ${loadFailures.length} file(s) could not be loaded${where}: ${errorLine(broken.message)}`;
  }
  if (count('passed', 'failed') > 0) return null;
  if (count('skipped') > 0) return 'no test ran: all of them are skipped';
  if (runner === 'junit' || runner === 'tap') return 'no test ran: its report names none';
  if (testFiles.length === 0) return null;
  const more = testFiles.length > MOST_NAMED ? ` and ${testFiles.length - MOST_NAMED} more` : '';
  return `no test ran, although there are test files: ${testFiles.slice(0, MOST_NAMED).join(', ')}${more}`;
}

export function countsOf(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/**
 * The tests written for this design: those that are not in the baseline, and those in a changed test file that fail now,
 * because their expectation was changed.
 */
export function newTests(run: TestRun, baseline: Baseline, changedFiles: ReadonlySet<string>): TestCase[] {
  const known = countsOf([...baseline.passed, ...baseline.others]);
  const fresh = new Set<TestCase>();
  for (const [key, tests] of Map.groupBy(run.cases, testKey)) {
    // Of several tests with the same name, the failing ones are taken as new, or else the last.
    const isFailed = ({ outcome }: TestCase): number => (outcome === 'failed' ? 1 : 0);
    const ordered = tests.toSorted((a, b) => isFailed(a) - isFailed(b));
    for (const test of ordered.slice(Math.min(known.get(key) ?? 0, tests.length))) fresh.add(test);
  }
  return run.cases.filter(
    (test) => fresh.has(test) || (test.outcome === 'failed' && test.file !== null && changedFiles.has(test.file)),
  );
}
