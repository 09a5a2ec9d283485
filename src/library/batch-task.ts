import type { StepContext } from '../journal/port.ts';

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
