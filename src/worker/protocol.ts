import { type ErrorRecord, revived, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { WorkflowName } from '../core/paths.ts';
import type { ReactionResult } from '../core/reaction.ts';
import type { Journal, StepStore, StoredStep } from '../journal/port.ts';
import type { SpanRecord } from '../telemetry/tracer.ts';

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
  /** The file of the item's journal; null: the journal is in the parent, which is asked over IPC. */
  checkpoint: string | null;
  /** The steps that earlier attempts of this run stored, each with its seal: the journal may hold no others. Null at first. */
  steps: readonly (readonly [id: string, seal: string])[] | null;
  /** For the task; JSON. */
  input: unknown;
  /** The span of this attempt; absent: not traced. */
  traceparent?: string;
}

/** How a task ends when it does not fail. */
export interface TaskResult {
  status: 'succeeded' | 'discuss' | 'skipped';
  reason: string | null;
  /** Files and branches, for the summary. */
  outputs: string[];
  /** A later run can use its answers, although it is done. */
  keepsCheckpoint?: boolean;
  /** For a reaction: what the parent has to push and answer. */
  reaction?: ReactionResult;
}

/** The argument of the one worker of a run that stores its compiled code for later runs. */
export const KEEP_COMPILED_CODE = 'keep-compiled-code';

/** A worker's request to the journal in its parent. */
export type JournalRequest = { do: 'open' } | { do: 'put'; step: StoredStep } | { do: 'remove' };

/** `steps`: all of them, when it was opened. */
export type JournalAnswer = { steps: StoredStep[] } | { error: ErrorRecord };

/** From the parent to a worker. */
export type ToWorker =
  | { type: 'start'; item: ItemStart }
  /** Start no further step; steps in flight may finish. */
  | { type: 'stop'; error: ErrorRecord }
  /** Stop steps in flight too. */
  | { type: 'abort'; error: ErrorRecord }
  | { type: 'journal'; call: number; answer: JournalAnswer };

/** From a worker to its parent. */
export type FromWorker =
  | { type: 'ready' }
  | { type: 'event'; event: ItemEvent }
  /** A sign of life, e.g. a chunk of an answer. */
  | { type: 'alive' }
  /** Spans that started or ended; all spans of an item are sent before its `ended`. */
  | { type: 'spans'; spans: SpanRecord[] }
  /** Steps of the journal, each with its seal, sent before they are stored: other records in it are forged. */
  | { type: 'steps'; steps: readonly (readonly [id: string, seal: string])[] }
  /** A process group started or ended. */
  | { type: 'group'; leader: number; ended: boolean }
  | { type: 'journal'; call: number; request: JournalRequest }
  | { type: 'ended'; outcome: { result: TaskResult } | { error: ErrorRecord }; rssBytes: number };

/** The argument of a task, which runs in a process of its own. */
export interface TaskContext {
  readonly id: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** From the parent; JSON. */
  readonly input: unknown;
  /** Durable steps: a finished step does not run again, even if the process is killed. */
  readonly journal: Journal;
  /** Aborted when the item has to stop. */
  readonly signal: AbortSignal;
  readonly emit: (event: ItemEvent) => void;
  /** A sign of life: a worker without one for longer than the idle timeout is killed. */
  readonly heartbeat: () => void;
  /** Reports a process group that the task started, so that it is killed even if this process dies first. */
  readonly group: (leader: number, ended: boolean) => void;
}

export type Task = (context: TaskContext) => Promise<TaskResult>;

/** The worker's side of a journal in the parent. */
export function parentStore(ask: (request: JournalRequest) => Promise<JournalAnswer>): StepStore {
  const asked = async (request: JournalRequest): Promise<StoredStep[]> => {
    const answer = await ask(request);
    if ('steps' in answer) return answer.steps;
    throw revived(answer.error);
  };
  return {
    location: 'the journal of the item',
    open: () => asked({ do: 'open' }),
    put: async (step) => void (await asked({ do: 'put', step })),
    remove: async () => void (await asked({ do: 'remove' })),
  };
}

/** The parent's side. Never rejects. */
export async function answerFrom(store: StepStore, request: JournalRequest): Promise<JournalAnswer> {
  try {
    if (request.do === 'put') await store.put(request.step);
    else if (request.do === 'remove') await store.remove();
    return { steps: request.do === 'open' ? await store.open() : [] };
  } catch (error) {
    return { error: toErrorRecord(error) };
  }
}
