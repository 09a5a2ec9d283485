import type { GateEvidence } from '../core/gate.ts';
import { listed } from '../core/lines.ts';
import { errorMessage } from '../core/reason.ts';
import { type LldScenario, namesScenario } from '../documents/lld/scenarios.ts';
import { oneLine } from '../markdown/writer.ts';
import type { FileCoverage, TestCase, TestRun } from '../testing/port.ts';
import { wronglySkipped } from './red.ts';
import {
  type Baseline,
  countOf,
  countsOf,
  countsOfRun,
  evidenceOf,
  testKey,
  testTitle,
  titleOfKey,
  whyNothingRan,
} from './test-results.ts';

export interface GreenFacts {
  run: TestRun;
  /** The tests written for this design. */
  tests: readonly TestCase[];
  /** The files that they are in. */
  files: readonly string[];
  baseline: Baseline;
  scenarios: readonly LldScenario[];
  /** Test files that the LLD deletes: their tests may disappear. */
  deleted: ReadonlySet<string>;
  /** Keys of old tests that failed once and whose outcome was taken from a second run. */
  ranAgain?: readonly string[];
}

/** The new tests pass, every scenario has one, and what passed before still does. */
export function greenGate({
  run,
  tests,
  files,
  baseline,
  scenarios,
  deleted,
  ranAgain = [],
}: GreenFacts): GateEvidence {
  const nothing = whyNothingRan(run);
  if (nothing !== null) return evidenceOf('green', run, { problems: [nothing] });
  const broken = brokenTests(run, baseline, (file) => deleted.has(file));
  const notLoaded = notLoadedSince(run, baseline);
  const details = ranAgain
    .filter((key) => !broken.has(key))
    .map((key) => `${titleOfKey(key)} failed in one run and passed in the next`);
  const problems = [
    ...notLoaded.values(),
    ...tests.filter(({ outcome }) => outcome === 'failed').map(whyItFails),
    ...wronglySkipped(tests, scenarios).map((test) => `${testTitle(test)} is skipped`),
  ];
  const missing: string[] = [];
  for (const { id, scenario } of scenarios) {
    const named = tests.filter((test) => namesScenario(test.name, id));
    if (named.length > 0) details.push(`${id}: ${named.map(testTitle).join(', ')}`);
    else missing.push(`scenario ${id} (${scenario}) has no test: no new test's name contains ${id}`);
  }
  // Missing tests may be in the file that can't be loaded, or in what failed without a name, even if it did so before.
  if (notLoaded.size === 0 && missing.length > 0) {
    const unnamed = run.loadFailures.find(({ file }) => file === null);
    if (unnamed !== undefined) problems.push(`the new tests did not run: ${errorMessage(unnamed.message)}`);
    else if (tests.length > 0) problems.push(...missing);
    else problems.push(`none of the new tests ran: does the command run ${files.join(', ')}?`);
  }
  problems.push(...broken.values());
  const { passed } = countsOfRun(run);
  const summary = `${countOf(passed, 'test')} ${passed === 1 ? 'passes' : 'pass'}, ${tests.length} of them new`;
  return evidenceOf('green', run, { summary, details, problems });
}

function whyItFails(test: TestCase): string {
  return `${testTitle(test)} fails: ${errorMessage(test.message ?? '')}`;
}

/** The problem of each file that could be loaded before and can't be now, by a key. */
function notLoadedSince({ loadFailures }: TestRun, { notLoaded }: Baseline): Map<string, string> {
  const found = loadFailures.filter(({ file }) => !notLoaded.includes(file ?? ''));
  return new Map(
    found.map(({ file, message }, at) => [
      `load\0${file ?? at}`,
      `${file ?? 'a test file'} can't be loaded: ${errorMessage(message)}`,
    ]),
  );
}

/** The problem of each test that passed before and doesn't now, by key. `mayDisappear`: whether tests of a file may disappear. */
function brokenTests(run: TestRun, { passed }: Baseline, mayDisappear: (file: string) => boolean): Map<string, string> {
  const now = Map.groupBy(run.cases, testKey);
  const found = new Map<string, string>();
  for (const [key, before] of countsOf(passed)) {
    const say = (wrong: string) => found.set(key, `${titleOfKey(key)} ${wrong}`);
    const tests = now.get(key) ?? [];
    const failed = tests.find((test) => test.outcome === 'failed');
    const passing = tests.filter((test) => test.outcome === 'passed').length;
    // A file that can't be loaded is reported separately.
    const isGone = tests.length === 0 && run.loadFailures.length === 0;
    if (failed !== undefined) say(`passed before and fails now: ${errorMessage(failed.message ?? '')}`);
    else if (tests.length > 0 && passing === 0) say('passed before and is skipped now');
    else if (mayDisappear(key.split('\0')[0] ?? '')) continue;
    else if (isGone) say('passed before and is gone');
    else if (tests.length > 0 && passing < before) say(`passed ${before} times before, and ${passing} now`);
  }
  return found;
}

const MOST_UNSTEADY = 10;

/**
 * Keys of old tests that may be flaky: they are the only problem of the run, and there are few of them. Empty if anything
 * else is wrong or too many fail, since then the code is the likely reason.
 */
export function unsteadyTests({ run, tests, baseline, deleted }: GreenFacts): string[] {
  const isElsewhere =
    whyNothingRan(run) !== null ||
    notLoadedSince(run, baseline).size > 0 ||
    tests.some(({ outcome }) => outcome === 'failed');
  const keys = isElsewhere ? [] : [...brokenTests(run, baseline, (file) => deleted.has(file)).keys()];
  return keys.length > MOST_UNSTEADY ? [] : keys;
}

/** Replaces the outcomes of these tests by those of another run of the same state. */
export function withOutcomesOf(run: TestRun, other: TestRun, keys: readonly string[]): TestRun {
  const isAsked = (test: TestCase): boolean => keys.includes(testKey(test));
  return { ...run, cases: [...run.cases.filter((test) => !isAsked(test)), ...other.cases.filter(isAsked)] };
}

export interface CombinationFacts {
  /** The results of the base alone: tests that fail there are not blamed on a branch. */
  baseline: Baseline;
  /** Names of the branches' own tests, as listed in their reports. */
  proven: readonly string[];
  /** Files that the branches change: a test that disappears from one of them was removed on purpose. */
  changed: ReadonlySet<string>;
}

/**
 * What a combination of branches breaks compared to the base, by a key that is stable across runs: tests that fail, are skipped
 * or are gone, files that can't be loaded, and a branch's own tests that didn't run.
 */
export function brokenIn(run: TestRun, { baseline, proven, changed }: CombinationFacts): Map<string, string> {
  const nothing = whyNothingRan(run);
  const isExpected = baseline.passed.length + proven.length > 0;
  if (nothing !== null) return new Map(run.outcome === 'no-tests' && !isExpected ? [] : [['run', nothing]]);
  const mayDisappear = (file: string): boolean => (file === '' ? changed.size > 0 : changed.has(file));
  const broken = new Map([...notLoadedSince(run, baseline), ...brokenTests(run, baseline, mayDisappear)]);
  const known = new Set([...baseline.passed, ...baseline.others]);
  for (const test of run.cases) {
    const key = testKey(test);
    if (test.outcome === 'failed' && !known.has(key) && !broken.has(key)) broken.set(key, whyItFails(test));
  }
  // Missing tests may be in the file that can't be loaded.
  if (run.loadFailures.length > 0) return broken;
  const ran = new Set(run.cases.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => oneLine(name)));
  for (const name of proven) if (!ran.has(name)) broken.set(`proven\0${name}`, `"${name}" did not run`);
  return broken;
}

const MOST_LINES = 4;
const MOST_CHARS = 400;

/** Shortens a problem to one line without the stack trace. */
export function briefly(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^at .+(?::\d+|\))$/.test(line));
  const line = lines.slice(0, MOST_LINES).join(' ');
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
}

/** Without the code, none of the new tests may pass: that shows that they test the code. */
export function reverseGate(run: TestRun, tests: readonly TestCase[]): GateEvidence {
  const passing = new Set(run.cases.filter((test) => test.outcome === 'passed').map(testKey));
  const problems = tests
    .filter((test) => passing.has(testKey(test)))
    .map((test) => `${testTitle(test)} passes without the code`);
  // It is fine if no test can be loaded without the code, but the run itself must have started.
  const nothing = run.outcome === 'no-tests' ? null : whyNothingRan(run);
  if (nothing !== null) problems.push(nothing);
  return evidenceOf('reverse', run, {
    summary: `${countOf(tests.length, 'new test')} ${tests.length === 1 ? 'fails' : 'fail'} again without the code`,
    details: [`${tests.length - problems.length} of ${tests.length} new test(s) do not pass without the code`],
    problems,
  });
}

export interface CoverageTarget {
  percent: number;
  /** A target in the configuration must be measured. A target in an LLD is skipped if the runner can't measure it. */
  from: 'configuration' | 'LLD';
}

/** Checks the line coverage of the changed files. */
export function coverageGate(
  run: TestRun,
  changedFiles: ReadonlySet<string>,
  target: CoverageTarget | null,
): GateEvidence {
  const seen = (found: Parameters<typeof evidenceOf>[2]): GateEvidence => ({
    ...evidenceOf('coverage', null, found),
    command: run.command,
  });
  if (run.coverage === null) {
    const why = 'the test runner gave no coverage';
    if (target?.from === 'configuration') return seen({ problems: [`${target.percent} % is asked for, but ${why}`] });
    return seen({ skipped: target === null ? 'no target' : why });
  }
  const files = run.coverage.filter(({ file }) => changedFiles.has(file));
  const details = files.map((file) => `${file.file}: ${formatPercent(file)} of ${file.lines} line(s)${missed(file)}`);
  if (target === null) return seen({ skipped: 'no target', details });
  const sum = (of: 'lines' | 'covered'): number => files.reduce((all, file) => all + file[of], 0);
  const total = { lines: sum('lines'), covered: sum('covered') };
  if (total.lines === 0) return seen({ skipped: 'no changed file has lines to cover', details });
  const reached = percentOf(total) >= target.percent;
  const problem = `the changed files are covered to ${formatPercent(total)}, the ${target.from} asks for ${target.percent} %`;
  const summary = `${formatPercent(total)} of the lines of changed files, ${target.percent} % asked for`;
  return seen({ summary, details, problems: reached ? [] : [problem, ...details] });
}

type Covered = Pick<FileCoverage, 'lines' | 'covered'>;

function percentOf({ lines, covered }: Covered): number {
  return lines === 0 ? 100 : (covered / lines) * 100;
}

function formatPercent(coverage: Covered): string {
  return `${percentOf(coverage).toFixed(1)} %`;
}

function missed({ missed: lines }: FileCoverage): string {
  return lines.length === 0 ? '' : `; not reached: ${listed(lines.map(String))}`;
}
