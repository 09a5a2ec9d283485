import type { ItemEvent } from '../core/events.ts';
import type { Journal } from '../journal/port.ts';
import type { TaskResult } from './protocol.ts';

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
