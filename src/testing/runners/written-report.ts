import type { LoadFailure } from '../port.ts';
import { installedMajor, signOf } from '../project.ts';
import { isFileIn, junitReports } from '../reports/junit.ts';
import { loadMessage, type Reading, together } from '../reports/report.ts';
import { parseTap } from '../reports/tap.ts';
import { type Ask, changedCalls, type Report, type Runner, type RunOutput, type RunPlace } from '../runner.ts';
import { optionsMatching, programNamed, shellQuoted } from '../script.ts';
import { isJavaScriptMissing, namedTests, withPrintedErrors } from './javascript.ts';

/** Any command that writes JUnit XML. */
export const junit: Runner = {
  name: 'junit',
  instrument: async () => ({}),
  async read(place, output, _script, ask) {
    return await gathered(junitReports((await place.report?.()) ?? [], place), place, output, ask);
  },
};

/** From this version on, node-tap has other names for its options. */
const TAP_RENAMED = 17;

/** Any command that writes TAP, to a file or to its standard output; node-tap is made to. */
export const tap: Runner = {
  name: 'tap',
  isMissingCode: isJavaScriptMissing,
  sign: signOf(['tap'], /^\.taprc$/),
  usualCommand: async () => 'tap',
  headAt: programNamed('tap'),
  select: (call, files) => namedTests(call, files, /^(-[bc]|--(bail|no-[\w-]+|allow-[\w-]+|disable-coverage|color))$/),

  async instrument(script, { worktree }) {
    // Too little coverage would be a failure of its own.
    const isRenamed = ((await installedMajor(worktree, 'tap')) ?? TAP_RENAMED) >= TAP_RENAMED;
    const changes = await changedCalls(script, 'tap', (call) => ({
      remove: optionsMatching(
        call,
        /^(-w|--watch|--100|--(no-)?(check-)?coverage|--disable-coverage|--show-full-coverage)$/,
        /^(-R|--reporter|--coverage-report|--(lines|branches|functions|statements))(=|$)/,
      ),
      first: ['--reporter=tap', isRenamed ? '--disable-coverage' : '--no-coverage'],
    }));
    return { changes };
  },

  async read(place, output, script, ask) {
    const texts = place.report === null ? [output.stdout] : await place.report();
    const isTape = /\btape\b/.test(script.text);
    const readings = texts.map((text) => parseTap(text, (name) => fileNamed(name, place), isTape));
    const read = readings.filter((one) => one !== null);
    const reading = read.length === 0 ? null : together(read);
    if (!script.calls.some(({ runner }) => runner === 'tap')) return await gathered(reading, place, output, ask);
    return withPrintedErrors(reading, output, place.pathInWorktree);
  },
};

function fileNamed(name: string, place: RunPlace): string | null {
  const file = place.pathInWorktree(name);
  return file !== null && /\.\w+$/.test(file) && isFileIn(place.worktree, file) ? file : null;
}

/**
 * Nothing else is known of such a command: if it fails although its report names no failure, something failed that the
 * report doesn't show.
 */
async function gathered(reading: Reading | null, place: RunPlace, output: RunOutput, ask: Ask): Promise<Report | null> {
  if (reading === null) return withPrintedErrors(null, output, place.pathInWorktree);
  const { cases, loadFailures } = reading;
  const isFailure = loadFailures.length > 0 || cases.some((test) => test.outcome === 'failed');
  if (!isFailure && cases.length > 0 && output.exitCode !== 0) {
    const said = `${output.stderr}\n${output.stdout}`.trim();
    const message = loadMessage(`It ended with ${output.exitCode}, and its report names no failure.\n${said}`);
    loadFailures.push({ file: null, message });
  }
  return { cases, loadFailures: await withReasons(loadFailures, place, output, ask) };
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
