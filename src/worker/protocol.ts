import type { ErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { WorkflowName } from '../core/paths.ts';
import type { ReactionResult } from '../core/reaction.ts';
import type { Journal } from '../journal/port.ts';
import type { StoredStep } from '../journal/stored.ts';
import type { SpanRecord } from '../telemetry/span.ts';

/** A module's URL and the name of its export, since a function can't cross processes. */
export interface ExportReference {
  module: string;
  export: string;
}

/** What a worker runs: one of ours by name, an export with the contract of `Task`, or one with that of `BatchTask`. */
export type TaskReference = { builtIn: WorkflowName } | ExportReference | { userTask: ExportReference };

export interface ItemStart {
  task: TaskReference;
  id: string;
  attempt: number;
  /** The file of the item's journal; null: the parent has it, and is asked for each of its operations. */
  checkpoint: string | null;
  /** The steps that its journal may hold, each with its seal, by what earlier attempts of this run said; null in the first. */
  steps: readonly (readonly [id: string, seal: string])[] | null;
  /** For the task; JSON. */
  input: unknown;
  /** The span that this attempt is; absent: nothing is traced. */
  traceparent?: string;
}

/** How a task ends when it does not fail. */
export interface TaskResult {
  status: 'succeeded' | 'discuss' | 'skipped';
  reason: string | null;
  /** Files that it made, for the summary. */
  outputs: string[];
  /** Its answers are of use to a later run, though it is done. */
  keepsCheckpoint?: boolean;
  /** Of a reaction: what is to be pushed and answered. */
  reaction?: ReactionResult;
}

/** The argument of the one worker of a run that leaves its compiled code for the workers of later runs. */
export const KEEP_COMPILED_CODE = 'keep-compiled-code';

/** What a worker asks of the journal that its parent has. */
export type JournalRequest = { do: 'open' } | { do: 'put'; step: StoredStep } | { do: 'remove' };

/** `steps`: all of them, when it was opened. */
export type JournalAnswer = { steps: StoredStep[] } | { error: ErrorRecord };

/** From the parent to a worker. */
export type ToWorker =
  | { type: 'start'; item: ItemStart }
  /** Begin no further step; what is in flight may end. */
  | { type: 'stop'; error: ErrorRecord }
  /** End what is in flight too. */
  | { type: 'abort'; error: ErrorRecord }
  | { type: 'journal'; call: number; answer: JournalAnswer };

/** From a worker to its parent. */
export type FromWorker =
  | { type: 'ready' }
  | { type: 'event'; event: ItemEvent }
  /** A sign of life without news, e.g. a chunk of an answer. */
  | { type: 'alive' }
  /** Spans that began or ended; all of an item come before its `ended`. */
  | { type: 'spans'; spans: SpanRecord[] }
  /** Steps that the journal holds, or is about to, each with its seal: what else is found in it later is not the item's. */
  | { type: 'steps'; steps: readonly (readonly [id: string, seal: string])[] }
  /** A process group began or ended. */
  | { type: 'group'; leader: number; ended: boolean }
  | { type: 'journal'; call: number; request: JournalRequest }
  | { type: 'ended'; outcome: { result: TaskResult } | { error: ErrorRecord }; rssBytes: number };

/** What a task is given. It runs in a process of its own; nothing is shared with its siblings. */
export interface TaskContext {
  readonly id: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** As the parent gave it; JSON. */
  readonly input: unknown;
  /** Durable steps: a finished one is not run again, whatever happens to the process. */
  readonly journal: Journal;
  /** Aborted when the item has to end now. */
  readonly signal: AbortSignal;
  readonly emit: (event: ItemEvent) => void;
  /** A sign of life; silence for longer than the idle bound ends the worker. */
  readonly heartbeat: () => void;
  /** A process group that the task started, so that it is ended even if this process dies first. */
  readonly group: (leader: number, ended: boolean) => void;
}

export type Task = (context: TaskContext) => Promise<TaskResult>;
