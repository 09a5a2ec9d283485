import type { GateEvidence } from '../core/gate.ts';
import { errorLine, errorMessage } from '../core/reason.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { isMissingCode } from '../testing/runners.ts';
import type { Baseline } from './baseline.ts';
import { isForGuards, wronglySkipped } from './scenario-tests.ts';
import { countOf, evidenceOf, testTitle, whyNothingRan } from './test-key.ts';

export interface RedFacts {
  run: TestRun;
  /** The tests written for this design, and their files. */
  tests: readonly TestCase[];
  files: readonly string[];
  baseline: Baseline;
  scenarios: readonly LldScenario[];
  /** Ids of scenarios that must already pass before the code. */
  guards: ReadonlySet<string>;
  /** The paths that the LLD adds and modifies. */
  changes: { added: readonly string[]; modified: readonly string[] };
  worktree: string;
  /** The folders of the packages whose tests ran. */
  folders?: readonly string[];
}

/**
 * Each new test must fail, or fail to load because a path that the LLD adds doesn't exist yet. A syntax error, a missing
 * package or a misspelt import proves nothing. The test of a guard must pass.
 */
export function redGate({
  run,
  tests,
  files,
  baseline,
  scenarios,
  guards,
  changes,
  worktree,
  folders = [''],
}: RedFacts): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
  const nothing = whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  const skipped = wronglySkipped(tests, scenarios);
  for (const test of tests) {
    const isOfGuard = isForGuards(test, scenarios, guards);
    const title = testTitle(test);
    if (test.outcome === 'skipped') {
      if (skipped.includes(test)) problems.push(`${title} is skipped`);
      else details.push(`${title} is skipped: another test of its scenario runs`);
    } else if (test.outcome === 'passed') {
      if (isOfGuard) details.push(`${title} passes before the code, as a guard does`);
      else problems.push(`${title} passes before the code is written`);
    } else {
      const why = errorLine(test.message ?? '');
      if (isOfGuard) problems.push(`${title} fails before the code, and is a guard's: ${why}`);
      else details.push(`${title} fails: ${why}`);
    }
  }
  const unseen = nothing === null ? scenarios.filter(({ id }) => guards.has(id) && !isSeen(id, tests)) : [];
  for (const { id, scenario } of unseen)
    problems.push(
      `scenario ${id} (${scenario}) is a guard, and no test of it ran before the code: put it into a file of its own, which needs nothing that the LLD adds`,
    );
  const failures = run.loadFailures.filter(({ file }) => !baseline.notLoaded.includes(file ?? ''));
  for (const failure of failures) {
    const where = failure.file ?? 'a test file';
    const folder = folders.find((one) => where.startsWith(`${one}/`)) ?? (folders.length === 1 ? folders[0] : '');
    const isExcused = (message: string): boolean => isMissingCode({ ...failure, message }, changes, worktree, folder);
    if (isExcused(failure.message)) {
      details.push(`${where} can't be loaded yet: ${errorLine(failure.message)}`);
    } else {
      const why = errorMessage(failure.message, isExcused);
      problems.push(`${where} can't be loaded, for another reason than the missing code: ${why}`);
    }
  }
  if (nothing === null && tests.length === 0 && failures.length === 0)
    problems.push(`no new test was found: ${run.command} runs none of ${files.join(', ')}`);
  const failed = tests.filter(({ outcome }) => outcome === 'failed').length;
  const guarded = tests.filter((test) => test.outcome === 'passed' && isForGuards(test, scenarios, guards)).length;
  return evidenceOf('red', run, { summary: redSummary(failed, failures.length, guarded), details, problems });
}

function redSummary(tests: number, files: number, guards: number): string {
  const failing = tests === 0 ? '' : `${countOf(tests, 'new test')} ${tests === 1 ? 'fails' : 'fail'}`;
  const notLoading = files === 0 ? '' : `${countOf(files, 'test file')} can't load yet`;
  const red = [failing, notLoading].filter((part) => part !== '').join(' and ');
  const should = tests + files === 1 ? 'as it should' : 'as they should';
  const holding =
    guards === 0 ? '' : `${countOf(guards, 'test')} of guards ${guards === 1 ? 'passes' : 'pass'} already`;
  return [red === '' ? '' : `${red}, ${should}`, holding].filter((part) => part !== '').join('; ');
}

function isSeen(id: string, tests: readonly TestCase[]): boolean {
  return tests.some(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, id));
}
