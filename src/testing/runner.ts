import type { FileCoverage, LoadFailure, RunnerName } from './port.ts';
import type { Project } from './project.ts';
import type { PathInWorktree, Reading } from './reports/report.ts';
import type { CallChange, HeadAt, RunnerCall, TestScript } from './script.ts';

/** Where one run happens and where its report goes. */
export interface RunPlace {
  /** The folder that the command is started in: the worktree, or one of its packages. All paths are relative to it. */
  worktree: string;
  pathInWorktree: PathInWorktree;
  env: Readonly<Record<string, string>>;
  /** Of this run alone; removed after it. */
  folder: string;
  /** Kept from run to run, outside of the worktree. */
  caches: string;
  /** The texts of the configured report that this run wrote; null where none is configured. */
  report: (() => Promise<string[]>) | null;
}

/** What makes the runner write its report. */
export interface Instrumentation {
  /** Arguments for calls of the script. */
  changes?: ReadonlyMap<RunnerCall, CallChange>;
  env?: Readonly<Record<string, string>>;
  /** Something in it is there for the coverage alone. */
  measures?: boolean;
  /** Both streams as one, in the order of writing. */
  mergesStreams?: boolean;
}

export interface RunOutput {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

export interface Report extends Reading {
  /** Null or absent where the runner was not asked or can't tell. */
  coverage?: FileCoverage[] | null;
}

/** Runs a further script in the worktree with the same environment; what it prints is not logged. */
export type Ask = (script: string) => Promise<RunOutput>;

/** What an LLD does to the files, as paths relative to the worktree. */
export interface Changes {
  added: readonly string[];
  modified: readonly string[];
}

/**
 * How sure a project's files are that its tests are for this runner: `named` – its dependencies, its configuration or its
 * tests name it; `language` – a project of its language that names no runner.
 */
export type RunnerSign = 'named' | 'language';

/**
 * All that is particular to one test runner. A new one is a file with such an object, a line in `runners.ts`, and its name
 * in the configuration's schema. What is left out: it can't be found, started or restricted by itself.
 */
export interface Runner {
  readonly name: RunnerName;
  /** Null: these files say nothing of it. */
  sign?(project: Project): RunnerSign | null;
  /** How a person starts it where nothing else is said. */
  usualCommand?(worktree: string, project: Project, env: Readonly<Record<string, string>>): Promise<string>;
  headAt?: HeadAt;
  /** Its report comes out even of a command that hides it, such as `make test`. */
  readonly worksHidden?: boolean;
  /** Where it writes its reports unless another place is configured: a pattern, relative to where it runs. */
  readonly writes?: string;
  /** Files that it may make in the worktree: those that were not there before are removed after the run. */
  readonly leaves?: readonly string[];
  /** How its only call is restricted to some test files; null where that can't be done, and all are run. */
  select?(call: RunnerCall, files: readonly string[]): CallChange | null;
  instrument(script: TestScript, place: RunPlace, coverage: boolean, ask: Ask): Promise<Instrumentation>;
  /** Null: there is no report. */
  read(place: RunPlace, output: RunOutput, script: TestScript, ask: Ask): Promise<Report | null>;
  /** What a line of its output says to a person; null for nothing. Without it, every line is for people. */
  line?(line: string): string | null;
  /**
   * Whether tests can't be loaded only because something that the LLD adds (or, for a name in a module, modifies) is not
   * there yet; null: not an error of this runner's language.
   */
  isMissingCode?(failure: LoadFailure, changes: Changes, worktree: string): boolean | null;
}

/** The change of each call of a runner; `index` tells the reports of several calls apart. */
export async function changedCalls(
  script: TestScript,
  runner: RunnerName,
  change: (call: RunnerCall, index: number) => CallChange | Promise<CallChange>,
): Promise<ReadonlyMap<RunnerCall, CallChange>> {
  const calls = script.calls.filter((call) => call.runner === runner);
  return new Map(await Promise.all(calls.map(async (call, index) => [call, await change(call, index)] as const)));
}
