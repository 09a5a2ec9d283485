import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadFailure } from '../port.ts';
import { parseJunit } from '../reports/junit.ts';
import { loadMessage, type Reading, together } from '../reports/report.ts';
import { parseTap } from '../reports/tap.ts';
import type { Ask, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { shellQuoted } from '../script.ts';

/** Any command that writes JUnit XML. */
export const junit: Runner = {
  name: 'junit',
  instrument: async () => ({}),
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
  instrument: async () => ({}),
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
  return { cases, loadFailures: await withReasons(loadFailures, place, output, ask), coverage: null };
}

/** Each takes a process. */
const MOST_ASKED = 10;
const TAIL_LINES = 200;
/** The code that node:test gives every failure. */
const NODE_TEST = 'ERR_TEST_FAILURE';
/** All that node:test says of a file whose process failed. */
const ONLY_FAILED = /(?:^|error: |cause: |\[Error: )'?test failed\b/m;

/**
 * The load failures, with a reason also where the report gives none: what Node says of the file alone, or all that was
 * printed where only one file is open.
 */
async function withReasons(
  failures: readonly LoadFailure[],
  place: RunPlace,
  output: RunOutput,
  ask: Ask,
): Promise<LoadFailure[]> {
  const isBare = ({ file, message }: LoadFailure): boolean =>
    file !== null && (message === '' || ONLY_FAILED.test(message));
  const bare = failures.filter(isBare);
  const reasons = new Map<LoadFailure, string>();
  // Of another tool's file Node would only say that it is not made for Node alone.
  const ofNode = bare.filter(({ file, message }) => /\.[cm]?[jt]s$/.test(file ?? '') && message.includes(NODE_TEST));
  for (const failure of ofNode.slice(0, MOST_ASKED)) {
    const alone = await ask(`node ${shellQuoted(failure.file ?? '')}`);
    if (alone.exitCode !== 0 && alone.stderr.trim() !== '') reasons.set(failure, alone.stderr);
  }
  const [only, ...others] = bare;
  if (only !== undefined && others.length === 0 && !reasons.has(only)) {
    // The report itself explains nothing that was not read from it.
    const isReport = place.report !== null && output.stdout.trimStart().startsWith('<?xml');
    const printed = `${isReport ? '' : output.stdout.trimEnd()}\n${output.stderr}`.trim();
    reasons.set(only, printed.split('\n').slice(-TAIL_LINES).join('\n'));
  }
  return failures.map((failure) => {
    const reason = reasons.get(failure) ?? '';
    return reason === '' ? failure : { ...failure, message: loadMessage(reason) };
  });
}
