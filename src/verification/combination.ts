import { errorMessage } from '../core/reason.ts';
import { oneLine } from '../documents/implementation/markdown-text.ts';
import type { TestCase, TestRun } from '../testing/port.ts';
import { type Baseline, countsOf } from './baseline.ts';
import { testKey, testTitle, whyNothingRan } from './test-key.ts';

/** Something that a combination of branches breaks; `key` is the same over several runs. */
export interface Broken {
  key: string;
  text: string;
}

export interface CombinationFacts {
  /** Of the base alone: what was red there is not to blame. */
  baseline: Baseline;
  /** Names of the tests that prove the branches, as their reports list them. */
  proven: readonly string[];
  /** Files that the branches change: a test that is gone from one of them was taken out on purpose. */
  changed: ReadonlySet<string>;
}

/**
 * What is broken in a run on several branches together: a test that fails and did not in the base, one that is skipped or
 * gone and was not, a file that can't be loaded any more, and a test that proves a branch and did not run at all.
 */
export function brokenIn(run: TestRun, { baseline, proven, changed }: CombinationFacts): Broken[] {
  const nothing = whyNothingRan(run);
  const isExpected = baseline.passed.length + proven.length > 0;
  if (nothing !== null) return run.outcome === 'no-tests' && !isExpected ? [] : [{ key: 'run', text: nothing }];
  const notLoaded = run.loadFailures.filter(({ file }) => !baseline.notLoaded.includes(file ?? ''));
  const broken = notLoaded.map(({ file, message }) => ({
    key: `load\0${file ?? ''}`,
    text: `${file ?? 'a test file'} can't be loaded: ${errorMessage(message)}`,
  }));
  const before = countsOf(baseline.passed);
  const known = new Set(baseline.others);
  for (const [key, tests] of Map.groupBy(run.cases, testKey)) {
    const text = whatFails(tests, before.get(key) ?? 0, known.has(key));
    if (text !== null) broken.push({ key, text });
  }
  // The tests of a file that can't be loaded are not missing.
  if (run.loadFailures.length > 0) return broken;
  const there = new Set(run.cases.map(testKey));
  for (const key of before.keys()) {
    const [file = '', name = ''] = key.split('\0');
    const isMeant = file === '' ? changed.size > 0 : changed.has(file);
    if (!there.has(key) && !isMeant) broken.push({ key, text: `${titleOf(file, name)} passed before and is gone` });
  }
  const ran = new Set(run.cases.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => oneLine(name)));
  for (const name of new Set(proven))
    if (!ran.has(name)) broken.push({ key: `proven\0${name}`, text: `"${name}" did not run` });
  return broken;
}

/** Of all tests with one name; null: nothing that the base does not have too. */
function whatFails(tests: readonly TestCase[], passedBefore: number, isKnown: boolean): string | null {
  const [first] = tests;
  if (first === undefined || isKnown) return null;
  const failed = tests.find(({ outcome }) => outcome === 'failed');
  const was = passedBefore > 0 ? 'passed before and fails now' : 'fails';
  if (failed !== undefined) return `${testTitle(failed)} ${was}: ${errorMessage(failed.message ?? '')}`;
  const passing = tests.filter(({ outcome }) => outcome === 'passed').length;
  return passedBefore > 0 && passing === 0 ? `${testTitle(first)} passed before and is skipped now` : null;
}

function titleOf(file: string, name: string): string {
  return testTitle({ file: file === '' ? null : file, name });
}

const MOST_LINES = 4;
const MOST_CHARS = 400;

/** What is broken on one line: without the stack, which is for those who fix it. */
export function briefly(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !/^at .+(?::\d+|\))$/.test(line));
  const line = lines.slice(0, MOST_LINES).join(' ');
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS - 1)}…` : line;
}
