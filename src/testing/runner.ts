import type { RunnerName } from './port.ts';
import type { Project } from './project.ts';
import type { PathInWorktree, Reading } from './reports/report.ts';
import type { CallChange, HeadAt, RunnerCall, TestScript } from './script.ts';

/** One run of a script, as a runner sees it. */
export interface RunPlace {
  /** Restricted to the chosen files. */
  script: TestScript;
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
  /** Wanted. */
  coverage: boolean;
  ask: Ask;
}

export interface RunOutput {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

/** Runs another script in the worktree with the same environment. Its output is not logged. */
export type Ask = (script: string) => Promise<RunOutput>;

/** The files that an LLD changes, relative to the worktree. */
export interface Changes {
  added: readonly string[];
  modified: readonly string[];
}

/**
 * Everything specific to one test runner. To add a runner: such an object in the file of its kind, a line in `runners.ts`, and
 * its name in the configuration's schema. A missing method means that the runner can't be detected, started or restricted.
 */
export interface Runner {
  readonly name: RunnerName;
  /** Whether the dependencies, configuration or tests of a project name this runner. */
  sign?(project: Project): boolean;
  /** Whether a project in its language that names no runner is tested with it. */
  signOfLanguage?(project: Project): boolean;
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
  /** Its stderr is merged into stdout, to keep the order of the lines. */
  readonly mergesStreams?: boolean;
  /** Restricts a call to some test files; null: it can't, so all tests run. */
  select?(call: RunnerCall, files: readonly string[]): CallChange | null;
  /** Makes a call write its report; `index` separates the reports of several calls. */
  change?(call: RunnerCall, index: number, run: RunPlace): CallChange | Promise<CallChange>;
  /** The variables of a run. `measures`: they make the runner measure coverage. */
  environment?(run: RunPlace): Promise<{ env: Readonly<Record<string, string>>; measures?: boolean }>;
  /** Null: no report. */
  read(run: RunPlace, output: RunOutput): Promise<Reading | null>;
  /** The readable text of an output line; null: hide the line. If absent, all lines are shown unchanged. */
  line?(line: string): string | null;
}
