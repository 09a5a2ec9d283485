import type { FileCoverage, LoadFailure, RunnerName } from './port.ts';
import type { Project } from './project.ts';
import type { PathInWorktree, Reading } from './reports/report.ts';
import type { CallChange, HeadAt, RunnerCall, TestScript } from './script.ts';

/** Where a run happens and where its report goes. */
export interface RunPlace {
  /** The working directory of the command: the worktree or one of its packages. All paths are relative to it. */
  worktree: string;
  pathInWorktree: PathInWorktree;
  env: Readonly<Record<string, string>>;
  /** For this run only; removed after it. */
  folder: string;
  /** Kept between runs, outside the worktree. */
  caches: string;
  /** Reads the report files that this run wrote; null if no report path is configured. */
  report: (() => Promise<string[]>) | null;
}

/** The changes to a command that make the runner write its report. */
export interface Instrumentation {
  /** Changed arguments of the script's calls. */
  changes?: ReadonlyMap<RunnerCall, CallChange>;
  env?: Readonly<Record<string, string>>;
  /** Whether it makes the runner measure coverage. */
  measures?: boolean;
  /** Merge stderr into stdout, to keep the order of the lines. */
  mergesStreams?: boolean;
}

export interface RunOutput {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

export interface Report extends Reading {
  /** Null or absent: not requested, or not available. */
  coverage?: FileCoverage[] | null;
}

/** Runs another script in the worktree with the same environment. Its output is not logged. */
export type Ask = (script: string) => Promise<RunOutput>;

/** The files that an LLD changes, relative to the worktree. */
export interface Changes {
  added: readonly string[];
  modified: readonly string[];
}

/**
 * How strongly a project's files point to a runner: `named` – its dependencies, configuration or tests name it;
 * `language` – a project in its language that names no runner.
 */
export type RunnerSign = 'named' | 'language';

/**
 * Everything specific to one test runner. To add a runner: a file with such an object, a line in `runners.ts`, and its name
 * in the configuration's schema. A missing method means that the runner can't be detected, started or restricted.
 */
export interface Runner {
  readonly name: RunnerName;
  /** Null: the files don't point to this runner. */
  sign?(project: Project): RunnerSign | null;
  /** The command if the project doesn't specify one. */
  usualCommand?(worktree: string, project: Project, env: Readonly<Record<string, string>>): Promise<string>;
  headAt?: HeadAt;
  /** It can be instrumented through the environment, so that even `make test` writes the report. */
  readonly worksHidden?: boolean;
  /** The default path pattern of its reports, relative to the working directory. */
  readonly writes?: string;
  /** Files that it may create in the worktree; new ones are removed after the run. */
  readonly leaves?: readonly string[];
  /** It reads the runner's stdout, which a script may pipe into a formatter (`tape x | tap-spec`). */
  readonly readsStdout?: boolean;
  /** Restricts a call to some test files; null: it can't, so all tests run. */
  select?(call: RunnerCall, files: readonly string[]): CallChange | null;
  instrument(script: TestScript, place: RunPlace, coverage: boolean, ask: Ask): Promise<Instrumentation>;
  /** Null: no report. */
  read(place: RunPlace, output: RunOutput, script: TestScript, ask: Ask): Promise<Report | null>;
  /** The readable text of an output line; null: hide the line. If absent, all lines are shown unchanged. */
  line?(line: string): string | null;
  /**
   * Whether the tests fail to load only because a file that the LLD adds, or a name in a file that it modifies, doesn't
   * exist yet; null: not an error of this runner's language.
   */
  isMissingCode?(failure: LoadFailure, changes: Changes, worktree: string): boolean | null;
}

/** Computes the change of each call of a runner; `index` separates the reports of several calls. */
export async function changedCalls(
  script: TestScript,
  runner: RunnerName,
  change: (call: RunnerCall, index: number) => CallChange | Promise<CallChange>,
): Promise<ReadonlyMap<RunnerCall, CallChange>> {
  const calls = script.calls.filter((call) => call.runner === runner);
  return new Map(await Promise.all(calls.map(async (call, index) => [call, await change(call, index)] as const)));
}
