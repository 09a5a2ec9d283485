import type { GateEvidence } from '../core/gate.ts';
import { errorLine, errorMessage } from '../core/reason.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { isMissingCode } from '../testing/runners.ts';
import { skippedTestLine, withoutComments } from './skipped-tests.ts';
import { type Baseline, countOf, evidenceOf, testTitle, whyNothingRan } from './test-results.ts';

/** Whether all scenarios of a test are guards, so that it must pass both before and after the code. */
export function isForGuards(test: TestCase, scenarios: readonly LldScenario[], guards: ReadonlySet<string>): boolean {
  const named = scenariosOf(test, scenarios);
  return named.length > 0 && named.every(({ id }) => guards.has(id));
}

/** The scenarios whose ids a test's name contains. */
function scenariosOf({ name }: TestCase, scenarios: readonly LldScenario[]): LldScenario[] {
  return scenarios.filter(({ id }) => namesScenario(name, id));
}

/**
 * Skipped tests that should have run. A variant that can't run here (another system, a missing extension) may be skipped if
 * another test of the same scenario runs.
 */
export function wronglySkipped(tests: readonly TestCase[], scenarios: readonly LldScenario[]): TestCase[] {
  return tests.filter((test) => {
    const named = scenariosOf(test, scenarios);
    return test.outcome === 'skipped' && (named.length === 0 || !named.every(({ id }) => isSeen(id, tests)));
  });
}

function isSeen(id: string, tests: readonly TestCase[]): boolean {
  return tests.some(({ name, outcome }) => outcome !== 'skipped' && namesScenario(name, id));
}

interface ScenarioTests {
  scenarios: readonly LldScenario[];
  /** The tests that were written for this design. */
  tests: readonly TestCase[];
  /** The texts of test files that could not be loaded: scenario ids are searched in the source. */
  notLoaded: ReadonlyMap<string, string>;
}

/** Every scenario must have a test whose name contains its id, and none may be skipped. */
export function scenarioGate({ scenarios, tests, notLoaded }: ScenarioTests): GateEvidence {
  const problems: string[] = [];
  const details: string[] = [];
  const said = [...notLoaded].map(([file, text]) => ({ file, text: withoutComments(file, text).text }));
  for (const { id, scenario } of scenarios) {
    const named = tests.filter((test) => namesScenario(test.name, id));
    const inFiles = said.filter(({ text }) => namesScenario(text, id)).map(({ file }) => file);
    if (named.length === 0 && inFiles.length === 0) {
      problems.push(`scenario ${id} (${scenario}) has no test: no new test's name contains ${id}`);
    } else if (named.length > 0 && !isSeen(id, named)) {
      problems.push(`the test of scenario ${id} is skipped: ${named.map(testTitle).join(', ')}`);
    } else {
      details.push(`${id}: ${named.length > 0 ? named.map(testTitle).join(', ') : inFiles.join(', ')}`);
    }
  }
  for (const [file, text] of notLoaded) {
    const line = skippedTestLine(file, text);
    if (line !== null) problems.push(`${file} leaves a test out, in line ${line}: no test may be skipped or focused`);
  }
  return evidenceOf('tests', null, { summary: `every scenario has a test (${scenarios.length})`, details, problems });
}

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

/** `2 new tests fail, as they should; 1 test of guards passes already` */
function redSummary(tests: number, files: number, guards: number): string {
  const red = [
    ...(tests === 0 ? [] : [`${countOf(tests, 'new test')} ${tests === 1 ? 'fails' : 'fail'}`]),
    ...(files === 0 ? [] : [`${countOf(files, 'test file')} can't load yet`]),
  ].join(' and ');
  const should = tests + files === 1 ? 'as it should' : 'as they should';
  return [
    ...(red === '' ? [] : [`${red}, ${should}`]),
    ...(guards === 0 ? [] : [`${countOf(guards, 'test')} of guards ${guards === 1 ? 'passes' : 'pass'} already`]),
  ].join('; ');
}
