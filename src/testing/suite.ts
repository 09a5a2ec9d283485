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
import type { LoadFailure, TestOutcome, TestRun, TestRunOptions, TestSuite } from './port.ts';
import { parseLcov } from './reports/coverage.ts';
import {
  createPathInWorktree,
  loadMessage,
  reportText,
  textsIn,
  type WrittenFiles,
  watchWritten,
} from './reports/report.ts';
import type { Ask, Report, Runner, RunOutput, RunPlace, RunWish } from './runner.ts';
import { testScript } from './runners.ts';
import {
  type CallChange,
  type RunnerCall,
  runsHere,
  type TestScript,
  withCallReached,
  withCallsChanged,
} from './script.ts';
import { createIsTestFile } from './test-files.ts';

export interface SuiteOptions {
  directory: string;
  settings: TestSettings;
  /** The package's folder in the worktree; empty for the top. */
  folder: string;
  /** Includes PATH. */
  env: Readonly<Record<string, string>>;
  /** Absent: the tests run without a sandbox. */
  sandbox?: OpenSandbox | undefined;
  scratch: string;
  runner: Runner;
  /** As typed in that folder. */
  command: string;
  /** The command with npm scripts expanded, so that arguments can be inserted. */
  script: string;
  /** Builds what the tests need, as typed at the top of the worktree; null: no such script. */
  build: string | null;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Hides secrets in the lines. */
  mask?: (text: string) => string;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** These download dependencies during the first test run, which a sandbox blocks. */
const FETCHING: ReadonlySet<string> = new Set(['maven', 'gradle', 'dotnet']);

/** For probing a tool, such as whether it can measure coverage. */
const ASK_TIMEOUT_MS = 120_000;
/** Bounds the kept stderr; `runProgram` bounds stdout itself. */
const KEEP_STDERR_CHARS = 4_000_000;

export function createSuite(given: SuiteOptions): TestSuite {
  const { settings, runner, folder } = given;
  const options = { ...given, build: null as string | null };
  return {
    runner: runner.name,
    get command() {
      return builtFirst(options, fromTop(folder, options.command));
    },
    folders: [folder],
    fetchesFirst: options.sandbox !== undefined && FETCHING.has(runner.name),
    isTestFile: createIsTestFile(settings.files),
    ...(given.build === null
      ? {}
      : {
          buildFirst(isWanted: boolean) {
            options.build = isWanted ? given.build : null;
          },
        }),
    async run(wish) {
      const { files, coverage, signal } = wish;
      const first = await runAlone(options, wish);
      // The runner doesn't recognise the selected files as tests: run all.
      if (first.outcome === 'no-tests' && files !== undefined)
        return runAlone(options, { signal, ...(coverage === undefined ? {} : { coverage }) });
      const reached = wish.lacksCode === true && first.outcome === 'no-report' ? scriptReached(options) : null;
      if (reached !== null) return runAlone({ ...options, script: reached }, wish);
      if (!first.isMeasured || !/^(failed|no-report|no-tests)$/.test(first.outcome)) return first;
      // Measuring coverage must not change the outcome: a run without it decides.
      const plain = await runAlone(options, { signal, ...(files === undefined ? {} : { files }) });
      return plain.outcome === first.outcome ? { ...plain, coverage: first.coverage } : plain;
    },
  };
}

/** The script with the tests running even if a command before them fails; null if there is no such command. */
function scriptReached({ runner, script }: SuiteOptions): string | null {
  const call = testScript(script).calls.find(({ runner: name }) => name === runner.name);
  const reached = call === undefined ? script : withCallReached(script, call);
  return reached === script ? null : reached;
}

export function fromTop(folder: string, command: string): string {
  return folder === '' ? command : `cd ${shellWord(folder)} && ${command}`;
}

function builtFirst({ build }: Pick<SuiteOptions, 'build'>, command: string): string {
  return build === null ? command : `${build} && ${command}`;
}

interface MeasuredRun extends TestRun {
  /** Our arguments or variables made it measure coverage. */
  isMeasured: boolean;
}

async function runAlone(options: SuiteOptions, wish: TestRunOptions): Promise<MeasuredRun> {
  const scratch = await makeOwnFolder(dirname(options.scratch), basename(options.scratch));
  const folder = await mkdtemp(join(scratch, 'run-'));
  const watched = await watch(options);
  try {
    return await runOnce(options, folder, wish, watched);
  } finally {
    for (const files of [watched.report, watched.lcov, ...watched.leaves]) await files?.removeNew();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Files that a run may write into the worktree. */
interface Watched {
  report: WrittenFiles | null;
  lcov: WrittenFiles | null;
  leaves: WrittenFiles[];
}

async function watch({ settings, runner, ...options }: SuiteOptions): Promise<Watched> {
  const directory = join(options.directory, options.folder);
  const watched = (path: string): Promise<WrittenFiles> => watchWritten(directory, path, options.directory);
  const unlessNull = async (path: string | null) => (path === null ? null : await watched(path));
  return {
    report: await unlessNull(settings.report ?? runner.writes ?? null),
    lcov: await unlessNull(settings.coverage),
    leaves: await Promise.all((runner.leaves ?? []).map(watched)),
  };
}

async function runOnce(
  options: SuiteOptions,
  scratch: string,
  wish: TestRunOptions,
  watched: Watched,
): Promise<MeasuredRun> {
  const { settings, runner, script, folder } = options;
  const directory = join(options.directory, folder);
  const { report, lcov } = watched;
  const place: RunPlace = {
    worktree: directory,
    pathInWorktree: createPathInWorktree(directory),
    env: options.env,
    folder: scratch,
    caches: join(options.scratch, 'caches'),
    report: report === null ? null : async () => await report.texts(),
  };
  const chosen = wish.files?.map((file) => posix.relative(folder, posix.normalize(file)));
  const selected = testScript(selectedScript(runner, script, chosen));
  const measures = wish.coverage === true && lcov === null;
  const sandbox = await options.sandbox?.({
    worktree: options.directory,
    may: 'write',
    env: options.env,
    command: settings.command ?? undefined,
    ...(wish.fetches ? { network: ['registries'] } : {}),
  });
  const timeoutMs = Math.min(ASK_TIMEOUT_MS, settings.timeoutMs);
  const asking =
    (env: Readonly<Record<string, string>>): Ask =>
    async (command) =>
      (await runScript(options, command, { env, sandbox, timeoutMs, signal: wish.signal })).output;
  const asked = { coverage: measures, ask: asking(options.env) };
  const set = await runner.environment?.(selected, place, asked);
  const env = { ...options.env, ...set?.env };
  const changes = await callChanges(selected, runner, place, asked);
  const changed = withCallsChanged(selected.text, changes);

  const tail = createOutputKeeper();
  const show: SuiteOptions['onLine'] = (said, stream) => {
    options.onLine(said, stream);
    tail.push(withoutSequences(said));
  };
  const bounds = { sandbox, timeoutMs: settings.timeoutMs, signal: wish.signal };
  const unbuilt = await buildFailures(options, { ...bounds, env: options.env }, show);
  const command = runner.mergesStreams === true ? `{ ${changed}\n} 2>&1` : changed;
  const program = await runScript(options, command, { ...bounds, env }, (line, stream) => {
    const said = stream === 'stdout' && runner.line !== undefined ? runner.line(line) : line;
    if (said !== null) show(said, stream);
  });
  const [failure] = (await reportText(join(scratch, EXIT_CODES), scratch)).split('\n');
  const exitCode = failure ? Number(failure) : program.ended.exitCode;
  const ended = { ...program.ended, exitCode };
  const piped = await textsIn(scratch, PIPED);
  const stdout = piped.length === 0 ? program.output.stdout : piped.join('\n');
  const output = { ...program.output, stdout, exitCode };
  const read = await runner.read(place, output, selected, asking(env));
  const found =
    unbuilt.length === 0 ? read : { cases: [], ...read, loadFailures: [...unbuilt, ...(read?.loadFailures ?? [])] };
  const coverage =
    wish.coverage !== true ? null : lcov === null ? (found?.coverage ?? null) : await configuredCoverage();
  const isThere = (path: string): boolean => existsSync(join(directory, path));
  // Some compilers print paths relative to the repository's top, wherever they run.
  const fromWorktree = (path: string): string =>
    folder === '' || (path.startsWith(`${folder}/`) && !isThere(path)) ? path : posix.join(folder, path);
  const withFile = <T extends { file: string | null }>(of: T): T =>
    of.file === null ? of : { ...of, file: fromWorktree(of.file) };
  return {
    command: builtFirst(options, fromTop(folder, selected.text === script ? options.command : selected.text)),
    outcome: outcomeOf(ended, found),
    exitCode: ended.exitCode,
    durationMs: ended.durationMs,
    cases: (found?.cases ?? []).map(withFile),
    loadFailures: (found?.loadFailures ?? []).map(withFile),
    coverage: coverage?.map((of) => ({ ...of, file: fromWorktree(of.file) })) ?? null,
    isMeasured: [set, ...changes.values()].some((change) => change?.measures === true),
    tail: tail.text() || ended.tail,
  };

  async function configuredCoverage() {
    const texts = (await lcov?.texts()) ?? [];
    return texts.length === 0 ? null : parseLcov(texts.join('\n'), place.pathInWorktree);
  }
}

/** Runs the build, if one is wanted. The tests run even if it fails: code that is missing on purpose can break it. */
async function buildFailures(
  options: SuiteOptions,
  how: Parameters<typeof runScript>[2],
  show: SuiteOptions['onLine'],
): Promise<LoadFailure[]> {
  const { build } = options;
  if (build === null) return [];
  const { output } = await runScript({ ...options, folder: '' }, build, how, show);
  if (output.exitCode === 0) return [];
  return [{ file: null, message: loadMessage(`${build}:\n${output.stdout}\n${output.stderr}`) }];
}

const EXIT_CODES = 'exit-codes';
const PIPED = /^piped-\d+\.out$/;

/**
 * The runner's own changes, and what all runners need. If a script starts the runner several times, a failure of one call
 * must not keep the others from running. Output that is piped into a formatter is copied, because the formatter's own output
 * can't be read.
 */
async function callChanges(
  { calls }: TestScript,
  runner: Runner,
  place: RunPlace,
  wish: RunWish,
): Promise<ReadonlyMap<RunnerCall, CallChange>> {
  const own = calls.filter(({ runner: name }) => name === runner.name);
  const several = own.length < 2 ? {} : { onFailure: `echo $? >> ${shellWord(join(place.folder, EXIT_CODES))}` };
  const changed = own.map(async (call, index): Promise<[RunnerCall, CallChange]> => {
    const copied = runner.readsStdout === true ? { copy: join(place.folder, `piped-${index}.out`) } : {};
    return [call, { ...(await runner.change?.(call, index, place, wish)), ...several, ...copied }];
  });
  return new Map(await Promise.all(changed));
}

async function runScript(
  { onProgress, onGroup, mask, ...options }: SuiteOptions,
  command: string,
  how: Pick<ProgramOptions, 'sandbox' | 'timeoutMs' | 'signal'> & { env: Readonly<Record<string, string>> },
  said: SuiteOptions['onLine'] = () => {},
): Promise<{ ended: ProgramEnd; output: RunOutput }> {
  let stderr = '';
  const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
    if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
    said(line, stream);
  };
  const cwd = join(options.directory, options.folder);
  // Yarn without a folder of packages: their programs are on the PATH of what it starts.
  const isPlugAndPlay = existsSync(join(options.directory, '.pnp.cjs')) && existsSync(join(cwd, 'package.json'));
  const started = isPlugAndPlay ? `yarn exec sh -c ${shellWord(command)}` : command;
  const ended = await runProgram({ command: started, cwd, ...how, mask, maySleep: true, onProgress, onGroup, onLine });
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
function outcomeOf(ended: ProgramEnd, report: Report | null): TestOutcome {
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
function isKilled({ signal, exitCode }: ProgramEnd, report: Report | null): boolean {
  if (signal !== null) return SENT.includes(signal);
  // Some runners exit with the number of failed tests, which may equal such a code.
  const failed = report?.cases.filter(({ outcome }) => outcome === 'failed').length;
  return SENT_CODES.has(exitCode) && failed !== exitCode;
}

/** Used when no runner is detected and tests are not required: it recognises test files but can't run them. */
export function noSuite(patterns: readonly string[]): TestSuite {
  return {
    runner: 'tap',
    folders: [''],
    command: 'the tests of this repository',
    isTestFile: createIsTestFile(patterns),
    run: () =>
      Promise.resolve({
        command: 'none',
        outcome: 'could-not-run',
        exitCode: null,
        durationMs: 0,
        cases: [],
        loadFailures: [],
        coverage: null,
        tail: '',
      }),
  };
}
