import { errorMessage } from '../core/reason.ts';
import { oneLine } from '../markdown/writer.ts';
import type { TestRun } from '../testing/port.ts';
import type { Baseline } from './baseline.ts';
import { brokenTests } from './green.ts';
import { testKey, testTitle, whyNothingRan } from './test-key.ts';

/** Something that a combination of branches breaks; `key` is stable across runs. */
export interface Broken {
  key: string;
  text: string;
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
 * What a combination of branches breaks compared to the base: tests that fail, are skipped or are gone, files that can't be
 * loaded, and a branch's own tests that didn't run.
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
  const mayDisappear = (file: string): boolean => (file === '' ? changed.size > 0 : changed.has(file));
  for (const [key, text] of brokenTests(run, baseline, mayDisappear)) broken.push({ key, text });
  const known = new Set([...baseline.passed, ...baseline.others]);
  for (const [key, [test]] of Map.groupBy(
    run.cases.filter(({ outcome }) => outcome === 'failed'),
    testKey,
  ))
    if (test !== undefined && !known.has(key))
      broken.push({ key, text: `${testTitle(test)} fails: ${errorMessage(test.message ?? '')}` });
  // Missing tests may be in the file that can't be loaded.
  if (run.loadFailures.length > 0) return broken;
  const ran = new Set(run.cases.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => oneLine(name)));
  for (const name of new Set(proven))
    if (!ran.has(name)) broken.push({ key: `proven\0${name}`, text: `"${name}" did not run` });
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
