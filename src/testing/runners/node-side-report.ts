import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseNodeLines } from '../reports/node-lines.ts';
import type { RunPlace } from '../runner.ts';
import { type RunnerCall, runnerCalls, withCallsChanged } from '../runner-calls.ts';
import { NODE_REPORTER } from './node-reporter.ts';
import { textsIn } from './report-files.ts';

/**
 * node:test's own reporters for JUnit and TAP say of a file that can't be loaded only that it failed, and the one for JUnit
 * prints nothing either: each call of it in the script gets our reporter besides those that it has.
 */
export async function withSideReport(script: string, place: RunPlace): Promise<string> {
  const calls = runnerCalls(script).filter((call) => call.runner === 'node' && reporters(call) > 0);
  if (calls.length === 0) return script;
  const reporter = join(place.folder, 'side-reporter.mjs');
  await writeFile(reporter, NODE_REPORTER);
  const changes = calls.flatMap((call, index) => {
    const destinations = count(call, /^--test-reporter-destination(=|$)/);
    const isAlone = reporters(call) === 1 && destinations === 0;
    if (!isAlone && destinations !== reporters(call)) return [];
    const first = [
      `--test-reporter=${pathToFileURL(reporter).href}`,
      `--test-reporter-destination=${join(place.folder, `side-${index}.jsonl`)}`,
      // Only a reporter that is alone may go without.
      ...(isAlone ? ['--test-reporter-destination=stdout'] : []),
    ];
    return [[call, { first }] as const];
  });
  return withCallsChanged(script, new Map(changes));
}

function reporters(call: RunnerCall): number {
  return count(call, /^--test-reporter(=|$)/);
}

function count({ words, head }: RunnerCall, pattern: RegExp): number {
  return words.filter(({ text }, at) => at > head && pattern.test(text)).length;
}

/** Why each file could not be loaded. */
export async function sideReasons({ folder, pathInWorktree }: RunPlace): Promise<Map<string, string>> {
  const texts = await textsIn(folder, /^side-\d+\.jsonl$/);
  const failures = texts.flatMap((text) => parseNodeLines(text, pathInWorktree, pathInWorktree)?.loadFailures ?? []);
  return new Map(failures.flatMap(({ file, message }) => (file === null ? [] : [[file, message] as const])));
}
