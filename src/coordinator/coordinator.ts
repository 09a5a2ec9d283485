import { type Clock, systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent, ItemStatus } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { nextAttemptDelayMs } from '../core/retry-policy.ts';
import { statusOfError } from '../core/summary.ts';
import type { TaskReference } from '../worker/protocol.ts';
import type { WorkerProcess, WorkerSettings } from '../worker/spawn.ts';
import { createHaltRule } from './halt.ts';
import { MAX_PARALLEL } from './limits.ts';
import { type AttemptOutcome, runAttempt } from './run-attempt.ts';
import { startUndertaker } from './undertaker.ts';
import { createWorkerPool, type WorkerPool } from './worker-pool.ts';

/** One item of a batch, as far as the coordinator has to know it. */
export interface CoordinatedItem {
  id: string;
  /** The file of its journal. */
  checkpoint: string;
  /** For the task; a function is asked at each attempt. */
  input: unknown;
}

export interface ItemEnd {
  id: string;
  status: ItemStatus;
  attempts: number;
  durationMs: number;
  reason: string | null;
  error: ErrorRecord | null;
  outputs: string[];
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
  /** Start nothing new after so many failures; null: after three in a row with the same cause. */
  haltAfter: number | null;
  onEvent: (id: string, event: ItemEvent) => void;
  onHalt?: (facts: { failures: number; cause: string }) => void;
  /** Called before an item's first attempt; what it returns is called at the item's end. Throws to refuse the item. */
  claim?: (id: string) => () => void;
  /** The item waits for something outside, such as quota: its silence is not idleness. */
  isWaiting?: (id: string) => boolean;
  /** Whether a new item may be started now; when that changes, `poke` is to be called. */
  mayStart?: () => boolean;
  /** Shows what a worker prints while it works on the item. */
  attachOutput?: (id: string, worker: Pick<WorkerProcess, 'stdout' | 'stderr'>) => { detach: () => void };
  /** Distinguishes the processes of this run from others. */
  runTag: string;
  clock?: Clock;
  random?: () => number;
}

interface Progress {
  item: CoordinatedItem;
  attempts: number;
  startedAt: number;
  deadline: AbortController;
  timer: NodeJS.Timeout;
  release: () => void;
}

/**
 * Keeps at most N workers busy, one item at a time in each process, and owns deadlines, retries and shutdown.
 *
 * An item goes  waiting → running → ended
 *                  ▲         │ a failure that may pass, attempts and time left: waiting again after a delay, and then
 *                  └─────────┘ before those that were never started; it holds no worker meanwhile
 *
 * Every item that was given to `run` has exactly one end.
 */
export class ParallelCoordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #stop = new AbortController();
  readonly #kill = new AbortController();
  readonly #pool: WorkerPool;
  #poke: () => void = () => undefined;
  readonly #undertaker: ReturnType<typeof startUndertaker>;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
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

  /** Something that `mayStart` looks at has changed. */
  poke(): void {
    this.#poke();
  }

  /** Ends everything at once. */
  kill(): void {
    this.#stop.abort(new AgentosError({ code: 'interrupted', signal: 'SIGKILL' }));
    this.#kill.abort();
    this.#pool.killAll();
  }

  async run(items: readonly CoordinatedItem[]): Promise<ItemEnd[]> {
    const { globalTimeoutMs } = this.#options;
    const timer =
      globalTimeoutMs === null
        ? null
        : setTimeout(
            () => this.stop(new AgentosError({ code: 'run-timeout', afterMs: globalTimeoutMs })),
            globalTimeoutMs,
          );
    try {
      this.warmUp(items.length);
      return await this.#workOff(items);
    } finally {
      if (timer) clearTimeout(timer);
      await this.#pool.close();
      this.#undertaker.dismiss();
    }
  }

  #workOff(items: readonly CoordinatedItem[]): Promise<ItemEnd[]> {
    const halt = createHaltRule(this.#options.haltAfter);
    const ends = new Map<string, ItemEnd>();
    const again: Progress[] = [];
    let next = 0;
    let busy = 0;
    let halted: ErrorRecord | null = null;

    return new Promise((resolve, reject) => {
      const finish = (end: ItemEnd): void => {
        ends.set(end.id, end);
        const { status, durationMs, attempts, reason, error } = end;
        this.#options.onEvent(end.id, { type: 'item-finished', status, durationMs, attempts, reason, error });
        const facts = status === 'cancelled' ? null : halt.ended(isFailure(status) ? error : null);
        if (facts !== null && halted === null && next < items.length) {
          halted = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
          this.#options.onHalt?.(facts);
        }
      };
      const conclude = (progress: Progress, outcome: AttemptOutcome): void => {
        clearTimeout(progress.timer);
        progress.release();
        finish({
          id: progress.item.id,
          attempts: progress.attempts,
          durationMs: this.#clock.now() - progress.startedAt,
          ...endOf(outcome),
        });
      };
      const attempt = async (progress: Progress): Promise<void> => {
        busy += 1;
        progress.attempts += 1;
        const outcome = await this.#attempt(progress);
        busy -= 1;
        const delayMs = 'error' in outcome ? this.#delayBeforeNext(progress, outcome.error) : null;
        if (delayMs === null || !('error' in outcome)) {
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
      const pump = (): void => {
        while (busy < this.#limit && !this.#stop.signal.aborted) {
          const repeated = again.shift();
          // Nothing new while there is nothing to work with; one is enough to notice when there is again.
          const mayStart = busy === 0 || (this.#options.mayStart?.() ?? true);
          const fresh = repeated || halted !== null || !mayStart ? undefined : items[next];
          if (!repeated && !fresh) break;
          const progress = repeated ?? (fresh && this.#begin(fresh, finish));
          if (fresh) next += 1;
          if (progress) attempt(progress).then(pump, reject);
        }
        // In the place of a worker that was discarded, another one gets ready while the rest is at work.
        if (!this.#stop.signal.aborted) this.warmUp(busy + (halted === null ? items.length - next : 0));
        if (this.#stop.signal.aborted || halted !== null) {
          const error = halted ?? toErrorRecord(this.#stop.signal.reason);
          while (next < items.length) {
            const item = items[next];
            next += 1;
            if (item)
              finish({
                id: item.id,
                status: 'cancelled',
                attempts: 0,
                durationMs: 0,
                reason: 'not started',
                error,
                outputs: [],
              });
          }
        }
        if (ends.size === items.length)
          resolve(items.map((item) => ends.get(item.id)).filter((end) => end !== undefined));
      };
      this.#stop.signal.addEventListener('abort', pump, { once: true });
      this.#poke = pump;
      pump();
    });
  }

  #begin(item: CoordinatedItem, finish: (end: ItemEnd) => void): Progress | null {
    const { claim, timeoutMs } = this.#options;
    try {
      const release = claim?.(item.id) ?? (() => undefined);
      const deadline = new AbortController();
      const timer = setTimeout(
        () => deadline.abort(new AgentosError({ code: 'item-timeout', afterMs: timeoutMs })),
        timeoutMs,
      );
      return { item, attempts: 0, startedAt: this.#clock.now(), deadline, timer, release };
    } catch (error) {
      finish({ id: item.id, attempts: 0, durationMs: 0, ...endOf({ error: toErrorRecord(error) }) });
      return null;
    }
  }

  #attempt({ item, attempts, deadline }: Progress): Promise<AttemptOutcome> {
    const { task, idleTimeoutMs, onEvent, attachOutput } = this.#options;
    return runAttempt({
      pool: this.#pool,
      item: { task, id: item.id, attempt: attempts, checkpoint: item.checkpoint, input: inputOf(item) },
      idleTimeoutMs,
      clock: this.#clock,
      onEvent: (event) => onEvent(item.id, event),
      isWaiting: () => this.#options.isWaiting?.(item.id) ?? false,
      attachOutput: (worker) => attachOutput?.(item.id, worker) ?? discardOutput(worker),
      stop: AbortSignal.any([this.#stop.signal, deadline.signal]),
      kill: this.#kill.signal,
    });
  }

  /** Null: no further attempt. A wait that can't end in time is not begun: the item says now what it would say then. */
  #delayBeforeNext({ attempts, startedAt }: Progress, { problem, retry }: ErrorRecord): number | null {
    const { maxRetries, timeoutMs, random = Math.random } = this.#options;
    if (this.#stop.signal.aborted) return null;
    const retryAfterMs = problem.code === 'provider-quota' ? problem.retryAfterMs : null;
    const delayMs = nextAttemptDelayMs({ retry, attempts, maxRetries, retryAfterMs, random: random() });
    return delayMs === null || this.#clock.now() + delayMs >= startedAt + timeoutMs ? null : delayMs;
  }
}

function inputOf({ input }: CoordinatedItem): unknown {
  return typeof input === 'function' ? (input as () => unknown)() : input;
}

function endOf(outcome: AttemptOutcome): Pick<ItemEnd, 'status' | 'reason' | 'error' | 'outputs'> {
  if ('error' in outcome)
    return { status: statusOfError(outcome.error), reason: null, error: outcome.error, outputs: [] };
  const { status, reason, outputs } = outcome.result;
  return { status, reason, error: null, outputs };
}

function discardOutput({ stdout, stderr }: Pick<WorkerProcess, 'stdout' | 'stderr'>): { detach: () => void } {
  stdout.resume();
  stderr.resume();
  return { detach: () => undefined };
}
