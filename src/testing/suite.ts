import { glob, mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { TestSettings } from '../core/config.ts';
import { createOutputKeeper } from '../core/reason.ts';
import { type ProgramEnd, runProgram } from '../process/program.ts';
import type { TestOutcome, TestRun, TestRunOptions, TestSuite } from './port.ts';
import { parseLcov } from './reports/coverage.ts';
import { createPathInWorktree } from './reports/report.ts';
import type { Ask, Report, Runner, RunPlace } from './runner.ts';
import { testScript } from './runners.ts';
import { withCallsChanged } from './script.ts';
import { createIsTestFile } from './test-files.ts';

export interface SuiteOptions {
  directory: string;
  settings: TestSettings;
  /** With the search path for the run in it. */
  env: Readonly<Record<string, string>>;
  scratch: string;
  runner: Runner;
  /** As a person would type it. */
  command: string;
  /** The same with all scripts written out, so that arguments can be put into it. */
  script: string;
  onLine: (line: string, stream: 'stdout' | 'stderr') => void;
  onProgress: () => void;
  onGroup: (leader: number, ended: boolean) => void;
}

/** For asking a tool something, such as whether it can measure coverage. */
const ASK_TIMEOUT_MS = 120_000;
/** Of standard error; the program that keeps standard output has its own bound. */
const KEEP_STDERR_CHARS = 4_000_000;

export function createSuite(options: SuiteOptions): TestSuite {
  const { settings, runner, command } = options;
  return {
    runner: runner.name,
    command,
    isTestFile: createIsTestFile(settings.files),
    async run(wish) {
      await mkdir(options.scratch, { recursive: true });
      const folder = await mkdtemp(join(options.scratch, 'run-'));
      const watched = await watch(options);
      try {
        return await runOnce(options, folder, wish, watched);
      } finally {
        for (const files of [watched.report, watched.lcov, ...watched.leaves]) await files?.removeNew();
        await rm(folder, { recursive: true, force: true, maxRetries: 3 });
      }
    },
  };
}

/** What a run may write into the worktree. */
interface Watched {
  report: WrittenFiles | null;
  lcov: WrittenFiles | null;
  leaves: WrittenFiles[];
}

async function watch({ directory, settings, runner }: SuiteOptions): Promise<Watched> {
  const unlessNull = async (path: string | null) => (path === null ? null : await watchWritten(directory, path));
  return {
    report: await unlessNull(settings.report),
    lcov: await unlessNull(settings.coverage),
    leaves: await Promise.all((runner.leaves ?? []).map((path) => watchWritten(directory, path))),
  };
}

async function runOnce(
  options: SuiteOptions,
  folder: string,
  wish: TestRunOptions,
  watched: Watched,
): Promise<TestRun> {
  const { directory, settings, runner, script } = options;
  const { report, lcov } = watched;
  const place: RunPlace = {
    worktree: directory,
    pathInWorktree: createPathInWorktree(directory),
    env: options.env,
    folder,
    caches: join(options.scratch, 'caches'),
    report: report === null ? null : async () => await report.texts(),
  };
  const selected = testScript(selectedScript(runner, script, wish.files));
  const measures = wish.coverage === true && lcov === null;
  const asking = (env: Readonly<Record<string, string>>) => createAsk(options, env, wish.signal);
  const prepared = await runner.instrument(selected, place, measures, asking(options.env));
  const env = { ...options.env, ...prepared.env };
  const changed = withCallsChanged(selected.text, prepared.changes ?? new Map());

  const tail = createOutputKeeper();
  let stderr = '';
  const ended = await runProgram({
    command: prepared.mergesStreams === true ? `{ ${changed}\n} 2>&1` : changed,
    cwd: directory,
    env,
    timeoutMs: settings.timeoutMs,
    signal: wish.signal,
    onProgress: options.onProgress,
    onGroup: options.onGroup,
    onLine(line, stream) {
      if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
      const said = stream === 'stdout' && runner.line !== undefined ? runner.line(line) : line;
      if (said === null) return;
      options.onLine(said, stream);
      tail.push(stripVTControlCharacters(said));
    },
  });
  const output = { stdout: ended.stdout, stderr, exitCode: ended.exitCode };
  const found = await runner.read(place, output, selected, asking(env));
  const coverage =
    wish.coverage !== true ? null : lcov === null ? (found?.coverage ?? null) : await configuredCoverage();
  return {
    command: selected.text === script ? options.command : selected.text,
    outcome: outcomeOf(ended, found),
    exitCode: ended.exitCode,
    durationMs: ended.durationMs,
    cases: found?.cases ?? [],
    loadFailures: found?.loadFailures ?? [],
    coverage,
    tail: tail.text() || ended.tail,
  };

  async function configuredCoverage() {
    const texts = (await lcov?.texts()) ?? [];
    return texts.length === 0 ? null : parseLcov(texts.join('\n'), place.pathInWorktree);
  }
}

function createAsk(options: SuiteOptions, env: Readonly<Record<string, string>>, signal: AbortSignal): Ask {
  return async (script) => {
    let stderr = '';
    const { directory: cwd, onProgress, onGroup } = options;
    const onLine = (line: string, stream: 'stdout' | 'stderr'): void => {
      if (stream === 'stderr' && stderr.length < KEEP_STDERR_CHARS) stderr += `${line}\n`;
    };
    const timeoutMs = Math.min(ASK_TIMEOUT_MS, options.settings.timeoutMs);
    const ended = await runProgram({ command: script, cwd, env, timeoutMs, signal, onProgress, onGroup, onLine });
    return { stdout: ended.stdout, stderr, exitCode: ended.exitCode };
  };
}

/** Restricted to some test files; unchanged where the runner or the script does not allow it. */
export function selectedScript(runner: Runner, script: string, files: readonly string[] | undefined): string {
  const [call, ...others] = testScript(script).calls.filter(({ runner: name }) => name === runner.name);
  if (files === undefined || call === undefined || others.length > 0) return script;
  const change = runner.select?.(
    call,
    files.map((file) => file.replace(/^\.\//, '')),
  );
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
