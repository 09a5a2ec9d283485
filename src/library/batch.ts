import type { Writable } from 'node:stream';
import type { ErrorCode, ErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemStatus } from '../core/item.ts';
import type { StepContext } from '../journal/port.ts';

export interface BatchItem<Input = unknown> {
  /** 1 to 64 letters, digits, hyphens and underscores; no two items share one. */
  id: string;
  /** The task's input, as JSON. */
  input?: Input;
}

/** An event of one item. */
export type BatchEvent = { at: string; item: string } & ItemEvent;

export interface BatchOptions<Input = unknown> {
  items: readonly BatchItem<Input>[];
  /** The module that exports the workflow, since a function can't be sent to another process. */
  task: {
    /** A URL (`new URL('./my-task.js', import.meta.url)`, `import.meta.resolve('a-package')`) or an absolute path. */
    module: URL | string;
    /** Default: `default`. */
    export?: string;
  };
  /** How many items at once, each in its own process. Default: 3, or the number of cores if less; at most 10. */
  parallel?: number;
  /** The folder for state. Default: `.agentos` in the current directory. */
  baseDir?: string;
  /** Separates batches that share a base directory. Default: the name of the export. */
  name?: string;
  /** More attempts after a temporary failure. Default: 3. */
  maxRetries?: number;
  /** For one item, all its attempts together. Default: an hour. */
  timeoutMs?: number;
  /** Without an event, a line of output or a heartbeat. Default: five minutes. */
  idleTimeoutMs?: number;
  /** For the whole batch. Default: none. */
  globalTimeoutMs?: number;
  /** Start nothing new after this many failed items. Default: continue to the end. */
  haltAfter?: number;
  /** Should not throw: if it does, the batch stops, and `runBatch` rejects with the error. */
  onEvent?: (event: BatchEvent) => void;
  /** Gets the lines that the tasks print, each with the `[id]` of its item in front. Default: none. */
  output?: (Writable & { isTTY?: boolean }) | null;
  /** Values to mask in the output. */
  secrets?: readonly string[];
  /** Stops the batch: nothing new starts, and running items stop at their next step or within seconds. */
  signal?: AbortSignal;
  /** The environment of the processes. Default: that of this process. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The working directory of the processes. Default: that of this process. */
  cwd?: string;
}

/** What your task gets. It runs in its own process and shares nothing with other items. */
export interface BatchTaskContext<Input = unknown> {
  readonly id: string;
  /** Sent as JSON, so values that JSON can't express are lost. */
  readonly input: Input;
  /** Counted from 1. */
  readonly attempt: number;
  /**
   * Runs the function once and stores its result on disk before it returns; later attempts and runs get the stored value. Name and
   * inputs together identify the step: put everything into the inputs that the result depends on. Values are JSON.
   */
  readonly step: <T>(name: string, inputs: unknown, run: (step: StepContext) => Promise<T> | T) => Promise<T>;
  /** Prints a line, and emits a `notice` event. */
  readonly log: (text: string) => void;
  /** A sign of life: after silence longer than the idle timeout, the process is killed. */
  readonly heartbeat: () => void;
  /** Aborted when the item has to stop now; pass it to everything that waits. */
  readonly signal: AbortSignal;
}

/** A workflow for one item, exported by a module. Its return value is JSON, and becomes the item's `result`. */
export type BatchTask<Input = unknown, Result = unknown> = (
  context: BatchTaskContext<Input>,
) => Promise<Result> | Result;

/** To be thrown by a task if a retry would fail the same way. Any error with this `retry` has the same effect. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  readonly retry = 'permanent';
}

/** Why an item failed: a code to match on, a message for people, and the facts. */
export interface BatchItemError extends ErrorRecord {
  code: ErrorCode;
  message: string;
}

export interface BatchItemResult<Result = unknown> {
  id: string;
  /** `skipped`: finished in an earlier run of this batch; `result` is the stored one. */
  status: ItemStatus;
  /** In this run. */
  attempts: number;
  durationMs: number;
  reason: string | null;
  /** What the task returned; null unless the item succeeded or was skipped. */
  result: Result | null;
  error: BatchItemError | null;
}

export interface BatchResult<Result = unknown> {
  /** In the order in which they were given. */
  items: BatchItemResult<Result>[];
  /** By status; a status that did not occur is absent. */
  counts: { total: number } & Partial<Record<ItemStatus, number>>;
  /** How many items could run at once. */
  parallel: number;
}
