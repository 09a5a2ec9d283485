import { type Clock, systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import type { AttemptTrace } from '../telemetry/span.ts';
import type { TaskReference, TaskResult } from '../worker/protocol.ts';
import type { WorkerProcess, WorkerSettings } from '../worker/spawn.ts';
import { Backlog } from './backlog.ts';
import { createHaltRule } from './halt.ts';
import { endOf, type ItemEnd, notStarted } from './item-end.ts';
import { MAX_PARALLEL } from './limits.ts';
import { beginProgress, delayBeforeNextMs, type Progress } from './progress.ts';
import { type AttemptOutcome, runAttempt } from './run-attempt.ts';
import { SetAside } from './set-aside.ts';
import { startUndertaker } from './undertaker.ts';
import { createWorkerPool, type WorkerPool } from './worker-pool.ts';

export type { ItemEnd } from './item-end.ts';

/** One item of a batch, as far as the coordinator has to know it. */
export interface CoordinatedItem {
  id: string;
  /** The file of its journal. */
  checkpoint: string;
  /** For the task; a function is asked at each attempt. */
  input: unknown;
  /** Instead of the task that the others have. */
  task?: TaskReference;
  /** No two items that share one of these are under way at the same time, the delays between attempts included. */
  exclusive?: readonly string[];
  /** Ids of items of this run that have to have succeeded first, or been skipped; others mean nothing. */
  after?: readonly string[];
}

/**
 * Called at each item's end, however that was. What it returns joins the run ahead of those that were given: what was begun
 * is brought to its end before something new is.
 */
export type NextItems = (end: ItemEnd) => readonly CoordinatedItem[];

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
  onHalt?: (facts: { failures: number; cause: string }) => void;
  /** Called before an item's first attempt; what it returns is called at the item's end. Throws to refuse the item. */
  claim?: (id: string) => () => void;
  /** How long an item waits for another run that has claimed it; without it, or with 0, it is refused at once. */
  claimWaitMs?: number;
  /** Asked when an item was claimed: another run may have finished it since the plan. Its result then, else null. */
  alreadyDone?: (id: string) => Promise<TaskResult | null>;
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
 * Which of those that wait may start is for the backlog to say. Every item that was given to `run`, or joined it, has
 * exactly one end.
 */
export class ParallelCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #pool: WorkerPool;
  #poke: () => void = () => undefined;
  /** Why nothing new is started. */
  #halted: ErrorRecord | null = null;
  readonly #undertaker: ReturnType<typeof startUndertaker>;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#clock = { ...systemClock, ...options.clock };
    this.#limit = Math.max(1, Math.min(MAX_PARALLEL, Math.floor(options.parallel)));
    this.#undertaker = startUndertaker(`${options.runTag}-`);
    this.#pool = createWorkerPool({ ...options.worker, task: options.task }, options.runTag, this.#undertaker);
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
    this.#poke();
  }

  /** Something that `mayStart` looks at has changed. */
  poke(): void {
    this.#poke();
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

  /** The ends in the order of the given items, then of those that joined. */
  async run(items: readonly CoordinatedItem[], { next }: { next?: NextItems } = {}): Promise<ItemEnd[]> {
    const { globalTimeoutMs } = this.#options;
    const timer =
      globalTimeoutMs === null
        ? null
        : this.#clock.timer(globalTimeoutMs, () =>
            this.stop(new AgentosError({ code: 'run-timeout', afterMs: globalTimeoutMs })),
          );
    try {
      this.warmUp(items.length);
      return await this.#workOff(items, next);
    } finally {
      timer?.stop();
      await this.#pool.close();
      this.#undertaker.dismiss();
    }
  }

  #workOff(items: readonly CoordinatedItem[], next: NextItems | undefined): Promise<ItemEnd[]> {
    const halt = createHaltRule(this.#options.haltAfter);
    const backlog = new Backlog<CoordinatedItem>();
    const order: string[] = [];
    const ends = new Map<string, ItemEnd>();
    const again: Progress<CoordinatedItem>[] = [];
    let busy = 0;
    let isInBooks = false;
    let isPoked = false;

    return new Promise((resolve, reject) => {
      const join = (joining: readonly CoordinatedItem[], ahead: boolean): void => {
        backlog.add(joining, { ahead });
        for (const { id } of joining) order.push(id);
      };
      /** Whom we tell of an end may poke us: nothing is started before the books are closed. */
      const inBooks = (work: () => void): void => {
        const wasInBooks = isInBooks;
        isInBooks = true;
        try {
          work();
        } finally {
          isInBooks = wasInBooks;
        }
      };
      const finish = (end: ItemEnd): void => {
        ends.set(end.id, end);
        backlog.end(end.id, end.status);
        const { id, ...ended } = end;
        const { status, error } = end;
        this.#options.onEvent(id, { type: 'item-finished', ...ended });
        join(next?.(end) ?? [], true);
        const facts = status === 'cancelled' ? null : halt.ended(isFailure(status) ? error : null);
        if (facts !== null && this.#halted === null && backlog.size + setAside.size > 0) {
          this.#halted = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
          this.#options.onHalt?.(facts);
        }
      };
      const conclude = (progress: Progress<CoordinatedItem>, outcome: AttemptOutcome): void => {
        progress.close();
        inBooks(() =>
          finish({
            id: progress.item.id,
            attempts: progress.attempts,
            durationMs: this.#clock.now() - progress.startedAt,
            ...endOf(outcome),
          }),
        );
      };
      const attempt = async (progress: Progress<CoordinatedItem>): Promise<void> => {
        busy += 1;
        const outcome = (await this.#endedElsewhere(progress)) ?? (await this.#attempt(progress));
        busy -= 1;
        const isOver = !('error' in outcome) || this.#stop.signal.aborted;
        const delayMs = isOver ? null : delayBeforeNextMs(progress, outcome.error, this.#options, this.#clock);
        if (isOver || delayMs === null) {
          conclude(progress, outcome);
        } else {
          this.#options.onEvent(progress.item.id, {
            type: 'item-retrying',
            attempt: progress.attempts + 1,
            delayMs,
            error: outcome.error,
          });
          await this.#clock.sleep(delayMs, AbortSignal.any([this.#stop.signal, progress.deadline.signal]));
          if (this.#stop.signal.aborted) conclude(progress, { error: toErrorRecord(this.#stop.signal.reason) });
          else if (progress.deadline.signal.aborted)
            conclude(progress, { error: toErrorRecord(progress.deadline.signal.reason) });
          else again.push(progress);
        }
      };
      /** Null: it was refused, or set aside. */
      const begin = (item: CoordinatedItem, sinceMs: number | null): Progress<CoordinatedItem> | null => {
        try {
          return beginProgress(item, this.#options, this.#clock);
        } catch (thrown) {
          const error = toErrorRecord(thrown);
          const { problem } = error;
          const waitedMs = sinceMs === null ? 0 : this.#clock.now() - sinceMs;
          if (problem.code === 'item-locked' && waitedMs < (this.#options.claimWaitMs ?? 0)) {
            const text = `waits for process ${problem.pid}, which is working on it`;
            if (sinceMs === null) this.#options.onEvent(item.id, { type: 'notice', text });
            setAside.add({ item, sinceMs: sinceMs ?? this.#clock.now() });
          } else finish({ id: item.id, attempts: 0, durationMs: waitedMs, ...endOf({ error }) });
          return null;
        }
      };
      // Nothing new while there is nothing to work with; one is enough to notice when there is again.
      const mayBegin = (): boolean => this.#halted === null && (busy === 0 || (this.#options.mayStart?.() ?? true));
      const hasRoom = (): boolean => busy < this.#limit && !this.#stop.signal.aborted;
      const startWhatCan = (): void => {
        for (const waiting of setAside.takeDue()) {
          const isFree = hasRoom() && mayBegin();
          const progress = isFree ? begin(waiting.item, waiting.sinceMs) : null;
          if (progress) attempt(progress).then(pump, fail);
          else if (!isFree) setAside.add(waiting);
        }
        while (hasRoom()) {
          const repeated = again.shift();
          const fresh = repeated || !mayBegin() ? null : backlog.next();
          if (!repeated && !fresh) break;
          const progress = repeated ?? (fresh && begin(fresh, null));
          if (progress) attempt(progress).then(pump, fail);
        }
      };
      /** Returns whether there was anything. */
      const endWhatCannot = (): boolean => {
        const nameOf = this.#options.nameOf ?? ((id: string) => id);
        const hopeless = backlog.takeHopeless();
        for (const { item, on, status } of hopeless)
          finish(notStarted(item.id, null, `: it depends on ${nameOf(on)}, which ended as ${status}`));
        const stopped = this.#stop.signal.aborted ? toErrorRecord(this.#stop.signal.reason) : null;
        const error = this.#halted ?? stopped;
        const aside = error === null ? [] : setAside.takeAll().map(({ item }) => item);
        const abandoned = error === null ? [] : [...backlog.abandon(), ...aside];
        for (const { id } of abandoned) finish(notStarted(id, error));
        // Those whose delay is over, but for whom there was no worker yet.
        const stranded = stopped === null ? [] : again.splice(0);
        for (const progress of stranded) if (stopped) conclude(progress, { error: stopped });
        return hopeless.length + abandoned.length + stranded.length > 0;
      };
      const pump = (): void => {
        isPoked = true;
        if (isInBooks) return;
        try {
          while (isPoked) {
            isPoked = false;
            inBooks(() => {
              do startWhatCan();
              while (endWhatCannot());
            });
          }
          // In the place of a worker that was discarded, another one gets ready while the rest is at work.
          if (!this.#stop.signal.aborted) this.warmUp(busy + (this.#halted === null ? backlog.size : 0));
        } catch (error) {
          fail(error);
        }
        if (ends.size === order.length) resolve(order.map((id) => ends.get(id)).filter((end) => end !== undefined));
      };
      const fail = (error: unknown): void => {
        setAside.takeAll();
        reject(error);
        this.kill();
      };
      const setAside = new SetAside<CoordinatedItem>(pump);
      join(items, false);
      this.#stop.signal.addEventListener('abort', pump, { once: true });
      this.#poke = pump;
      pump();
    });
  }

  /** Of an item that was claimed just now; null: it has to be worked on. */
  async #endedElsewhere({ item, attempts }: Progress<CoordinatedItem>): Promise<AttemptOutcome | null> {
    // What can't be found out now is for the attempt to meet.
    const result = attempts > 0 ? null : await this.#options.alreadyDone?.(item.id).catch(() => null);
    if (result) return { result };
    return this.#stop.signal.aborted ? { error: toErrorRecord(this.#stop.signal.reason) } : null;
  }

  async #attempt(progress: Progress<CoordinatedItem>): Promise<AttemptOutcome> {
    progress.attempts += 1;
    const { item, attempts, deadline } = progress;
    const { task, idleTimeoutMs, onEvent, attachOutput } = this.#options;
    const trace = this.#options.traceAttempt?.(item.id, attempts) ?? null;
    const outcome = await runAttempt({
      pool: this.#pool,
      item: {
        task: item.task ?? task,
        id: item.id,
        attempt: attempts,
        checkpoint: item.checkpoint,
        input: inputOf(item),
        ...(trace && { traceparent: trace.traceparent }),
      },
      trace,
      idleTimeoutMs,
      clock: this.#clock,
      onEvent: (event) => onEvent(item.id, event),
      isWaiting: () => this.#options.isWaiting?.(item.id) ?? false,
      attachOutput: (worker) => attachOutput?.(item.id, worker) ?? discardOutput(worker),
      stop: AbortSignal.any([this.#stop.signal, deadline.signal]),
      kill: this.#kill.signal,
    });
    trace?.ended('error' in outcome ? outcome.error : null);
    return outcome;
  }
}

function inputOf({ input }: CoordinatedItem): unknown {
  return typeof input === 'function' ? (input as () => unknown)() : input;
}

function discardOutput({ stdout, stderr }: Pick<WorkerProcess, 'stdout' | 'stderr'>): { detach: () => void } {
  stdout.resume();
  stderr.resume();
  return { detach: () => undefined };
}
