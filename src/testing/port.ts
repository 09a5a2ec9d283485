import type { TestSettings } from '../core/config.ts';

/** What a test runner's report says of one test. */
export interface TestCase {
  /** Relative to the worktree, with forward slashes; null where the runner doesn't tell (a Go or Rust package). */
  file: string | null;
  /** With the names of the suites around it, separated by ` > `. */
  name: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed, as the runner says it; shortened. */
  message: string | null;
}

/** A file or a package whose tests never began: it can't be read, compiled or imported. */
export interface LoadFailure {
  /** The test file, or for a compiled language the folder of the package; null where it is not known. */
  file: string | null;
  /** All that the runner says about it, for telling why. */
  message: string;
}

/** Lines of one file that the tests ran through. */
export interface FileCoverage {
  /** Relative to the worktree. */
  file: string;
  lines: number;
  covered: number;
  /** Numbers of the lines that no test ran through. */
  missed: number[];
}

/**
 * passed – tests ran, and none failed; failed – tests ran, and at least one failed or a file could not be loaded;
 * no-tests – the runner worked, and there was nothing to run.
 *
 * The others have no report that could be read, and say nothing about the code: could-not-run – the command could not be
 * started; killed – something else than us ended it; no-report – it ended by itself; timed-out – it was ended by us.
 */
export type TestOutcome = 'passed' | 'failed' | 'no-tests' | 'could-not-run' | 'killed' | 'no-report' | 'timed-out';

const READ: ReadonlySet<TestOutcome> = new Set(['passed', 'failed', 'no-tests'] as const);

/** Whether the run's report was read: only then it is a result. */
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
  /** Null where the runner gives none, or was not asked. */
  coverage: FileCoverage[] | null;
  /** The first errors and the last lines that it printed, to find out what went wrong. */
  tail: string;
}

/** By its name in the configuration. */
export type RunnerName = NonNullable<TestSettings['runner']>;

export interface TestRunOptions {
  /** Only these test files, where the runner can choose; otherwise it runs all. */
  files?: readonly string[];
  coverage?: boolean;
  /** Part of the set-up: package registries can be reached, and what comes of it does not count. */
  fetches?: boolean;
  /** Code is missing on purpose: where a script's linter stops at that, the tests run all the same. */
  lacksCode?: boolean;
  signal: AbortSignal;
}

/** The tests of one worktree. */
export interface TestSuite {
  readonly runner: RunnerName;
  /** As a person would type it at the top of the worktree. */
  readonly command: string;
  /** Where it runs, relative to the worktree: the package of a monorepo; empty for the top. */
  readonly folder: string;
  /** It has to run once as part of the set-up, before a run counts. */
  readonly fetchesFirst?: boolean;
  /** Tests, and what belongs to them alone: fixtures, snapshots, set-up of the tests. */
  isTestFile(path: string): boolean;
  run(options: TestRunOptions): Promise<TestRun>;
}
