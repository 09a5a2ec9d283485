import { type Clock, systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { DEPENDS_ON, type ItemEnd, notStarted } from '../core/item.ts';
import { MAX_PARALLEL } from '../core/plan.ts';
import type { StepStore } from '../journal/port.ts';
import type { AttemptTrace } from '../telemetry/tracer.ts';
import type { TaskReference, TaskResult } from '../worker/protocol.ts';
import { type ActiveItem, type AttemptOutcome, attemptItem, beginItem, outcomeAsEnd, retryDelayMs } from './attempt.ts';
import { Backlog, createHaltRule, type Queued } from './backlog.ts';
import { createWorkerPool, type WorkerPool, type WorkerProcess, type WorkerSettings } from './worker-pool.ts';

export interface CoordinatedEnd extends ItemEnd {
  id: string;
}

/** One item of a batch, as the coordinator sees it. */
export interface CoordinatedItem extends Queued {
  /** The file of its journal, or a store in place of a file. */
  checkpoint: string | StepStore;
  /** The task's input. A function is called at each attempt, and may return a promise. */
  input: unknown;
  /** Overrides the bounds of the run. */
  bounds?: Pick<CoordinatorOptions, 'maxRetries' | 'timeoutMs' | 'idleTimeoutMs'>;
  /** Overrides the task of the run. */
  task?: TaskReference;
}

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
  /** Items wait for each other. Called with their names, in the order in which they run. */
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
  /** Shows the output of a worker while it works on the item; `detach` is called after its last output for this item. */
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

type NextItems = (end: CoordinatedEnd) => readonly CoordinatedItem[];

/** How often an item that another run has claimed is tried again. */
const TRY_AGAIN_MS = 500;

/**
 * Keeps at most N workers busy, one item at a time in each process, and owns deadlines, retries and shutdown.
 *
 * An item goes  waiting → running → ended
 *                  ▲         │ a temporary failure, with attempts and time left: after a delay it goes ahead of items that
 *                  └─────────┘ never started; it holds no worker meanwhile
 * An item that another run has claimed waits, without a worker, until it is free.
 *
 * The backlog decides which waiting item may start. Every item that was given to `run`, or joined it, has exactly one end.
 * Callbacks may call `poke` at any time: it takes effect in a microtask, so nothing starts in the middle of an item's end.
 */
export class ParallelCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #pool: WorkerPool;
  readonly #backlog: Backlog<CoordinatedItem>;
  /** Items that another run has claimed, and since when they are tried. */
  readonly #claimedElsewhere = new Map<string, { item: CoordinatedItem; sinceMs: number; isDue: boolean }>();
  readonly #active = new Map<string, ActiveItem>();
  /** Items whose retry delay is over and that wait for a worker. */
  readonly #retries: ActiveItem[] = [];
  /** In the order in which the items were added; null: not ended. An open run has none. */
  #ends: Map<string, CoordinatedEnd | null> | null = new Map();
  readonly #done = Promise.withResolvers<CoordinatedEnd[]>();
  readonly #haltRule: ReturnType<typeof createHaltRule>;
  /** Why nothing new starts. */
  #halted: ErrorRecord | null = null;
  #next: NextItems = () => [];
  #isOpen = false;
  #isRunning = false;
  /** Items that have not ended, and workers that work. */
  #left = 0;
  #busy = 0;
  /** When the run times out. */
  #endMs = Number.POSITIVE_INFINITY;

  constructor(options: CoordinatorOptions) {
    const { onCycle, nameOf = (id: string) => id } = options;
    this.#options = options;
    this.#clock = { ...systemClock, ...options.clock };
    this.#limit = Math.max(1, Math.min(MAX_PARALLEL, Math.floor(options.parallel)));
    this.#pool = createWorkerPool({ ...options.worker, task: options.task }, options.runTag);
    this.#backlog = new Backlog((ids) => onCycle?.(ids.map(nameOf)));
    this.#haltRule = createHaltRule(options.haltAfter);
    this.#stop.signal.addEventListener('abort', () => this.poke(), { once: true });
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
    this.poke();
  }

  /** Stops one item as `stop` does, or does not start it. Unknown and ended ids are ignored. */
  cancel(id: string, reason: AgentosError): void {
    const active = this.#active.get(id);
    if (active !== undefined) return active.deadline.abort(reason);
    const item = this.#claimedElsewhere.get(id)?.item ?? this.#backlog.take(id);
    this.#claimedElsewhere.delete(id);
    if (item !== null) this.#finish(item, notStarted(toErrorRecord(reason), null));
    this.poke();
  }

  /** To be called when the answer of `mayStart` may have changed. */
  poke(): void {
    if (this.#isRunning) queueMicrotask(() => this.#turn());
  }

  /** Adds an item to a run that is open. */
  add(item: CoordinatedItem): void {
    this.#join([item], false);
    this.poke();
  }

  /** Ends an open run when its items have ended. */
  close(): void {
    this.#isOpen = false;
    this.poke();
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
   * Returns the ends of the given items in their order, then of those that joined. `next` is called at each item's end, however it
   * ended; the items that it returns go ahead of those that wait, so that work in progress is finished before something new
   * starts. `isOpen`: takes further items until it is closed, and returns no ends.
   */
  async run(
    items: readonly CoordinatedItem[],
    { next = () => [], isOpen = false }: { next?: NextItems; isOpen?: boolean } = {},
  ): Promise<CoordinatedEnd[]> {
    const { globalTimeoutMs } = this.#options;
    const timeOut = (afterMs: number): void => this.stop(new AgentosError({ code: 'run-timeout', afterMs }));
    const timer = globalTimeoutMs === null ? null : this.#clock.timer(globalTimeoutMs, () => timeOut(globalTimeoutMs));
    this.#endMs = this.#clock.now() + (globalTimeoutMs ?? Number.POSITIVE_INFINITY);
    this.#next = next;
    this.#isOpen = isOpen;
    if (isOpen) this.#ends = null;
    this.#isRunning = true;
    try {
      this.warmUp(items.length);
      this.#join(items, false);
      this.poke();
      return await this.#done.promise;
    } catch (error) {
      this.kill();
      throw error;
    } finally {
      timer?.stop();
      await this.#pool.close();
    }
  }

  #turn(): void {
    try {
      do this.#startItems();
      while (this.#endUnstartable());
      // Replaces discarded workers while the others are busy.
      if (!this.#stop.signal.aborted) this.warmUp(this.#busy + (this.#halted === null ? this.#backlog.size : 0));
    } catch (error) {
      this.#done.reject(error);
    }
    if (this.#left > 0 || this.#isOpen) return;
    this.#done.resolve([...(this.#ends?.values() ?? [])].filter((end) => end !== null));
  }

  #join(items: readonly CoordinatedItem[], ahead: boolean): void {
    this.#backlog.add(items, { ahead });
    this.#left += items.length;
    for (const { id } of items) this.#ends?.set(id, null);
  }

  #startItems(): void {
    while (this.#busy < this.#limit && !this.#stop.signal.aborted) {
      const retry = this.#retries.shift();
      const item = retry === undefined ? this.#nextItem() : null;
      if (retry === undefined && item === null) return;
      const active = retry ?? (item && this.#begin(item));
      if (active) this.#start(active);
    }
  }

  /** While `mayStart` says no, one running item is enough to notice when it says yes again. */
  #nextItem(): CoordinatedItem | null {
    if (this.#halted !== null || (this.#busy > 0 && this.#options.mayStart?.() === false)) return null;
    const claimed = [...this.#claimedElsewhere.values()].find(({ isDue }) => isDue);
    return claimed?.item ?? this.#backlog.next();
  }

  /** Ends items that can never start. Returns whether there were any. */
  #endUnstartable(): boolean {
    const { nameOf = (id: string) => id } = this.#options;
    const { signal: stop } = this.#stop;
    const error = this.#halted ?? (stop.aborted ? toErrorRecord(stop.reason) : null);
    const blocked = this.#backlog.takeBlocked();
    for (const { item, on, status } of blocked)
      this.#finish(item, notStarted(null, `${DEPENDS_ON} ${nameOf(on)}, which ended as ${status}`));
    const claimed = [...this.#claimedElsewhere.values()].map(({ item }) => item);
    const abandoned = error === null ? [] : [...this.#backlog.abandon(), ...claimed];
    if (error !== null) this.#claimedElsewhere.clear();
    for (const item of abandoned) this.#finish(item, notStarted(error));
    const stranded = stop.aborted ? this.#retries.splice(0) : [];
    for (const active of stranded) this.#conclude(active, { error: toErrorRecord(stop.reason) });
    return blocked.length + abandoned.length + stranded.length > 0;
  }

  /** Null: the claim failed, and the item has ended or waits to be tried again. */
  #begin(item: CoordinatedItem): ActiveItem | null {
    const before = this.#claimedElsewhere.get(item.id);
    this.#claimedElsewhere.delete(item.id);
    try {
      return beginItem(item, this.#options, this.#clock);
    } catch (thrown) {
      const error = toErrorRecord(thrown);
      const { claimWaitMs = 0, onEvent } = this.#options;
      const sinceMs = before?.sinceMs ?? this.#clock.now();
      const waitedMs = this.#clock.now() - sinceMs;
      if (error.problem.code !== 'item-locked' || waitedMs >= claimWaitMs) {
        this.#finish(item, { attempts: 0, durationMs: waitedMs, ...outcomeAsEnd({ error }) });
        return null;
      }
      const text = `waits for process ${error.problem.pid}, which is working on it`;
      if (before === undefined) onEvent(item.id, { type: 'notice', text });
      const claimed = { item, sinceMs, isDue: false };
      this.#claimedElsewhere.set(item.id, claimed);
      void this.#clock.sleep(TRY_AGAIN_MS, this.#stop.signal).then(() => {
        claimed.isDue = true;
        this.poke();
      });
      return null;
    }
  }

  #start(active: ActiveItem): void {
    this.#busy += 1;
    this.#active.set(active.item.id, active);
    this.#work(active).then(() => this.poke(), this.#done.reject);
  }

  async #work(active: ActiveItem): Promise<void> {
    const { signal: stop } = this.#stop;
    const clock = this.#clock;
    const options = this.#options;
    const outcome = await attemptItem(active, { options, clock, pool: this.#pool, stop, kill: this.#kill.signal });
    this.#busy -= 1;
    if (!('error' in outcome) || stop.aborted) return this.#conclude(active, outcome);
    const { error } = outcome;
    const delayMs = retryDelayMs(active, error, options, Math.min(active.endMs, this.#endMs) - clock.now());
    if (delayMs === null) return this.#conclude(active, outcome);
    options.onEvent(active.item.id, { type: 'item-retrying', attempt: active.attempts + 1, delayMs, error });
    // The item holds no worker during the delay, so another item can start.
    this.poke();
    const { signal: late } = active.deadline;
    await clock.sleep(delayMs, AbortSignal.any([stop, late]));
    const ended = stop.aborted ? stop.reason : late.aborted ? late.reason : null;
    if (ended === null) this.#retries.push(active);
    else this.#conclude(active, { error: toErrorRecord(ended) });
  }

  #conclude(active: ActiveItem, outcome: AttemptOutcome): void {
    this.#active.delete(active.item.id);
    active.close();
    const durationMs = this.#clock.now() - active.startedAt;
    this.#finish(active.item, { attempts: active.attempts, durationMs, ...outcomeAsEnd(outcome) });
  }

  #finish(item: CoordinatedItem, end: ItemEnd): void {
    const { onEvent, onHalt } = this.#options;
    const { status, error } = end;
    this.#left -= 1;
    this.#backlog.end(item.id, status);
    if (this.#ends === null) this.#backlog.forget(item.id);
    else this.#ends.set(item.id, { id: item.id, ...end });
    onEvent(item.id, { type: 'item-finished', ...end });
    const joining = this.#next({ id: item.id, ...end });
    this.#join(joining, true);
    const { announces } = item;
    if (announces !== undefined && !joining.some(({ id }) => id === announces)) this.#backlog.end(announces, status);
    const facts = status === 'cancelled' ? null : this.#haltRule.ended(isFailure(status) ? error : null);
    if (facts !== null && this.#halted === null && this.#backlog.size + this.#claimedElsewhere.size > 0) {
      this.#halted = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
      onHalt?.(facts);
    }
  }
}
