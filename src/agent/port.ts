import type { ModelUse, Usage } from '../core/money.ts';
import type { Journal } from '../journal/port.ts';
import type { ModelReply, ModelRound, PromptPart } from '../models/port.ts';

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
  /**
   * For writers that can't run programs: the item's own tests on the files as they are now, all or only these. What a run
   * said is stored, so that a resumed conversation reads the same. Absent where no tests can be run.
   */
  runTests?: (files: readonly string[] | null) => Promise<TriedTests>;
  signal: AbortSignal;
  /** A sign of life. */
  onProgress: () => void;
  /** What the writer says or does, for the log. */
  onLine: (line: string) => void;
}

/** `summary`: for the log. */
export type TriedTests = { text: string; summary: string } | { refused: string };

export interface WriteReply {
  /** Its last words; may be empty. Nothing depends on them: the files count. */
  text: string;
  answered: string | null;
  usage: Usage;
  /** False where usage is not known (a command of the user's own). */
  metered: boolean;
  /** Null: the price is not known. */
  costUsd: number | null;
  /** Where more than one call was made: all of it by model. */
  models?: ModelUse[];
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

/** What a model may look at before it answers. */
export interface ExploredPlace {
  /** A commit or a tree: whose files the tools read. */
  tree: string;
  /** Whose history they show. */
  commit: string;
  /** The parts of the prompt that don't repeat are what it judges: withheld while it looks. */
  withholds: boolean;
}

/** A question that a model may answer at once, or after it has looked at the repository. */
export interface ExploredQuestion extends ExploredPlace {
  /** The model, for messages. */
  spec: string;
  system: string;
  parts: PromptPart[];
  /** One paid call as a durable step of its own. */
  ask: (call: ExploringCall) => Promise<ExploringReply>;
  signal: AbortSignal;
  onLine: (line: string) => void;
}

export interface ExploringCall {
  /** From 1. The first asks what would be asked without tools. */
  round: number;
  system: string;
  parts: PromptPart[];
  /** Null: the model is asked without tools. */
  conversation: ModelRound | null;
  /** An answer without a tool call is the document, and is judged as one. */
  mayEnd: boolean;
}

/** `parts`: the whole answer, where there are calls in it. */
export interface ExploringReply extends Pick<ModelReply, 'text' | 'parts' | 'usage' | 'metered'> {
  replayed: boolean;
}

/** Asks a question until the answer calls no tool, and returns that answer. */
export type Explore = (question: ExploredQuestion) => Promise<string>;
