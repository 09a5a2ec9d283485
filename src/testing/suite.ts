import { existsSync } from 'node:fs';
import { glob, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, posix, resolve } from 'node:path';
import type { TestSettings } from '../core/config.ts';
import { withoutSequences } from '../core/lines.ts';
import { createOutputKeeper } from '../core/reason.ts';
import { type ProgramEnd, runProgram } from '../process/program.ts';
import type { OpenSandbox, Sandbox } from '../process/sandbox/sandbox.ts';
import type { TestOutcome, TestRun, TestRunOptions, TestSuite } from './port.ts';
import { parseLcov } from './reports/coverage.ts';
import { createPathInWorktree } from './reports/report.ts';
import type { Ask, Report, Runner, RunPlace } from './runner.ts';
import { testScript } from './runners.ts';
import { runsHere, shellQuoted, withCallReached, withCallsChanged } from './script.ts';
import { createIsTestFile } from './test-files.ts';

export interface SuiteOptions {
  directory: string;
  settings: TestSettings;
  /** Of the package in the worktree, to run in; empty for the top. */
  folder: string;
  /** With the search path for the run in it. */
  env: Readonly<Record<string, string>>;
  /** Absent: they run without one. */
  sandbox?: OpenSandbox | undefined;
  scratch: string;
  runner: Runner;
  /** As a person would type it there. */
  command: string;
  /** The same with all scripts written out, so that arguments can be put into it. */
  script: string;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  /** Hides secrets in the lines. */
  mask?: (text: string) => string;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** These fetch what they need when they first run the tests, which in a sandbox they can't. */
const FETCHING: ReadonlySet<string> = new Set(['maven', 'gradle', 'dotnet']);

/** For asking a tool something, such as whether it can measure coverage. */
const ASK_TIMEOUT_MS = 120_000;
/** Of standard error; the program that keeps standard output has its own bound. */
const KEEP_STDERR_CHARS = 4_000_000;

export function createSuite(options: SuiteOptions): TestSuite {
  const { settings, runner, folder } = options;
  return {
    runner: runner.name,
    command: fromTop(folder, options.command),
    folder,
    fetchesFirst: options.sandbox !== undefined && FETCHING.has(runner.name),
    isTestFile: createIsTestFile(settings.files),
    async run(wish) {
      const { files, coverage, signal } = wish;
      const first = await runAlone(options, wish);
      // Not every file that looks like a test is one for the runner.
      if (first.outcome === 'no-tests' && files !== undefined)
        return runAlone(options, { signal, ...(coverage === undefined ? {} : { coverage }) });
      const reached = wish.lacksCode === true && first.outcome === 'no-report' ? scriptReached(options) : null;
      if (reached !== null) return runAlone({ ...options, script: reached }, wish);
      if (!first.isMeasured || !/^(failed|no-report|no-tests)$/.test(first.outcome)) return first;
      // What measures coverage must not decide: the same without it does.
      const plain = await runAlone(options, { signal, ...(files === undefined ? {} : { files }) });
      return plain.outcome === first.outcome ? { ...plain, coverage: first.coverage } : plain;
    },
  };
}

/** Null where nothing stands in front of the tests that could stop them. */
function scriptReached({ runner, script }: SuiteOptions): string | null {
  const call = testScript(script).calls.find(({ runner: name }) => name === runner.name);
  const reached = call === undefined ? script : withCallReached(script, call);
  return reached === script ? null : reached;
}

function fromTop(folder: string, command: string): string {
  return folder === '' ? command : `cd ${shellQuoted(folder)} && ${command}`;
}

/** Whether arguments or variables of ours made it measure coverage. */
interface MeasuredRun extends TestRun {
  isMeasured: boolean;
}

async function runAlone(options: SuiteOptions, wish: TestRunOptions): Promise<MeasuredRun> {
  await mkdir(options.scratch, { recursive: true });
  const folder = await mkdtemp(join(options.scratch, 'run-'));
  const watched = await watch(options);
  try {
    return await runOnce(options, folder, wish, watched);
  } finally {
    for (const files of [watched.report, watched.lcov, ...watched.leaves]) await files?.removeNew();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What a run may write into the worktree. */
interface Watched {
  report: WrittenFiles | null;
  lcov: WrittenFiles | null;
  leaves: WrittenFiles[];
}

async function watch({ settings, runner, ...options }: SuiteOptions): Promise<Watched> {
  const directory = join(options.directory, options.folder);
  const unlessNull = async (path: string | null) => (path === null ? null : await watchWritten(directory, path));
  return {
    report: await unlessNull(settings.report ?? runner.writes ?? null),
    lcov: await unlessNull(settings.coverage),
    leaves: await Promise.all((runner.leaves ?? []).map((path) => watchWritten(directory, path))),
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
  const asking = (env: Readonly<Record<string, string>>) => createAsk(options, { env, sandbox }, wish.signal);
  const prepared = await runner.instrument(selected, place, measures, asking(options.env));
  const env = { ...options.env, ...prepared.env };
  const changed = withCallsChanged(selected.text, prepared.changes ?? new Map());

  const tail = createOutputKeeper();
  let stderr = '';
  const ended = await runProgram({
    command: prepared.mergesStreams === true ? `{ ${changed}\n} 2>&1` : changed,
    cwd: directory,
    env,
    sandbox,
    timeoutMs: settings.timeoutMs,
    maySleep: true,
    signal: wish.signal,
    onProgress: options.onProgress,
    onGroup: options.onGroup,
    mask: options.mask,
    onLine(line, stream) {
      if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
      const said = stream === 'stdout' && runner.line !== undefined ? runner.line(line) : line;
      if (said === null) return;
      options.onLine(said, stream);
      tail.push(withoutSequences(said));
    },
  });
  const output = { stdout: ended.stdout, stderr, exitCode: ended.exitCode };
  const found = await runner.read(place, output, selected, asking(env));
  const coverage =
    wish.coverage !== true ? null : lcov === null ? (found?.coverage ?? null) : await configuredCoverage();
  const isThere = (path: string): boolean => existsSync(join(directory, path));
  // A compiler may name files as they are called at the top, wherever it was started.
  const fromWorktree = (path: string): string =>
    folder === '' || (path.startsWith(`${folder}/`) && !isThere(path)) ? path : posix.join(folder, path);
  const withFile = <T extends { file: string | null }>(of: T): T =>
    of.file === null ? of : { ...of, file: fromWorktree(of.file) };
  return {
    command: fromTop(folder, selected.text === script ? options.command : selected.text),
    outcome: outcomeOf(ended, found),
    exitCode: ended.exitCode,
    durationMs: ended.durationMs,
    cases: (found?.cases ?? []).map(withFile),
    loadFailures: (found?.loadFailures ?? []).map(withFile),
    coverage: coverage?.map((of) => ({ ...of, file: fromWorktree(of.file) })) ?? null,
    isMeasured: prepared.measures === true,
    tail: tail.text() || ended.tail,
  };

  async function configuredCoverage() {
    const texts = (await lcov?.texts()) ?? [];
    return texts.length === 0 ? null : parseLcov(texts.join('\n'), place.pathInWorktree);
  }
}

function createAsk(
  options: SuiteOptions,
  how: { env: Readonly<Record<string, string>>; sandbox: Sandbox | undefined },
  signal: AbortSignal,
): Ask {
  return async (script) => {
    let stderr = '';
    const { onProgress, onGroup } = options;
    const cwd = join(options.directory, options.folder);
    const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
      if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
    };
    const timeoutMs = Math.min(ASK_TIMEOUT_MS, options.settings.timeoutMs);
    const watch = { signal, onProgress, onGroup, onLine, maySleep: true };
    const ended = await runProgram({ command: script, cwd, ...how, timeoutMs, ...watch });
    return { stdout: ended.stdout, stderr, exitCode: ended.exitCode };
  };
}

/** Restricted to some test files; unchanged where the runner or the script does not allow it. */
export function selectedScript(runner: Runner, script: string, files: readonly string[] | undefined): string {
  const [call, ...others] = testScript(script).calls.filter(({ runner: name }) => name === runner.name);
  if (files === undefined || call === undefined || others.length > 0 || !runsHere(script, call)) return script;
  // A file of another package can't be given to this one's runner.
  if (files.some((file) => file.startsWith('../'))) return script;
  const change = runner.select?.(call, files);
  return change === undefined || change === null ? script : withCallsChanged(script, new Map([[call, change]]));
}

/** Tests that are all skipped are as good as none: nothing was run. */
function outcomeOf(ended: ProgramEnd, report: Report | null): TestOutcome {
  if (ended.timedOut) return 'timed-out';
  if (isKilled(ended, report)) return 'killed';
  if (report === null) return ended.missing ? 'could-not-run' : 'no-report';
  const { cases, loadFailures } = report;
  if (loadFailures.length > 0 || cases.some(({ outcome }) => outcome === 'failed')) return 'failed';
  return cases.some(({ outcome }) => outcome === 'passed') ? 'passed' : 'no-tests';
}

/** How a process is ended by another one: a terminal that closes, a shutdown, a person, the system when memory is short. */
const SENT: readonly NodeJS.Signals[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGKILL', 'SIGTERM'];
const SENT_CODES: ReadonlySet<number | null> = new Set(SENT.map((signal) => 128 + constants.signals[signal]));

/** Some formats are written test by test: what a killed run left of its report is not one. */
function isKilled({ signal, exitCode }: ProgramEnd, report: Report | null): boolean {
  if (signal !== null) return SENT.includes(signal);
  // Some runners end with the number of tests that failed.
  const failed = report?.cases.filter(({ outcome }) => outcome === 'failed').length;
  return SENT_CODES.has(exitCode) && failed !== exitCode;
}

/** Stand-in where no runner is detected and the policy is off: it knows which files are tests, and can't run them. */
export function noSuite(patterns: readonly string[]): TestSuite {
  return {
    runner: 'tap',
    folder: '',
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

/** Files that a command of the user's own writes, told from those that were there before. */
interface WrittenFiles {
  /** The texts of those that are new or were written since. */
  texts(): Promise<string[]>;
  /** Removes those that were not there before. */
  removeNew(): Promise<void>;
}

/** `pattern` is a path in the directory, with `*` and `**` where there are several. To be called before the command. */
async function watchWritten(directory: string, pattern: string): Promise<WrittenFiles> {
  const before = await statesOf(directory, pattern);
  const changed = async (): Promise<string[]> =>
    [...(await statesOf(directory, pattern))]
      .filter(([path, state]) => before.get(path) !== state)
      .map(([path]) => path);
  return {
    texts: async () => await Promise.all((await changed()).map(async (path) => await readFile(path, 'utf8'))),
    async removeNew() {
      for (const path of await changed()) if (!before.has(path)) await rm(path, { force: true });
    },
  };
}

async function statesOf(directory: string, pattern: string): Promise<Map<string, string>> {
  const paths = /[*?[{]/.test(pattern) ? [] : [pattern];
  if (paths.length === 0) for await (const path of glob(pattern, { cwd: directory })) paths.push(path);
  const found = new Map<string, string>();
  for (const path of paths.toSorted()) {
    const place = resolve(directory, path);
    const info = await stat(place, { bigint: true }).catch(() => null);
    if (info?.isFile()) found.set(place, `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`);
  }
  return found;
}
