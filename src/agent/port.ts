import type { Journal } from '../journal/port.ts';
import type { ModelReply, ModelRound, PromptPart } from '../models/port.ts';

/** tests: only tests may be written; code: the tests are frozen. */
export type WritingPhase = 'tests' | 'code';

export interface WriteRequest {
  /** The step's name, e.g. `tests-1`, `code-2`. */
  step: string;
  /** The folder in which files may be changed. */
  worktree: string;
  system: string;
  item: string;
  phase: WritingPhase;
  /** The whole task, with the LLD. */
  task: string;
  /** For writers that make several calls: each is a durable step. */
  journal: Journal;
  /**
   * For writers that can't run programs: runs all tests, or these files, on the worktree. The result is stored, so that a
   * resumed conversation reads the same. Absent: no tests can run.
   */
  runTests?: (files: readonly string[] | null) => Promise<TriedTests>;
  signal: AbortSignal;
  /** A sign of life. */
  onProgress: () => void;
  /** For the log. */
  onLine: (line: string) => void;
}

/** `summary`: for the log. */
export type TriedTests = { text: string; summary: string } | { refused: string };

/** `text`: the final message; may be empty. */
export interface WriteReply extends Pick<ModelReply, 'text' | 'answered' | 'usage' | 'metered' | 'models'> {
  /** Null: the price is not known. */
  costUsd: number | null;
}

/**
 * Changes files in a worktree. It never retries, and the engine judges the files, never its messages. Every failure is an
 * `AgentosError` with its retry class.
 */
export interface Writer {
  readonly spec: string;
  /** False for the recorded tour. */
  readonly isModel: boolean;
  /** True for programs, which could write elsewhere too: then changes outside the worktree are detected. */
  readonly writesByItself: boolean;
  write(request: WriteRequest): Promise<WriteReply>;
}

/** A question that a model may answer at once, or after it has looked at the repository. */
export interface ExploredQuestion {
  /** A commit or a tree, whose files the tools read. */
  tree: string;
  /** The commit whose history they show. */
  commit: string;
  /** Hides the parts of the prompt that don't repeat, which are to be judged, while the model explores. */
  withholds: boolean;
  /** The model, for messages. */
  spec: string;
  system: string;
  parts: PromptPart[];
  /** One paid call as a durable step. */
  ask: (call: ExploringCall) => Promise<ExploringReply>;
  signal: AbortSignal;
  onLine: (line: string) => void;
}

export interface ExploringCall {
  /** From 1. The first call has the same prompt as without tools. */
  round: number;
  system: string;
  parts: PromptPart[];
  /** Null: no tools. */
  conversation: ModelRound | null;
  /** An answer without a tool call ends the conversation, and has to be usable. */
  mayEnd: boolean;
}

/** `parts`: the whole answer, if it calls tools. */
export interface ExploringReply extends Pick<ModelReply, 'text' | 'parts' | 'usage' | 'metered'> {
  replayed: boolean;
}

/** Asks until an answer calls no tool, and returns that answer. */
export type Explore = (question: ExploredQuestion) => Promise<string>;
