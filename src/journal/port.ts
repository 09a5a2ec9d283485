/**
 * Durable steps. `step` returns what was stored under the key, or runs the function and stores its result before it
 * returns. The key names everything the result depends on, so that a changed prompt or document is never answered from
 * an old record.
 *
 * A step goes through: absent → started → done. A process that dies leaves `started` behind: the call may or may not
 * have been made, and the next owner makes it again – the only case in which a call is repeated. A step that waits for
 * a person's decision is left `started` on purpose, and `settle` makes it `done`.
 *
 * Programs that a step runs can reach the file. What they write there is no record: a step is taken from the journal only as it
 * was when this owner opened it, or stored it.
 *
 * A journal has one owner. Opening it claims it with a new fence token, and every write names its token; an owner that
 * was taken over (it slept, its machine was suspended) gets `journal-fenced` and changes nothing.
 */
export interface Journal {
  /** The file or address, for messages. */
  readonly location: string;
  step<T>(key: StepKey, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>>;
  /** Whether this step is finished. */
  has(key: StepKey): boolean;
  /** Every finished step in the order in which they finished. */
  steps(): StepRecord[];
  /** The result of the step of this name that finished last, whatever its inputs; undefined where none did. */
  last(name: string): unknown;
  /** Throws where anything but this owner has written to it since it was opened. Absent: no program of an item can reach it. */
  check?: () => void;
  /** Ends well: the record is not needed any more. */
  remove(): Promise<void>;
  close(): void;
}

/** A journal opened from outside of its workflow, to store the decision that a step waits for. */
export interface SettlingJournal extends Journal {
  /**
   * Stores a result for the step of this name that was started last, in place of its function. It may be settled again until
   * another step is started: the last result counts. False, and nothing is stored, where there is no such step.
   */
  settle(name: string, value: unknown): Promise<boolean>;
}

export interface StepKey {
  /** Short and stable, e.g. `draft` or `review-2`: what people see. */
  name: string;
  /** All that the result depends on; JSON values only. */
  inputs: unknown;
}

export interface StepContext {
  /** Stable over restarts: the same step of the same item has the same id. */
  id: string;
  /** How often this step had been started before without an end. */
  earlierStarts: number;
}

export interface StepResult<T> {
  value: T;
  replayed: boolean;
}

export interface StepRecord {
  id: string;
  name: string;
  startedAt: string;
  finishedAt: string;
}
