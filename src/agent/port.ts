import type { Usage } from '../core/money.ts';
import type { Journal } from '../journal/port.ts';

/** tests: only tests count, and the code is not there yet; code: the tests are frozen. */
export type WritingPhase = 'tests' | 'code';

export interface WriteRequest {
  /** The step's name, e.g. `tests-1`, `code-2`. */
  step: string;
  /** Stable over restarts. */
  stepId: string;
  /** Where files are changed, and nowhere else. */
  worktree: string;
  system: string;
  item: string;
  phase: WritingPhase;
  /** The whole task; it begins with the text of the LLD. */
  task: string;
  /** For writers that make several calls: each of them is a durable step. */
  journal: Journal;
  signal: AbortSignal;
  /** A sign of life. */
  onProgress: () => void;
  /** What the writer says or does, for the log. */
  onLine: (line: string) => void;
}

export interface WriteReply {
  /** Its last words; may be empty. Nothing depends on them: the files count. */
  text: string;
  answered: string | null;
  usage: Usage;
  /** False where usage is not known (a command of the user's own). */
  metered: boolean;
  /** Null: the price is not known. */
  costUsd: number | null;
}

/**
 * Changes files in a worktree when told to. It never retries, and what it says of its own work counts for nothing: the
 * engine looks at the files. Every failure is an `AgentosError` with its retry class.
 */
export interface Writer {
  readonly spec: string;
  /** False for the recorded tour. */
  readonly isModel: boolean;
  /** True for programs that could write elsewhere too: then it is looked at what changed outside of the worktree. */
  readonly writesByItself: boolean;
  write(request: WriteRequest): Promise<WriteReply>;
}
