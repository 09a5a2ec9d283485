import { statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseJunit } from '../reports/junit.ts';
import { loadMessage, type Reading, textsIn, together } from '../reports/report.ts';
import { parseTap } from '../reports/tap.ts';
import type { Ask, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import type { CallChange, RunnerCall, TestScript } from '../runner-call.ts';
import { withReasons } from './load-reasons.ts';
import { NODE_REPORTER, parseNodeLines } from './node-report.ts';

const instrument: Runner['instrument'] = async (script, place) => ({ changes: await sideReports(script, place) });

/** Any command that writes JUnit XML. */
export const junit: Runner = {
  name: 'junit',
  instrument,
  async read(place, output, _script, ask) {
    const { pathInWorktree } = place;
    const isFile = (path: string): boolean => isFileIn(place, path);
    const texts = (await place.report?.()) ?? [];
    const readings = texts.map((text) => parseJunit(text, { pathInWorktree, isFile }));
    return await gathered(readings, place, output, ask);
  },
};

/** Any command that writes TAP, to a file or to its standard output. */
export const tap: Runner = {
  name: 'tap',
  instrument,
  async read(place, output, _script, ask) {
    const texts = place.report === null ? [output.stdout] : await place.report();
    const readings = texts.map((text) => parseTap(text, (name) => fileNamed(name, place)));
    return await gathered(readings, place, output, ask);
  },
};

function fileNamed(name: string, place: RunPlace): string | null {
  const file = place.pathInWorktree(name);
  return file !== null && /\.\w+$/.test(file) && isFileIn(place, file) ? file : null;
}

function isFileIn({ worktree }: RunPlace, path: string): boolean {
  return statSync(join(worktree, path), { throwIfNoEntry: false })?.isFile() === true;
}

/**
 * Nothing else is known of such a command: if it fails although its report names no failure, something failed that the
 * report doesn't show.
 */
async function gathered(
  readings: readonly (Reading | null)[],
  place: RunPlace,
  output: RunOutput,
  ask: Ask,
): Promise<Report | null> {
  const read = readings.filter((reading) => reading !== null);
  if (read.length === 0) return null;
  const { cases, loadFailures } = together(read);
  const isFailure = loadFailures.length > 0 || cases.some((test) => test.outcome === 'failed');
  if (!isFailure && cases.length > 0 && output.exitCode !== 0) {
    const said = `${output.stderr}\n${output.stdout}`.trim();
    const message = loadMessage(`It ended with ${output.exitCode}, and its report names no failure.\n${said}`);
    loadFailures.push({ file: null, message });
  }
  const known = await sideReasons(place);
  return { cases, loadFailures: await withReasons(loadFailures, known, place, output, ask), coverage: null };
}

/**
 * node:test's own reporters for JUnit and TAP say of a file that can't be loaded only that it failed, and the one for JUnit
 * prints nothing either: each call of it in the script gets our reporter besides those that it has.
 */
async function sideReports({ calls }: TestScript, place: RunPlace): Promise<ReadonlyMap<RunnerCall, CallChange>> {
  const reporter = join(place.folder, 'side-reporter.mjs');
  const changes = new Map<RunnerCall, CallChange>();
  for (const call of calls.filter(({ runner }) => runner === 'node')) {
    const reporters = count(call, /^--test-reporter(=|$)/);
    const destinations = count(call, /^--test-reporter-destination(=|$)/);
    const isAlone = reporters === 1 && destinations === 0;
    if (reporters === 0 || (!isAlone && destinations !== reporters)) continue;
    changes.set(call, {
      first: [
        `--test-reporter=${pathToFileURL(reporter).href}`,
        `--test-reporter-destination=${join(place.folder, `side-${changes.size}.jsonl`)}`,
        // Only a reporter that is alone may go without.
        ...(isAlone ? ['--test-reporter-destination=stdout'] : []),
      ],
    });
  }
  if (changes.size > 0) await writeFile(reporter, NODE_REPORTER);
  return changes;
}

function count({ words, head }: RunnerCall, pattern: RegExp): number {
  return words.filter(({ text }, at) => at > head && pattern.test(text)).length;
}

/** Why each file could not be loaded. */
async function sideReasons({ folder, pathInWorktree }: RunPlace): Promise<Map<string, string>> {
  const texts = await textsIn(folder, /^side-\d+\.jsonl$/);
  const failures = texts.flatMap((text) => parseNodeLines(text, pathInWorktree, pathInWorktree)?.loadFailures ?? []);
  return new Map(failures.flatMap(({ file, message }) => (file === null ? [] : [[file, message] as const])));
}
