import type { TestSettings } from '../core/config.ts';

/** One test in a runner's report. */
export interface TestCase {
  /** Relative to the worktree, with forward slashes; null if the runner doesn't say (a Go or Rust package). */
  file: string | null;
  /** Prefixed with the names of the enclosing suites, separated by ` > `. */
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** The runner's error message, shortened. */
  message: string | null;
}

/** A file or package whose tests never started because it can't be read, compiled or imported. */
export interface LoadFailure {
  /** The test file, or the package's folder in a compiled language; null if unknown. */
  file: string | null;
  /** Everything the runner printed about it. */
  message: string;
}

/** Line coverage of one file. */
export interface FileCoverage {
  /** Relative to the worktree. */
  file: string;
  lines: number;
  covered: number;
  /** Numbers of the uncovered lines. */
  missed: number[];
}

/**
 * passed – tests ran, and none failed; failed – at least one test failed or one file could not be loaded; no-tests – the
 * runner worked but had nothing to run.
 *
 * The others have no readable report and say nothing about the code: could-not-run – the command could not be started;
 * killed – another process ended it; no-report – it exited without one; timed-out – it exceeded its timeout.
 */
export type TestOutcome = 'passed' | 'failed' | 'no-tests' | 'could-not-run' | 'killed' | 'no-report' | 'timed-out';

const READ: ReadonlySet<TestOutcome> = new Set(['passed', 'failed', 'no-tests'] as const);

/** Whether the run has a report; without one it is not a result. */
export function isRead({ outcome }: Pick<TestRun, 'outcome'>): boolean {
  return READ.has(outcome);
}

/** One run of a suite, read from the runner's own report. */
export interface TestRun {
  /** As a person would type it. */
  command: string;
  outcome: TestOutcome;
  exitCode: number | null;
  durationMs: number;
  cases: TestCase[];
  loadFailures: LoadFailure[];
  /** Null: not requested, or not available from this runner. */
  coverage: FileCoverage[] | null;
  /** The first errors and the last lines of the output. */
  tail: string;
}

/** As in the configuration. */
export type RunnerName = NonNullable<TestSettings['runner']>;

export interface TestRunOptions {
  /** Run only these test files if the runner can select; otherwise it runs all. */
  files?: readonly string[];
  coverage?: boolean;
  /** A run for the set-up: package registries are reachable, and the result is ignored. */
  fetches?: boolean;
  /** Code is missing on purpose: if the script's linter fails because of that, the tests run anyway. */
  lacksCode?: boolean;
  signal: AbortSignal;
}

/** The tests of one worktree. */
export interface TestSuite {
  readonly runner: RunnerName;
  /** As a person would type it at the top of the worktree. */
  readonly command: string;
  /** The folders it runs in, relative to the worktree: packages of a monorepo, or the empty string for the top. */
  readonly folders: readonly string[];
  /** The first run downloads dependencies, so it must happen during the set-up. */
  readonly fetchesFirst?: boolean;
  /** True for tests and for files that only tests use: fixtures, snapshots, test set-up. */
  isTestFile(path: string): boolean;
  run(options: TestRunOptions): Promise<TestRun>;
  /** Whether the project's build runs before the tests from now on; absent: there is none, or a command is configured. */
  readonly buildFirst?: (isWanted: boolean) => void;
}
