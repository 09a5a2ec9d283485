import { type Clock, systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemEnd } from '../core/item.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { StepStore } from '../journal/stored.ts';
import type { AttemptTrace } from '../telemetry/span.ts';
import type { TaskReference, TaskResult } from '../worker/protocol.ts';
import type { WorkerProcess, WorkerSettings } from '../worker/spawn.ts';
import { type AttemptOutcome, runAttempt } from './attempt.ts';
import { type Flight, Loop } from './loop.ts';
import { createWorkerPool, startOrphanGuard, type WorkerPool } from './worker-pool.ts';

export interface CoordinatedEnd extends ItemEnd {
  id: string;
}

/** One item of a batch, as far as the coordinator has to know it. */
export interface CoordinatedItem {
  id: string;
  /** The file of its journal, or what keeps its steps in place of a file. */
  checkpoint: string | StepStore;
  /** For the task; a function is called at each attempt, and may return a promise. */
  input: unknown;
  /** Instead of those that the others have. */
  bounds?: Pick<CoordinatorOptions, 'maxRetries' | 'timeoutMs' | 'idleTimeoutMs'>;
  /** Instead of the task that the others have. */
  task?: TaskReference;
  /** No two items that share one of these are under way at the same time, the delays between attempts included. */
  exclusive?: readonly string[];
  /** Ids of items of this run that have to have succeeded first, or been skipped; others mean nothing. */
  after?: readonly string[];
  /** The id of an item that `next` is expected to return at this one's end: others can already come after it. */
  announces?: string;
}

/**
 * Called at each item's end, however it ended. What it returns joins the run ahead of those that were given: what was
 * begun is finished before something new is started.
 */
export type NextItems = (end: CoordinatedEnd) => readonly CoordinatedItem[];

export interface CoordinatorOptions {
  task: TaskReference;
  /** Capped at 10. */
  parallel: number;
  worker: Omit<WorkerSettings, 'task'>;
  maxRetries: number;
  timeoutMs: number;
  idleTimeoutMs: number;
  globalTimeoutMs: number | null;
  /** Start nothing new after so many failures; null: after three in a row with the same cause. */
  haltAfter: number | null;
  onEvent: (id: string, event: ItemEvent) => void;
  /** Items that joined at different times come after each other; by name, in the order in which they run. */
  onCycle?: (names: readonly string[]) => void;
  onHalt?: (facts: { failures: number; cause: string }) => void;
  /** Called before an item's first attempt; what it returns is called at the item's end. Throws to refuse the item. */
  claim?: (id: string) => () => void;
  /** How long an item waits for another run that has claimed it; without it, or with 0, it is refused at once. */
  claimWaitMs?: number;
  /** Asked when an item was claimed: another run may have finished it since the plan. Its result then, else null. */
  alreadyDone?: (id: string) => Promise<TaskResult | null>;
  /** What follows the result of an item that did not fail, in this process and before its end. Rejects: the item fails. */
  complete?: (id: string, result: TaskResult, signal: AbortSignal) => Promise<TaskResult>;
  /** The item waits for something outside, such as quota: its silence is not idleness. */
  isWaiting?: (id: string) => boolean;
  /** Whether a new item may be started now; when that changes, `poke` is to be called. */
  mayStart?: () => boolean;
  /** Shows what a worker prints while it works on the item. */
  attachOutput?: (id: string, worker: Pick<WorkerProcess, 'stdout' | 'stderr'>) => { detach: () => void };
  /** What people call an item, where that is not its id. */
  nameOf?: (id: string) => string;
  /** The span of an attempt that begins now; null: nothing is traced. */
  traceAttempt?: (id: string, attempt: number) => AttemptTrace | null;
  /** How long a step in flight may still take, asked when its item has to stop (default: 2 s). */
  finishStepMs?: () => number;
  /** Distinguishes the processes of this run from others. */
  runTag: string;
  /** Instead of the system's, or of a part of it. */
  clock?: Partial<Clock>;
  random?: () => number;
}

/**
 * Keeps at most N workers busy, one item at a time in each process, and owns deadlines, retries and shutdown.
 *
 * An item goes  waiting → running → ended
 *                  ▲         │ a failure that may pass, attempts and time left: waiting again after a delay, and then
 *                  └─────────┘ before those that were never started; it holds no worker meanwhile
 * One that another run has claimed is set aside, without a worker too, until it is free.
 *
 * The backlog decides which of those that wait may start. Every item that was given to `run`, or joined it, has
 * exactly one end.
 */
export class ParallelCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #pool: WorkerPool;
  #loop: Loop | null = null;
  /** Before there is a loop. */
  #halted: ErrorRecord | null = null;
  readonly #orphanGuard: ReturnType<typeof startOrphanGuard>;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#clock = { ...systemClock, ...options.clock };
    this.#limit = Math.max(1, Math.min(MAX_PARALLEL, Math.floor(options.parallel)));
    this.#orphanGuard = startOrphanGuard(`${options.runTag}-`);
    this.#pool = createWorkerPool({ ...options.worker, task: options.task }, options.runTag, this.#orphanGuard);
  }

  /** Starts processes before the items are known, so that they are ready when the plan is. */
  warmUp(items: number): void {
    this.#pool.warmUp(Math.min(this.#limit, items));
  }

  /** No new work; running items stop at their next step, or are ended within seconds. */
  stop(reason: AgentosError): void {
    this.#stop.abort(reason);
  }

  /** No new items; those that are under way may end. */
  halt(reason: ErrorRecord): void {
    this.#halted ??= reason;
    this.#loop?.halt(reason);
  }

  /** One item stops at its next step, or is ended within seconds; one that waits is not started. */
  cancel(id: string, reason: AgentosError): void {
    this.#loop?.cancel(id, reason);
  }

  /** Something that `mayStart` looks at has changed. */
  poke(): void {
    this.#loop?.poke();
  }

  /** To a coordinator that runs until it is closed. */
  add(item: CoordinatedItem): void {
    this.#loop?.add(item);
  }

  /** What was added may end; then the run has ended. */
  close(): void {
    this.#loop?.close();
  }

  /** Ends everything at once. */
  kill(): void {
    this.#stop.abort(new AgentosError({ code: 'interrupted', signal: 'SIGKILL' }));
    this.#kill.abort();
    this.#pool.signalAll('SIGKILL');
  }

  /** Workers are in process groups of their own, which a stop of this process does not reach. */
  suspend(): void {
    this.#pool.signalAll('SIGSTOP');
  }

  resume(): void {
    this.#pool.signalAll('SIGCONT');
  }

  /**
   * The ends in the order of the given items, then of those that joined. `isOpen`: it takes further items until it is closed, and
   * keeps nothing of those that ended.
   */
  async run(
    items: readonly CoordinatedItem[],
    { next, isOpen = false }: { next?: NextItems; isOpen?: boolean } = {},
  ): Promise<CoordinatedEnd[]> {
    const { globalTimeoutMs } = this.#options;
    const timer =
      globalTimeoutMs === null
        ? null
        : this.#clock.timer(globalTimeoutMs, () =>
            this.stop(new AgentosError({ code: 'run-timeout', afterMs: globalTimeoutMs })),
          );
    try {
      this.warmUp(items.length);
      this.#loop = new Loop({
        options: this.#options,
        clock: this.#clock,
        limit: this.#limit,
        stop: this.#stop.signal,
        attempt: async (flight) =>
          this.#completed(flight, (await this.#endedElsewhere(flight)) ?? (await this.#attempt(flight))),
        warmUp: (workers) => this.warmUp(workers),
        next,
        isOpen,
      });
      if (this.#halted !== null) this.#loop.halt(this.#halted);
      return await this.#loop.run(items);
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      timer?.stop();
      await this.#pool.close();
      this.#orphanGuard.dismiss();
    }
  }

  /** Of an item that was claimed just now; null: it has to be worked on. */
  async #endedElsewhere({ item, attempts }: Flight): Promise<AttemptOutcome | null> {
    // What can't be found out now is for the attempt to meet.
    const result = attempts > 0 ? null : await this.#options.alreadyDone?.(item.id).catch(() => null);
    if (result) return { result };
    return this.#stop.signal.aborted ? { error: toErrorRecord(this.#stop.signal.reason) } : null;
  }

  async #completed({ item, deadline }: Flight, outcome: AttemptOutcome): Promise<AttemptOutcome> {
    const { complete } = this.#options;
    if (complete === undefined || 'error' in outcome) return outcome;
    const stop = AbortSignal.any([this.#stop.signal, deadline.signal]);
    try {
      return { result: await unlessAborted(complete(item.id, outcome.result, stop), stop) };
    } catch (error) {
      return { error: toErrorRecord(error) };
    }
  }

  async #attempt(flight: Flight): Promise<AttemptOutcome> {
    flight.attempts += 1;
    const { item, attempts, deadline } = flight;
    const { task, idleTimeoutMs, onEvent, attachOutput } = this.#options;
    const stop = AbortSignal.any([this.#stop.signal, deadline.signal]);
    let input: unknown;
    try {
      input = await unlessAborted(inputOf(item), stop);
    } catch (error) {
      return { error: toErrorRecord(error) };
    }
    const trace = this.#options.traceAttempt?.(item.id, attempts) ?? null;
    const outcome = await runAttempt({
      pool: this.#pool,
      item: {
        task: item.task ?? task,
        id: item.id,
        attempt: attempts,
        checkpoint: typeof item.checkpoint === 'string' ? item.checkpoint : null,
        steps: flight.steps === null ? null : [...flight.steps],
        input,
        ...(trace && { traceparent: trace.traceparent }),
      },
      store: typeof item.checkpoint === 'string' ? null : item.checkpoint,
      trace,
      idleTimeoutMs: item.bounds?.idleTimeoutMs ?? idleTimeoutMs,
      clock: this.#clock,
      onEvent: (event) => onEvent(item.id, event),
      onSteps: (steps) => {
        flight.steps ??= new Map();
        for (const [id, seal] of steps) flight.steps.set(id, seal);
      },
      isWaiting: () => this.#options.isWaiting?.(item.id) ?? false,
      attachOutput: (worker) => attachOutput?.(item.id, worker) ?? discardOutput(worker),
      stop,
      kill: this.#kill.signal,
      finishStepMs: this.#options.finishStepMs,
    });
    trace?.ended('error' in outcome ? outcome.error : null);
    return outcome;
  }
}

function inputOf({ input }: CoordinatedItem): unknown {
  return typeof input === 'function' ? (input as () => unknown)() : input;
}

/** Rejects with the signal's reason if that comes first; what was begun is then left to itself. */
async function unlessAborted<T>(work: T | Promise<T>, signal: AbortSignal): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

function discardOutput({ stdout, stderr }: Pick<WorkerProcess, 'stdout' | 'stderr'>): { detach: () => void } {
  stdout.resume();
  stderr.resume();
  return { detach: () => undefined };
}
