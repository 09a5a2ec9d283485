import type { GateCounts, GateEvidence, GateName } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { reasonIn } from '../core/reason.ts';
import type { TestCase, TestRun } from '../testing/port.ts';

/** Parts of test names that change between runs: times, addresses, UUIDs, epochs. */
const VOLATILE =
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|\b[A-Z][a-z]{2},? [A-Z\d][a-z\d]{1,2} [A-Z\d][a-z\d]{1,2} \d{4} \d\d:\d\d:\d\d(?: GMT(?:[+-]\d{4})?(?: \([^)]*\))?)?|\b0x[\da-f]{6,}\b|\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|\b\d{12,}\b/gi;

/** Identifies a test across runs. */
export function testKey({ file, name }: Pick<TestCase, 'file' | 'name'>): string {
  return `${file ?? ''}\0${name.replace(VOLATILE, '…')}`;
}

/** The name to show to people. */
export function testTitle({ file, name }: Pick<TestCase, 'file' | 'name'>): string {
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

export function countsOfRun({ cases, loadFailures }: Pick<TestRun, 'cases' | 'loadFailures'>): GateCounts {
  const count = (outcome: TestCase['outcome']): number => cases.filter((test) => test.outcome === outcome).length;
  return {
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    notLoaded: loadFailures.length,
  };
}

/** Equal for two runs if the same tests had the same outcomes, in any order. */
export function hashOfRun({ cases, loadFailures }: Pick<TestRun, 'cases' | 'loadFailures'>): string {
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
export function whyNothingRan(run: TestRun): string | null {
  const { outcome, command, exitCode } = run;
  switch (outcome) {
    case 'could-not-run':
      return `the tests could not be started: ${command}${saidBy(run)}`;
    case 'killed':
      return `the tests were killed${exitCode === null ? '' : ` (exit code ${exitCode})`}: ${command}`;
    case 'no-report':
      return `the tests wrote no report: ${command}${saidBy(run)}`;
    case 'timed-out':
      return `the tests did not end in time: ${command}`;
    case 'no-tests':
      return `no test ran: ${command}`;
    case 'passed':
    case 'failed':
      return null;
  }
}

function saidBy({ tail }: TestRun): string {
  const reason = reasonIn(tail);
  return reason === '' ? '' : ` (${reason.slice(0, 600)})`;
}
