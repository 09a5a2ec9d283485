import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadMessage } from '../message.ts';
import type { LoadFailure, TestCase } from '../port.ts';
import { parseJunit } from '../reports/junit.ts';
import { parseTap } from '../reports/tap.ts';
import type { Report, Runner, RunOutput, RunPlace } from '../runner.ts';

const unchanged: Pick<Runner, 'select' | 'instrument'> = {
  select: (script) => script,
  instrument: async (script) => ({ script }),
};

/** Any command that writes JUnit XML. */
export const junit: Runner = {
  ...unchanged,
  async read(place, output) {
    const { pathInWorktree } = place;
    const isFile = (path: string): boolean => existsSync(join(place.worktree, path));
    const texts = (await place.report?.()) ?? [];
    return gathered(
      texts.map((text) => parseJunit(text, { pathInWorktree, isFile })),
      output,
    );
  },
};

/** Any command that writes TAP, to a file or to its standard output. */
export const tap: Runner = {
  ...unchanged,
  async read(place, output) {
    const texts = place.report === null ? [output.stdout] : await place.report();
    return gathered(
      texts.map((text) => parseTap(text, (name) => fileNamed(name, place))),
      output,
    );
  },
};

function fileNamed(name: string, place: RunPlace): string | null {
  const file = place.pathInWorktree(name);
  return file !== null && /\.\w+$/.test(file) && existsSync(join(place.worktree, file)) ? file : null;
}

type Reading = { cases: TestCase[]; loadFailures: LoadFailure[] } | null;

/**
 * Nothing else is known of such a command: if it fails although its report names no failure, something failed that the
 * report doesn't show.
 */
function gathered(readings: readonly Reading[], output: RunOutput): Report | null {
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
  return { cases, loadFailures, coverage: null };
}
