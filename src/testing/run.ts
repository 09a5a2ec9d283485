import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import type { TestSettings } from '../core/config.ts';
import { shellWord, withoutSequences } from '../core/lines.ts';
import { createOutputKeeper } from '../core/reason.ts';
import { makeOwnFolder } from '../process/files.ts';
import { type ProgramEnd, type ProgramOptions, runProgram } from '../process/program.ts';
import type { OpenSandbox } from '../process/sandbox/sandbox.ts';
import type { TestOutcome, TestRun, TestRunOptions } from './port.ts';
import {
  createPathInWorktree,
  loadMessage,
  parseLcov,
  type Reading,
  reportText,
  textsIn,
  type WrittenFiles,
  watchWritten,
} from './reports/report.ts';
import type { Ask, Runner, RunOutput, RunPlace } from './runner.ts';
import { testScript } from './runners.ts';
import { type CallChange, type RunnerCall, runsHere, withCallReached, withCallsChanged } from './script.ts';

/** How the tests of a worktree run, whatever the package. */
export interface SuiteOptions extends Pick<ProgramOptions, 'mask'> {
  /** The worktree. */
  directory: string;
  settings: TestSettings;
  /** Absent: the tests run without a sandbox. */
  sandbox?: OpenSandbox | undefined;
  /** A folder outside the worktree for reports and caches, created on demand. */
  scratch: string;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** How the tests of one package run. */
export interface PackageTests {
  /** In the worktree; empty for the top. */
  folder: string;
  runner: Runner;
  /** Includes PATH. */
  env: Readonly<Record<string, string>>;
  /** As typed in the folder. */
  command: string;
  /** The command with npm scripts expanded, so that arguments can be inserted. */
  script: string;
  /** Builds what the tests need, as typed at the top of the worktree; null: nothing is built. */
  build: string | null;
}

export function fromTop(folder: string, command: string): string {
  return folder === '' ? command : `cd ${shellWord(folder)} && ${command}`;
}

export function withBuild({ build }: PackageTests, command: string): string {
  return build === null ? command : `${build} && ${command}`;
}

export async function runPackage(tests: PackageTests, options: SuiteOptions, wish: TestRunOptions): Promise<TestRun> {
  const { files, coverage, signal } = wish;
  const first = await runAlone(tests, options, wish);
  // The runner doesn't recognise the selected files as tests: run all.
  if (first.outcome === 'no-tests' && files !== undefined)
    return runAlone(tests, options, { signal, ...(coverage === undefined ? {} : { coverage }) });
  const reached = wish.lacksCode === true && first.outcome === 'no-report' ? scriptReached(tests) : null;
  if (reached !== null) return runAlone({ ...tests, script: reached }, options, wish);
  if (!first.isMeasured || !/^(failed|no-report|no-tests)$/.test(first.outcome)) return first;
  // Measuring coverage must not change the outcome: a run without it decides.
  const plain = await runAlone(tests, options, { signal, ...(files === undefined ? {} : { files }) });
  return plain.outcome === first.outcome ? { ...plain, coverage: first.coverage } : plain;
}

/** The script with the tests running even if a command before them fails; null if there is no such command. */
function scriptReached({ runner, script }: PackageTests): string | null {
  const call = testScript(script).calls.find(({ runner: name }) => name === runner.name);
  const reached = call === undefined ? script : withCallReached(script, call);
  return reached === script ? null : reached;
}

interface MeasuredRun extends TestRun {
  /** Our arguments or variables made it measure coverage. */
  isMeasured: boolean;
}

/** Leaves nothing behind but the caches. */
async function runAlone(tests: PackageTests, options: SuiteOptions, wish: TestRunOptions): Promise<MeasuredRun> {
  const { settings, directory, scratch } = options;
  const { runner, folder } = tests;
  const own = await mkdtemp(join(await makeOwnFolder(dirname(scratch), basename(scratch)), 'run-'));
  const watched = async (pattern: string): Promise<WrittenFiles> =>
    await watchWritten(join(directory, folder), pattern, directory);
  const unlessNull = async (pattern: string | null) => (pattern === null ? null : await watched(pattern));
  const report = await unlessNull(settings.report ?? runner.writes ?? null);
  const lcov = await unlessNull(settings.coverage);
  const leaves = await Promise.all((runner.leaves ?? []).map(watched));
  try {
    return await runOnce(tests, options, wish, { folder: own, report, lcov });
  } finally {
    for (const files of [report, lcov, ...leaves]) await files?.removeNew();
    await rm(own, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** For probing a tool, such as whether it can measure coverage. */
const ASK_TIMEOUT_MS = 120_000;
const EXIT_CODES = 'exit-codes';
const PIPED = /^piped-\d+\.out$/;

async function runOnce(
  tests: PackageTests,
  options: SuiteOptions,
  wish: TestRunOptions,
  { folder: scratch, report, lcov }: { folder: string; report: WrittenFiles | null; lcov: WrittenFiles | null },
): Promise<MeasuredRun> {
  const { settings } = options;
  const { runner, script, folder, build } = tests;
  const directory = join(options.directory, folder);
  const sandbox = await options.sandbox?.({
    worktree: options.directory,
    may: 'write',
    env: tests.env,
    command: settings.command ?? undefined,
    ...(wish.fetches ? { network: ['registries'] } : {}),
  });
  const bounds = { signal: wish.signal, timeoutMs: settings.timeoutMs, sandbox };
  const askBounds = { ...bounds, timeoutMs: Math.min(ASK_TIMEOUT_MS, settings.timeoutMs) };
  const asking =
    (env: PackageTests['env']): Ask =>
    async (command) =>
      (await runScript(options, command, { ...askBounds, env, cwd: directory })).output;

  const chosen = wish.files?.map((file) => posix.relative(folder, posix.normalize(file)));
  const selected = testScript(selectedScript(runner, script, chosen));
  const place: RunPlace = {
    script: selected,
    worktree: directory,
    pathInWorktree: createPathInWorktree(directory),
    env: tests.env,
    folder: scratch,
    caches: join(options.scratch, 'caches'),
    report: report === null ? null : async () => await report.texts(),
    coverage: wish.coverage === true && lcov === null,
    ask: asking(tests.env),
  };
  const set = await runner.environment?.(place);
  const env = { ...tests.env, ...set?.env };
  const changes = await callChanges(runner, place);
  const changed = withCallsChanged(selected.text, changes);

  const tail = createOutputKeeper();
  const show: SuiteOptions['onLine'] = (said, stream) => {
    options.onLine(said, stream);
    tail.push(withoutSequences(said));
  };
  // The tests run even if the build fails: code that is missing on purpose can break it.
  const built =
    build === null
      ? null
      : await runScript(options, build, { ...bounds, env: tests.env, cwd: options.directory }, show);
  const command = runner.mergesStreams === true ? `{ ${changed}\n} 2>&1` : changed;
  const program = await runScript(options, command, { ...bounds, env, cwd: directory }, (line, stream) => {
    const said = stream === 'stdout' && runner.line !== undefined ? runner.line(line) : line;
    if (said !== null) show(said, stream);
  });
  const [failure] = (await reportText(join(scratch, EXIT_CODES), scratch)).split('\n');
  const exitCode = failure ? Number(failure) : program.ended.exitCode;
  const ended = { ...program.ended, exitCode };
  const piped = await textsIn(scratch, PIPED);
  const stdout = piped.length === 0 ? program.output.stdout : piped.join('\n');
  const read = await runner.read({ ...place, ask: asking(env) }, { ...program.output, stdout, exitCode });
  const found = built === null || built.output.exitCode === 0 ? read : withFailedBuild(read, `${build}:`, built.output);
  const lcovTexts = wish.coverage === true && lcov !== null ? await lcov.texts() : [];
  const coverage =
    lcovTexts.length > 0
      ? parseLcov(lcovTexts.join('\n'), place.pathInWorktree)
      : place.coverage
        ? (found?.coverage ?? null)
        : null;
  // Some compilers print paths relative to the repository's top, wherever they run.
  const fromWorktree = (path: string): string =>
    folder === '' || (path.startsWith(`${folder}/`) && !existsSync(join(directory, path)))
      ? path
      : posix.join(folder, path);
  const withFile = <T extends { file: string | null }>(of: T): T =>
    of.file === null ? of : { ...of, file: fromWorktree(of.file) };
  return {
    command: withBuild(tests, fromTop(folder, selected.text === script ? tests.command : selected.text)),
    outcome: outcomeOf(ended, found),
    exitCode,
    durationMs: ended.durationMs,
    cases: (found?.cases ?? []).map(withFile),
    loadFailures: (found?.loadFailures ?? []).map(withFile),
    coverage: coverage?.map(withFile) ?? null,
    isMeasured: [set, ...changes.values()].some((change) => change?.measures === true),
    tail: tail.text() || ended.tail,
  };
}

function withFailedBuild(read: Reading | null, heading: string, { stdout, stderr }: RunOutput): Reading {
  const failure = { file: null, message: loadMessage([heading, stdout, stderr].join('\n')) };
  return { cases: [], ...read, loadFailures: [failure, ...(read?.loadFailures ?? [])] };
}

/**
 * The runner's own changes, and what all runners need. If a script starts the runner several times, a failure of one call
 * must not keep the others from running. Output that is piped into a formatter is copied, because the formatter's own output
 * can't be read.
 */
async function callChanges(runner: Runner, place: RunPlace): Promise<ReadonlyMap<RunnerCall, CallChange>> {
  const own = place.script.calls.filter(({ runner: name }) => name === runner.name);
  const several = own.length < 2 ? {} : { onFailure: `echo $? >> ${shellWord(join(place.folder, EXIT_CODES))}` };
  const changed = own.map(async (call, index): Promise<[RunnerCall, CallChange]> => {
    const copied = runner.readsStdout === true ? { copy: join(place.folder, `piped-${index}.out`) } : {};
    return [call, { ...(await runner.change?.(call, index, place)), ...several, ...copied }];
  });
  return new Map(await Promise.all(changed));
}

/** Bounds the kept stderr; `runProgram` bounds stdout itself. */
const KEEP_STDERR_CHARS = 4_000_000;

async function runScript(
  { directory, onProgress, onGroup, mask }: SuiteOptions,
  command: string,
  how: Pick<ProgramOptions, 'sandbox' | 'timeoutMs' | 'signal' | 'env' | 'cwd'>,
  said: SuiteOptions['onLine'] = () => {},
): Promise<{ ended: ProgramEnd; output: RunOutput }> {
  let stderr = '';
  const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
    if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
    said(line, stream);
  };
  // Yarn without a folder of packages: their programs are on the PATH of what it starts.
  const isPlugAndPlay = existsSync(join(directory, '.pnp.cjs')) && existsSync(join(how.cwd, 'package.json'));
  const started = isPlugAndPlay ? `yarn exec sh -c ${shellWord(command)}` : command;
  const ended = await runProgram({ ...how, command: started, mask, maySleep: true, onProgress, onGroup, onLine });
  return { ended, output: { stdout: ended.stdout, stderr, exitCode: ended.exitCode } };
}

/** Restricts the script to some test files; unchanged if the runner or the script doesn't allow it. */
export function selectedScript(runner: Runner, script: string, files: readonly string[] | undefined): string {
  const [call, ...others] = testScript(script).calls.filter(({ runner: name }) => name === runner.name);
  if (files === undefined || call === undefined || others.length > 0 || !runsHere(script, call)) return script;
  // This package's runner can't take a file of another package.
  if (files.some((file) => file.startsWith('../'))) return script;
  const change = runner.select?.(call, files);
  return change === undefined || change === null ? script : withCallsChanged(script, new Map([[call, change]]));
}

/** If all tests were skipped, nothing ran: that counts as no tests. */
function outcomeOf(ended: ProgramEnd, report: Reading | null): TestOutcome {
  if (ended.timedOut) return 'timed-out';
  if (isKilled(ended, report)) return 'killed';
  if (report === null) return ended.missing ? 'could-not-run' : 'no-report';
  const { cases, loadFailures } = report;
  if (loadFailures.length > 0 || cases.some(({ outcome }) => outcome === 'failed')) return 'failed';
  return cases.some(({ outcome }) => outcome === 'passed') ? 'passed' : 'no-tests';
}

/** Signals that come from outside: a closing terminal, a shutdown, a person, the out-of-memory killer. */
const SENT: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM'];
const SENT_CODES: ReadonlySet<number | null> = new Set(SENT.map((signal) => 128 + constants.signals[signal]));

/** Some reports are written test by test, so a killed run may leave a partial one: it doesn't count. */
function isKilled({ signal, exitCode }: ProgramEnd, report: Reading | null): boolean {
  if (signal !== null) return SENT.includes(signal);
  // Some runners exit with the number of failed tests, which may equal such a code.
  const failed = report?.cases.filter(({ outcome }) => outcome === 'failed').length;
  return SENT_CODES.has(exitCode) && failed !== exitCode;
}
