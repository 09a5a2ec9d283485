import type { FileCoverage, LoadFailure, TestCase } from './port.ts';
import type { PathInWorktree } from './worktree-path.ts';

/** Where one run happens and where its report goes. */
export interface RunPlace {
  worktree: string;
  pathInWorktree: PathInWorktree;
  env: Readonly<Record<string, string>>;
  /** Of this run alone; gone after it. */
  folder: string;
  /** Kept from run to run, outside of the worktree. */
  caches: string;
  /** The texts of the configured report that this run wrote; null where none is configured. */
  report: (() => Promise<string[]>) | null;
}

/** A script with what makes its runner write a report. */
export interface Instrumented {
  script: string;
  env?: Readonly<Record<string, string>>;
}

export interface RunOutput {
  stdout: string;
  stderr: string;
  exitCode: number | null;
}

export interface Report {
  cases: TestCase[];
  loadFailures: LoadFailure[];
  /** Null where the runner was not asked or can't tell. */
  coverage: FileCoverage[] | null;
}

/** Runs a further script in the worktree with the same environment, without telling anybody what it prints. */
export type Ask = (script: string) => Promise<RunOutput>;

/** What is particular to one test runner. */
export interface Runner {
  /** Files that it may make in the worktree: those that were not there before are removed after the run. */
  readonly leaves?: readonly string[];
  /** The script restricted to some test files; unchanged where that can't be done. */
  select(script: string, files: readonly string[]): string;
  instrument(script: string, place: RunPlace, coverage: boolean, ask: Ask): Promise<Instrumented>;
  /** Null: there is no report. */
  read(place: RunPlace, output: RunOutput, script: string, ask: Ask): Promise<Report | null>;
  /** What a line of its output says to a person; null for nothing. Without it, every line is for people. */
  line?(line: string): string | null;
}
