import { shellWord } from '../../core/lines.ts';
import type { LoadFailure } from '../port.ts';
import { dependsOn, installedMajor } from '../project.ts';
import { isFileIn, junitReports } from '../reports/junit.ts';
import { loadMessage, type Reading, together, withUnexplained } from '../reports/report.ts';
import { parseTap } from '../reports/tap.ts';
import type { Ask, Report, Runner, RunOutput, RunPlace } from '../runner.ts';
import { optionsMatching, type RunnerCall } from '../script.ts';
import { packaged, withPrintedErrors } from './javascript.ts';

/** For any command that writes JUnit XML. */
export const junit: Runner = {
  name: 'junit',
  async read(place, output, _script, ask) {
    return await gathered(junitReports((await place.report?.()) ?? [], place), place, output, ask);
  },
};

/** The version in which node-tap renamed its options. */
const TAP_RENAMED = 17;

/** For any command that writes TAP to a file or to stdout. tape does so by default; node-tap gets an option for it. */
export const tap: Runner = {
  ...packaged('tap', /^(-[bc]|--(bail|no-[\w-]+|allow-[\w-]+|disable-coverage|color|strict))$/, {
    packages: ['tap', 'tape'],
    configuration: /^\.taprc$/,
    programs: ['tape'],
  }),
  readsStdout: true,
  usualCommand: async (_, project) => (dependsOn(project, ['tape']) ? "tape 'test/**/*.js'" : 'tap'),

  async change(call, _, { worktree }) {
    if (isTape(call)) return {};
    const isRenamed = ((await installedMajor(worktree, 'tap')) ?? TAP_RENAMED) >= TAP_RENAMED;
    return {
      remove: optionsMatching(
        call,
        /^(-w|--watch|--100|--(no-)?(check-)?coverage|--disable-coverage|--show-full-coverage)$/,
        /^(-R|--reporter|--coverage-report|--(lines|branches|functions|statements))(=|$)/,
      ),
      // Coverage is turned off, because too little of it makes node-tap fail.
      first: ['--reporter=tap', isRenamed ? '--disable-coverage' : '--no-coverage'],
    };
  },

  async read(place, output, script, ask) {
    const texts = place.report === null ? [output.stdout] : await place.report();
    const hasHeadings = script.calls.some(isTape);
    const readings = texts.map((text) => parseTap(text, (name) => fileNamed(name, place), hasHeadings));
    const read = readings.filter((one) => one !== null);
    const reading = read.length === 0 ? null : together(read);
    if (!script.calls.some(({ runner }) => runner === 'tap')) return await gathered(reading, place, output, ask);
    return withPrintedErrors(reading, output, place.pathInWorktree);
  },
};

function isTape({ words, head }: RunnerCall): boolean {
  return /\btape$/.test(words[head]?.text ?? '');
}

function fileNamed(name: string, place: RunPlace): string | null {
  const file = place.pathInWorktree(name);
  return file !== null && /\.\w+$/.test(file) && isFileIn(place.worktree, file) ? file : null;
}

async function gathered(reading: Reading | null, place: RunPlace, output: RunOutput, ask: Ask): Promise<Report | null> {
  if (reading === null) return withPrintedErrors(null, output, place.pathInWorktree);
  const { cases, loadFailures } = withUnexplained(reading, output);
  return { cases, loadFailures: await withReasons(loadFailures, place, output, ask) };
}

/** Each question starts a process. */
const MOST_ASKED = 10;
const TAIL_LINES = 200;
/** node:test puts this code into every failure. */
const NODE_TEST = 'ERR_TEST_FAILURE';
/** The only message that node:test has for a file whose process failed. */
const ONLY_FAILED = /(?:^|error: |cause: |\[Error: )'?test failed\b/m;

/**
 * Completes load failures for which the report has no reason: by running the file with Node alone or, if only one such
 * failure is left, with the whole output.
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
  // Only for node:test: the test files of other runners don't run under plain Node.
  const ofNode = bare.filter(({ file, message }) => /\.[cm]?[jt]s$/.test(file ?? '') && message.includes(NODE_TEST));
  for (const failure of ofNode.slice(0, MOST_ASKED)) {
    const alone = await ask(`node ${shellWord(failure.file ?? '')}`);
    if (alone.exitCode !== 0 && alone.stderr.trim() !== '') reasons.set(failure, alone.stderr);
  }
  const [only, ...others] = bare;
  if (only !== undefined && others.length === 0 && !reasons.has(only)) {
    // If the output is the report itself, it was read already.
    const isReport = place.report !== null && output.stdout.trimStart().startsWith('<?xml');
    const printed = `${isReport ? '' : output.stdout.trimEnd()}\n${output.stderr}`.trim();
    reasons.set(only, printed.split('\n').slice(-TAIL_LINES).join('\n'));
  }
  return failures.map((failure) => {
    const reason = reasons.get(failure) ?? '';
    return reason === '' ? failure : { ...failure, message: loadMessage(reason) };
  });
}
