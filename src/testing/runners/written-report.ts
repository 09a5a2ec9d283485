import { statSync } from 'node:fs';
import { join } from 'node:path';
import { loadMessage } from '../message.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { parseJunit } from '../reports/junit.ts';
import { parseTap } from '../reports/tap.ts';
import type { Ask, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { withReasons } from './load-reasons.ts';
import { withSideReport } from './node-side-report.ts';

const asWritten: Pick<Runner, 'select' | 'instrument'> = {
  select: (script) => script,
  instrument: async (script, place) => ({ script: await withSideReport(script, place) }),
};

/** Any command that writes JUnit XML. */
export const junit: Runner = {
  ...asWritten,
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
  ...asWritten,
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

type Reading = { cases: TestCase[]; loadFailures: LoadFailure[] } | null;

/**
 * Nothing else is known of such a command: if it fails although its report names no failure, something failed that the
 * report doesn't show.
 */
async function gathered(
  readings: readonly Reading[],
  place: RunPlace,
  output: RunOutput,
  ask: Ask,
): Promise<Report | null> {
  const read = readings.filter((reading) => reading !== null);
  if (read.length === 0) return null;
  const cases = read.flatMap((reading) => reading.cases);
  const loadFailures = read.flatMap((reading) => reading.loadFailures);
  const isFailure = loadFailures.length > 0 || cases.some((test) => test.outcome === 'failed');
  if (!isFailure && cases.length > 0 && output.exitCode !== 0) {
    const said = `${output.stderr}\n${output.stdout}`.trim();
    const message = loadMessage(`It ended with ${output.exitCode}, and its report names no failure.\n${said}`);
    loadFailures.push({ file: null, message });
  }
  return { cases, loadFailures: await withReasons(loadFailures, place, output, ask), coverage: null };
}
