import type { GateCounts, GateEvidence, GateName } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { listed } from '../core/lines.ts';
import { errorLine, reasonIn } from '../core/reason.ts';
import type { RunnerName, TestCase, TestRun } from '../testing/port.ts';

/** Parts of test names that change between runs: times, addresses, UUIDs, epochs. */
const VOLATILE =
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b[A-Z][a-z]{2},? [A-Z\d][a-z\d]{1,2} [A-Z\d][a-z\d]{1,2} \d{4} \d\d:\d\d:\d\d(?: GMT(?:[+-]\d{4})?(?: \([^)]*\))?)?|\b0x[\da-f]{6,}\b|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b\d{12,}\b/gi;

type Named = Pick<TestCase, 'file' | 'name'>;
type Results = Pick<TestRun, 'cases' | 'loadFailures'>;

/** Identifies a test across runs. */
export function testKey({ file, name }: Named): string {
  return `${file ?? ''}\0${name.replace(VOLATILE, '…')}`;
}

/** The name to show to people. */
export function testTitle({ file, name }: Named): string {
  return file === null ? `"${name}"` : `"${name}" (${file})`;
}

/** The same for a key, in which volatile parts are replaced by an ellipsis. */
export function titleOfKey(key: string): string {
  const [file = '', name = ''] = key.split('\0');
  return testTitle({ file: file === '' ? null : file, name });
}

/** `1 new test`, `2 new tests` */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function countsOfRun({ cases, loadFailures }: Results): GateCounts {
  const count = (outcome: TestCase['outcome']): number => cases.filter((test) => test.outcome === outcome).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    notLoaded: loadFailures.length,
  };
}

/** Equal for two runs if the same tests had the same outcomes, in any order. */
export function hashOfRun({ cases, loadFailures }: Results): string {
  const lines = [
    ...cases.map((test) => `${test.outcome} ${testKey(test)}`),
    ...loadFailures.map(({ file }) => `not-loaded ${file ?? ''}`),
  ];
  return sha256(lines.toSorted().join('\n'));
}

/** A gate passes if there are no problems. `run`: the run that shows it. */
export function evidenceOf(
  gate: GateName,
  run: TestRun | null,
  found: Partial<Pick<GateEvidence, 'skipped' | 'summary' | 'details' | 'problems'>>,
): GateEvidence {
  return {
    gate,
    passed: (found.problems ?? []).length === 0,
    skipped: null,
    command: run?.command ?? null,
    counts: run === null ? null : countsOfRun(run),
    hash: run === null ? null : hashOfRun(run),
    summary: '',
    details: [],
    problems: [],
    ...found,
  };
}

/** Why no test ran; null if some did. */
export function whyNothingRan({ outcome, command, exitCode, tail }: TestRun): string | null {
  const said = (): string => {
    const reason = reasonIn(tail).slice(0, 600);
    return reason === '' ? '' : ` (${reason})`;
  };
  switch (outcome) {
    case 'could-not-run':
      return `the tests could not be started: ${command}${said()}`;
    case 'killed':
      return `the tests were killed${exitCode === null ? '' : ` (exit code ${exitCode})`}: ${command}`;
    case 'no-report':
      return `the tests wrote no report: ${command}${said()}`;
    case 'timed-out':
      return `the tests did not end in time: ${command}`;
    case 'no-tests':
      return `no test ran: ${command}`;
    case 'passed':
    case 'failed':
      return null;
  }
}

/** The test results before any change: they show which tests are new and which must not break. */
export interface Baseline {
  /** Contains a key once for each test of that name. */
  passed: string[];
  /** Keys of which at least one test failed or was skipped: these may stay that way. */
  others: string[];
  /** Test files or packages that already failed to load. */
  notLoaded: string[];
}

export function baselineOf({ cases, loadFailures }: Results): Baseline {
  const others = new Set(cases.filter((test) => test.outcome !== 'passed').map(testKey));
  const keys = cases.map(testKey);
  return {
    passed: keys.filter((key) => !others.has(key)),
    others: keys.filter((key) => others.has(key)),
    notLoaded: [...new Set(loadFailures.map(({ file }) => file ?? ''))],
  };
}

/** A warning if at least half of the test files could not be loaded. */
export function loadWarning({ cases, loadFailures }: Results): string | null {
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
export function whyNoBaseline(run: Results, runner: RunnerName, testFiles: readonly string[]): string | null {
  const { passed, failed, skipped, notLoaded } = countsOfRun(run);
  const [broken] = run.loadFailures;
  if (broken !== undefined && passed === 0) {
    const where = broken.file === null ? '' : `, ${broken.file} first`;
    return `no test passed, and ${notLoaded} file(s) could not be loaded${where}: ${errorLine(broken.message)}`;
  }
  if (passed + failed > 0) return null;
  if (skipped > 0) return 'no test ran: all of them are skipped';
  if (runner === 'junit' || runner === 'tap') return 'no test ran: its report names none';
  if (testFiles.length === 0) return null;
  return `no test ran, although there are test files: ${listed(testFiles, MOST_NAMED)}`;
}

/** How often each key occurs. */
export function countsOf(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/**
 * The tests written for this design: those that are not in the baseline, and those in a changed test file that fail now,
 * because their expectation was changed.
 */
export function newTests({ cases }: Results, baseline: Baseline, changedFiles: ReadonlySet<string>): TestCase[] {
  const known = countsOf([...baseline.passed, ...baseline.others]);
  const fresh = new Set<TestCase>();
  for (const [key, tests] of Map.groupBy(cases, testKey)) {
    // Of several tests with the same name, the failing ones are taken as new, or else the last.
    const isFailed = ({ outcome }: TestCase): number => (outcome === 'failed' ? 1 : 0);
    const ordered = tests.toSorted((a, b) => isFailed(a) - isFailed(b));
    for (const test of ordered.slice(Math.min(known.get(key) ?? 0, tests.length))) fresh.add(test);
  }
  return cases.filter(
    (test) => fresh.has(test) || (test.outcome === 'failed' && test.file !== null && changedFiles.has(test.file)),
  );
}
