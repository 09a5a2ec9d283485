import { type Clock, systemClock, untilAborted } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { ItemEnd } from '../core/item.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { StepStore } from '../journal/port.ts';
import type { AttemptTrace } from '../telemetry/span.ts';
import type { TaskReference, TaskResult } from '../worker/protocol.ts';
import type { WorkerProcess, WorkerSettings } from '../worker/spawn.ts';
import { type AttemptOutcome, runAttempt } from './attempt.ts';
import { type ActiveItem, Loop } from './loop.ts';
import { createWorkerPool, startOrphanGuard, type WorkerPool } from './worker-pool.ts';

export interface CoordinatedEnd extends ItemEnd {
  id: string;
}

/** One item of a batch, as the coordinator sees it. */
export interface CoordinatedItem {
  id: string;
  /** The file of its journal, or a store in place of a file. */
  checkpoint: string | StepStore;
  /** The task's input. A function is called at each attempt, and may return a promise. */
  input: unknown;
  /** Overrides the bounds of the run. */
  bounds?: Pick<CoordinatorOptions, 'maxRetries' | 'timeoutMs' | 'idleTimeoutMs'>;
  /** Overrides the task of the run. */
  task?: TaskReference;
  /** No two items that share one of these keys run at the same time, including the delays between attempts. */
  exclusive?: readonly string[];
  /** Ids of items of this run that must have succeeded or been skipped first; other ids are ignored. */
  after?: readonly string[];
  /** The id of an item that `next` is expected to return at this one's end: others can already wait for it. */
  announces?: string;
}

/**
 * Called at each item's end, however it ended. The items that it returns join the run ahead of those that wait, so that work
 * in progress is finished before something new starts.
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
  /** Start nothing new after this many failures; null: after three in a row with the same cause. */
  haltAfter: number | null;
  onEvent: (id: string, event: ItemEvent) => void;
  /** Items that joined at different times wait for each other. Called with their names, in the order in which they run. */
  onCycle?: (names: readonly string[]) => void;
  onHalt?: (facts: { failures: number; cause: string }) => void;
  /** Called before an item's first attempt. Throws to refuse the item; otherwise returns the function that releases it. */
  claim?: (id: string) => () => void;
  /** How long an item waits for another run that has claimed it. Default: 0, the item is refused at once. */
  claimWaitMs?: number;
  /** Called after an item was claimed: returns its result if another run has finished it since the plan, else null. */
  alreadyDone?: (id: string) => Promise<TaskResult | null>;
  /** Work of this process after an item's result and before its end. If it rejects, the item fails. */
  complete?: (id: string, result: TaskResult, signal: AbortSignal) => Promise<TaskResult>;
  /** Whether the item waits for something outside, such as quota: then its silence is not idleness. */
  isWaiting?: (id: string) => boolean;
  /** Whether a new item may start now. Call `poke` when that changes. */
  mayStart?: () => boolean;
  /** Shows the output of a worker while it works on the item. */
  attachOutput?: (id: string, worker: Pick<WorkerProcess, 'stdout' | 'stderr'>) => { detach: () => void };
  /** The name of an item for people. Default: its id. */
  nameOf?: (id: string) => string;
  /** The span of an attempt that starts now; null: nothing is traced. */
  traceAttempt?: (id: string, attempt: number) => AttemptTrace | null;
  /** How long a step in flight may still take; called when its item has to stop. Default: 2 s. */
  finishStepMs?: () => number;
  /** Distinguishes the processes of this run from others. */
  runTag: string;
  /** Overrides the system clock, or parts of it. */
  clock?: Partial<Clock>;
  random?: () => number;
}

/**
 * Keeps at most N workers busy, one item at a time in each process, and owns deadlines, retries and shutdown.
 *
 * An item goes  waiting → running → ended
 *                  ▲         │ a temporary failure, with attempts and time left: after a delay it goes ahead of items that
 *                  └─────────┘ never started; it holds no worker meanwhile
 * An item that another run has claimed waits, without a worker, until it is free.
 *
 * The backlog decides which waiting item may start. Every item that was given to `run`, or joined it, has exactly one end.
 */
export class ParallelCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #pool: WorkerPool;
  #loop: Loop | null = null;
  /** Set by `halt` before `run`. */
  #halted: ErrorRecord | null = null;
  readonly #orphanGuard: ReturnType<typeof startOrphanGuard>;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#clock = { ...systemClock, ...options.clock };
    this.#limit = Math.max(1, Math.min(MAX_PARALLEL, Math.floor(options.parallel)));
    this.#orphanGuard = startOrphanGuard(`${options.runTag}-`);
    this.#pool = createWorkerPool({ ...options.worker, task: options.task }, options.runTag, this.#orphanGuard);
  }

  /** Starts worker processes before the items are known. */
  warmUp(items: number): void {
    this.#pool.warmUp(Math.min(this.#limit, items));
  }

  /** Starts nothing new; running items stop at their next step, or are killed within seconds. */
  stop(reason: AgentosError): void {
    this.#stop.abort(reason);
  }

  /** Starts no new items; running ones may finish. */
  halt(reason: ErrorRecord): void {
    this.#halted ??= reason;
    this.#loop?.halt(reason);
  }

  /** Stops one item as `stop` does, or does not start it. Unknown and ended ids are ignored. */
  cancel(id: string, reason: AgentosError): void {
    this.#loop?.cancel(id, reason);
  }

  /** To be called when the answer of `mayStart` may have changed. */
  poke(): void {
    this.#loop?.poke();
  }

  /** Adds an item to a run that is open. */
  add(item: CoordinatedItem): void {
    this.#loop?.add(item);
  }

  /** Ends an open run when its items have ended. */
  close(): void {
    this.#loop?.close();
  }

  /** Kills all workers at once. */
  kill(): void {
    this.#stop.abort(new AgentosError({ code: 'interrupted', signal: 'SIGKILL' }));
    this.#kill.abort();
    this.#pool.signalAll('SIGKILL');
  }

  /** Workers are in their own process groups, so stopping this process (Ctrl+Z) does not stop them. */
  suspend(): void {
    this.#pool.signalAll('SIGSTOP');
  }

  resume(): void {
    this.#pool.signalAll('SIGCONT');
  }

  /**
   * Returns the ends of the given items in their order, then of those that joined. `isOpen`: takes further items until it is
   * closed, and returns no ends.
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
        attempt: async (active) =>
          this.#completed(active, (await this.#endedElsewhere(active)) ?? (await this.#attempt(active))),
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

  /** Null: the item that was just claimed is still to be done. */
  async #endedElsewhere({ item, attempts }: ActiveItem): Promise<AttemptOutcome | null> {
    // If this fails, the attempt runs into the same error.
    const result = attempts > 0 ? null : await this.#options.alreadyDone?.(item.id).catch(() => null);
    if (result) return { result };
    return this.#stop.signal.aborted ? { error: toErrorRecord(this.#stop.signal.reason) } : null;
  }

  async #completed({ item, deadline }: ActiveItem, outcome: AttemptOutcome): Promise<AttemptOutcome> {
    const { complete } = this.#options;
    if (complete === undefined || 'error' in outcome) return outcome;
    const stop = AbortSignal.any([this.#stop.signal, deadline.signal]);
    try {
      return { result: await untilAborted(stop, complete(item.id, outcome.result, stop)) };
    } catch (error) {
      return { error: toErrorRecord(error) };
    }
  }

  async #attempt(active: ActiveItem): Promise<AttemptOutcome> {
    active.attempts += 1;
    const { item, attempts, deadline } = active;
    const { task, idleTimeoutMs, onEvent, attachOutput } = this.#options;
    const stop = AbortSignal.any([this.#stop.signal, deadline.signal]);
    let input: unknown;
    try {
      input = await untilAborted(stop, inputOf(item));
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
        steps: active.steps === null ? null : [...active.steps],
        input,
        ...(trace && { traceparent: trace.traceparent }),
      },
      store: typeof item.checkpoint === 'string' ? null : item.checkpoint,
      trace,
      idleTimeoutMs: item.bounds?.idleTimeoutMs ?? idleTimeoutMs,
      clock: this.#clock,
      onEvent: (event) => onEvent(item.id, event),
      onSteps: (steps) => {
        active.steps ??= new Map();
        for (const [id, seal] of steps) active.steps.set(id, seal);
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

async function inputOf({ input }: CoordinatedItem): Promise<unknown> {
  return typeof input === 'function' ? (input as () => unknown)() : input;
}

function discardOutput({ stdout, stderr }: Pick<WorkerProcess, 'stdout' | 'stderr'>): { detach: () => void } {
  stdout.resume();
  stderr.resume();
  return { detach: () => undefined };
}
