import type { GateEvidence } from '../core/gate.ts';
import { isNotThereYet } from '../testing/not-there-yet.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import type { Baseline } from './baseline.ts';
import { tellingLine, tellingMessage } from './telling-line.ts';
import { countOf, countsOfRun, hashOfRun, testTitle, whyNothingRan } from './test-key.ts';

export interface RedFacts {
  run: TestRun;
  /** Those written for this design. */
  tests: readonly TestCase[];
  baseline: Baseline;
  /** What the LLD says will be there. */
  changes: { added: readonly string[]; modified: readonly string[] };
  worktree: string;
}

/**
 * Each new test is seen to fail, or can't be loaded because a path that the LLD adds is not there yet. A syntax error, a
 * package that is not installed or a misspelt import also keeps a test from passing, and proves nothing.
 */
export function redGate({ run, tests, baseline, changes, worktree }: RedFacts): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
  const nothing = whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  for (const test of tests) {
    if (test.outcome === 'passed') problems.push(`${testTitle(test)} passes before the code is written`);
    else if (test.outcome === 'skipped') problems.push(`${testTitle(test)} is skipped`);
    else details.push(`${testTitle(test)} fails: ${firstLine(test.message ?? '')}`);
  }
  const failures = run.loadFailures.filter(({ file }) => !baseline.notLoaded.includes(file ?? ''));
  for (const failure of failures) {
    const where = failure.file ?? 'a test file';
    const isExcused = (message: string): boolean => isNotThereYet({ ...failure, message }, changes, worktree);
    if (isExcused(failure.message)) {
      details.push(`${where} can't be loaded yet: ${tellingLine(failure.message)}`);
    } else {
      const why = tellingMessage(failure.message, isExcused);
      problems.push(`${where} can't be loaded, for another reason than the missing code: ${why}`);
    }
  }
  if (nothing === null && tests.length === 0 && failures.length === 0) problems.push('no new test was found');
  const failed = tests.filter(({ outcome }) => outcome === 'failed').length;
  return {
    gate: 'red',
    passed: problems.length === 0,
    skipped: null,
    command: run.command,
    counts: countsOfRun(run),
    hash: hashOfRun(run),
    summary: redSummary(failed, failures.length),
    details,
    problems,
  };
}

function redSummary(tests: number, files: number): string {
  const failing = tests === 0 ? '' : `${countOf(tests, 'new test')} ${tests === 1 ? 'fails' : 'fail'}`;
  const notLoading = files === 0 ? '' : `${countOf(files, 'test file')} can't load yet`;
  const should = tests + files === 1 ? 'as it should' : 'as they should';
  return `${[failing, notLoading].filter((part) => part !== '').join(' and ')}, ${should}`;
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 200);
}
