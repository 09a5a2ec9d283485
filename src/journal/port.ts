/**
 * Durable steps. `step` returns the stored result of its key, or runs the function and stores its result before it returns.
 * The key names everything that the result depends on, so a changed prompt or document never gets an old answer.
 *
 * A step goes absent → started → done. A process that dies in between leaves `started` behind: the call may have been made, and
 * the next owner makes it again. No other call is ever repeated. A step that waits for a person's decision stays `started` until
 * `settle` makes it `done`.
 *
 * A journal has one owner. Opening it takes it over with a new fence token, and every write names its token: an older owner that
 * wakes up gets `journal-fenced` and changes nothing.
 *
 * All steps are read when the journal is opened. Programs that an item runs may be able to write to its file, but their records
 * are never used.
 */
export interface Journal {
  /** The file or address, for messages. */
  readonly location: string;
  step<T>(key: StepKey, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>>;
  /** Whether this step is done. */
  has(key: StepKey): boolean;
  /** Every finished step, in the order in which they finished. */
  steps(): StepRecord[];
  /** The result of the step of this name that finished last, whatever its inputs; undefined if none did. */
  last(name: string): unknown;
  /** Throws if anything but this owner has written to it since it was opened. */
  check(): void;
  /** Deletes the journal: its item is done. */
  remove(): Promise<void>;
  close(): void;
}

/** A journal opened from outside of its workflow, to store the decision that a step waits for. */
export interface SettlingJournal extends Journal {
  /**
   * Stores a result for the step of this name that was started last, in place of its function. It may be settled again until
   * another step starts: the last result counts. Returns false, and stores nothing, if there is no such step.
   */
  settle(name: string, value: unknown): Promise<boolean>;
}

export interface StepKey {
  /** Short and stable, e.g. `draft` or `review-2`: what people see. */
  name: string;
  /** Everything that the result depends on; JSON values only. */
  inputs: unknown;
}

export interface StepContext {
  /** The same step of the same item has the same id after a restart. */
  id: string;
  /** How often this step was started before without finishing. */
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

/** A step as a store keeps it; `end` is null while it is `started`. */
export interface StoredStep {
  id: string;
  name: string;
  /** Counts starts: the step with the highest number was started last. */
  number: number;
  starts: number;
  startedAt: string;
  end: { finishedAt: string; order: number; result: string } | null;
}

/** Where the steps of one journal are kept. A stale owner gets `journal-fenced`. */
export interface OpenSteps {
  /** For messages. */
  readonly location: string;
  /** Adds the step, or replaces the one with its id. */
  put(step: StoredStep): Promise<void>;
  remove(): Promise<void>;
  /** Absent if no program of an item can reach it. */
  check?(): void;
  close?(): void;
}

/** Every operation may be repeated, so a caller can retry one whose answer was lost. */
export interface StepStore extends OpenSteps {
  /** Becomes the owner, and returns all steps. */
  open(): Promise<StoredStep[]>;
}
