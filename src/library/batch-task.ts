import type { StepContext } from '../journal/port.ts';

/** What a task of yours is given. It runs in a process of its own; nothing is shared with its siblings. */
export interface BatchTaskContext<Input = unknown> {
  readonly id: string;
  /** As JSON brought it over: what JSON has no word for is gone. */
  readonly input: Input;
  /** Counted from 1. */
  readonly attempt: number;
  /**
   * Runs the function once and stores its result on disk before it returns; from then on the stored value is returned,
   * in later attempts and later runs too. The name and the inputs together say which step it is: put everything into the
   * inputs that the result depends on. Values are JSON.
   */
  readonly step: <T>(name: string, inputs: unknown, run: (step: StepContext) => Promise<T> | T) => Promise<T>;
  /** A line for people, and a `notice` among the events. */
  readonly log: (text: string) => void;
  /** A sign of life; silence for longer than the idle bound ends the process. */
  readonly heartbeat: () => void;
  /** Aborted when the item has to end now; hand it to whatever waits. */
  readonly signal: AbortSignal;
}

/** A workflow for one item, exported by a module. What it returns is JSON and becomes the item's `result`. */
export type BatchTask<Input = unknown, Result = unknown> = (
  context: BatchTaskContext<Input>,
) => Promise<Result> | Result;

/** Thrown by a task when a further attempt would end the same way. Any error with this `retry` does the same. */
export class PermanentError extends Error {
  override readonly name = 'PermanentError';
  readonly retry = 'permanent';
}
