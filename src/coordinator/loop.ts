import type { Clock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, nextAttemptDelayMs, toErrorRecord } from '../core/errors.ts';
import { isFailure } from '../core/exit-code.ts';
import { DEPENDS_ON, type ItemEnd, notStarted, statusOfError } from '../core/item.ts';
import type { AttemptOutcome } from './attempt.ts';
import { Backlog } from './backlog.ts';
import type { CoordinatedEnd, CoordinatedItem, CoordinatorOptions, NextItems } from './coordinator.ts';

/** A running item, over all its attempts. */
export interface ActiveItem {
  item: CoordinatedItem;
  attempts: number;
  startedAt: number;
  /** Aborted with the reason when the item times out or is cancelled. */
  deadline: AbortController;
  /** The steps that its journal may hold, each with its seal; null until the first attempt opens it. */
  steps: Map<string, string> | null;
  /** Releases the item; called once, at its end. */
  close: () => void;
}

/** An item that another run has claimed. It is tried again every so often. */
interface ClaimedElsewhere {
  item: CoordinatedItem;
  /** When it was first tried. */
  sinceMs: number;
  isDue: boolean;
}

const TRY_AGAIN_MS = 500;

interface LoopOptions {
  options: CoordinatorOptions;
  clock: Clock;
  limit: number;
  stop: AbortSignal;
  attempt: (active: ActiveItem) => Promise<AttemptOutcome>;
  /** Keeps this many workers ready. */
  warmUp: (workers: number) => void;
  next: NextItems | undefined;
  isOpen: boolean;
}

/**
 * Starts items that can start, and ends those that can't, until every item has ended. Callbacks may call `poke` at any time: it
 * takes effect in a microtask, so nothing starts in the middle of an item's end.
 */
export class Loop {
  readonly #backlog: Backlog<CoordinatedItem>;
  readonly #claimedElsewhere = new Set<ClaimedElsewhere>();
  /** In the order in which the items were added; null: not ended. */
  readonly #ends = new Map<string, CoordinatedEnd | null>();
  /** Items that have not ended. */
  #left = 0;
  #isOpen: boolean;
  /** Items whose retry delay is over and that wait for a worker. */
  readonly #retries: ActiveItem[] = [];
  readonly #active = new Map<string, ActiveItem>();
  readonly #halt;
  readonly #done = Promise.withResolvers<CoordinatedEnd[]>();
  readonly #given: LoopOptions;
  #busy = 0;
  #isPoked = false;
  /** Why nothing new starts. */
  #halted: ErrorRecord | null = null;
  /** When the run times out. */
  readonly #endMs: number;

  constructor(given: LoopOptions) {
    this.#given = given;
    this.#isOpen = given.isOpen;
    const { onCycle, nameOf = (id: string) => id, haltAfter, globalTimeoutMs } = given.options;
    this.#endMs = given.clock.now() + (globalTimeoutMs ?? Number.POSITIVE_INFINITY);
    this.#backlog = new Backlog((ids) => onCycle?.(ids.map(nameOf)));
    this.#halt = createHaltRule(haltAfter);
    given.stop.addEventListener('abort', () => this.poke(), { once: true });
  }

  run(items: readonly CoordinatedItem[]): Promise<CoordinatedEnd[]> {
    this.#join(items, false);
    this.poke();
    return this.#done.promise;
  }

  add(item: CoordinatedItem): void {
    this.#join([item], false);
    this.poke();
  }

  close(): void {
    this.#isOpen = false;
    this.poke();
  }

  poke(): void {
    if (this.#isPoked) return;
    this.#isPoked = true;
    queueMicrotask(() => {
      this.#isPoked = false;
      this.#turn();
    });
  }

  halt(reason: ErrorRecord): void {
    this.#halted ??= reason;
    this.poke();
  }

  cancel(id: string, reason: AgentosError): void {
    const active = this.#active.get(id);
    if (active !== undefined) return active.deadline.abort(reason);
    const elsewhere = [...this.#claimedElsewhere].find(({ item }) => item.id === id);
    if (elsewhere !== undefined) this.#claimedElsewhere.delete(elsewhere);
    const item = elsewhere?.item ?? this.#backlog.take(id);
    if (item !== null) this.#finish(item, notStarted(toErrorRecord(reason), null));
    this.poke();
  }

  #turn(): void {
    const { stop, warmUp } = this.#given;
    try {
      do this.#startItems();
      while (this.#endUnstartable());
      // Replaces discarded workers while the others are busy.
      if (!stop.aborted) warmUp(this.#busy + (this.#halted === null ? this.#backlog.size : 0));
    } catch (error) {
      this.#done.reject(error);
    }
    if (this.#left === 0 && !this.#isOpen) this.#done.resolve([...this.#ends.values()].filter((end) => end !== null));
  }

  #join(items: readonly CoordinatedItem[], ahead: boolean): void {
    this.#backlog.add(items, { ahead });
    this.#left += items.length;
    if (!this.#given.isOpen) for (const { id } of items) this.#ends.set(id, null);
  }

  #startItems(): void {
    for (const claimed of this.#claimedElsewhere) {
      if (!claimed.isDue) continue;
      if (!this.#hasFreeWorker() || !this.#mayStartNew()) break;
      this.#claimedElsewhere.delete(claimed);
      const active = this.#begin(claimed.item, claimed.sinceMs);
      if (active) this.#start(active);
    }
    while (this.#hasFreeWorker()) {
      const repeated = this.#retries.shift();
      const fresh = repeated || !this.#mayStartNew() ? null : this.#backlog.next();
      if (!repeated && !fresh) break;
      const active = repeated ?? (fresh && this.#begin(fresh, null));
      if (active) this.#start(active);
    }
  }

  #hasFreeWorker(): boolean {
    return this.#busy < this.#given.limit && !this.#given.stop.aborted;
  }

  /** While `mayStart` says no, one running item is enough to notice when it says yes again. */
  #mayStartNew(): boolean {
    return this.#halted === null && (this.#busy === 0 || (this.#given.options.mayStart?.() ?? true));
  }

  /** Ends items that can never start. Returns whether there were any. */
  #endUnstartable(): boolean {
    const { stop, options } = this.#given;
    const { nameOf = (id: string) => id } = options;
    const blocked = this.#backlog.takeBlocked();
    for (const { item, on, status } of blocked)
      this.#finish(item, notStarted(null, `${DEPENDS_ON} ${nameOf(on)}, which ended as ${status}`));
    const stopped = stop.aborted ? toErrorRecord(stop.reason) : null;
    const error = this.#halted ?? stopped;
    const claimed = [...this.#claimedElsewhere].map(({ item }) => item);
    const abandoned = error === null ? [] : [...this.#backlog.abandon(), ...claimed];
    if (error !== null) this.#claimedElsewhere.clear();
    for (const item of abandoned) this.#finish(item, notStarted(error));
    const stranded = stopped === null ? [] : this.#retries.splice(0);
    for (const active of stranded) if (stopped) this.#conclude(active, { error: stopped });
    return blocked.length + abandoned.length + stranded.length > 0;
  }

  /** Null: the claim failed, and the item has ended or waits to be tried again. `sinceMs`: when it was first tried. */
  #begin(item: CoordinatedItem, sinceMs: number | null): ActiveItem | null {
    const { clock, options } = this.#given;
    const { claim, claimWaitMs = 0, onEvent } = options;
    const { timeoutMs } = item.bounds ?? options;
    try {
      const release = claim?.(item.id);
      const deadline = new AbortController();
      const timer = clock.timer(timeoutMs, () =>
        deadline.abort(new AgentosError({ code: 'item-timeout', afterMs: timeoutMs })),
      );
      const close = (): void => {
        timer.stop();
        release?.();
      };
      return { item, attempts: 0, startedAt: clock.now(), deadline, steps: null, close };
    } catch (thrown) {
      const error = toErrorRecord(thrown);
      const waitedMs = sinceMs === null ? 0 : clock.now() - sinceMs;
      if (error.problem.code === 'item-locked' && waitedMs < claimWaitMs) {
        const text = `waits for process ${error.problem.pid}, which is working on it`;
        if (sinceMs === null) onEvent(item.id, { type: 'notice', text });
        this.#tryAgainLater({ item, sinceMs: sinceMs ?? clock.now(), isDue: false });
      } else this.#finish(item, { attempts: 0, durationMs: waitedMs, ...outcomeAsEnd({ error }) });
      return null;
    }
  }

  #tryAgainLater(claimed: ClaimedElsewhere): void {
    this.#claimedElsewhere.add(claimed);
    void this.#given.clock.sleep(TRY_AGAIN_MS, this.#given.stop).then(() => {
      claimed.isDue = true;
      this.poke();
    });
  }

  #start(active: ActiveItem): void {
    this.#busy += 1;
    this.#active.set(active.item.id, active);
    this.#attempt(active).then(
      () => this.poke(),
      (error: unknown) => this.#done.reject(error),
    );
  }

  async #attempt(active: ActiveItem): Promise<void> {
    const { stop, clock, options, attempt } = this.#given;
    const outcome = await attempt(active);
    this.#busy -= 1;
    const delayMs = 'error' in outcome && !stop.aborted ? this.#delayMs(active, outcome.error) : null;
    if (!('error' in outcome) || delayMs === null) return this.#conclude(active, outcome);
    options.onEvent(active.item.id, {
      type: 'item-retrying',
      attempt: active.attempts + 1,
      delayMs,
      error: outcome.error,
    });
    // The item holds no worker during the delay, so another item can start.
    this.poke();
    const { signal: late } = active.deadline;
    await clock.sleep(delayMs, AbortSignal.any([stop, late]));
    const ended = stop.aborted ? stop.reason : late.aborted ? late.reason : null;
    if (ended === null) this.#retries.push(active);
    else this.#conclude(active, { error: toErrorRecord(ended) });
  }

  /** Null: no further attempt. If the delay would end after the deadline of item or run, the item ends now with this error. */
  #delayMs({ item, attempts, startedAt }: ActiveItem, { problem, retry }: ErrorRecord): number | null {
    const { random = Math.random } = this.#given.options;
    const { maxRetries, timeoutMs } = item.bounds ?? this.#given.options;
    const retryAfterMs = problem.code === 'provider-quota' ? problem.retryAfterMs : null;
    const delayMs = nextAttemptDelayMs({ retry, attempts, maxRetries, retryAfterMs, random: random() });
    const deadlineMs = Math.min(startedAt + timeoutMs, this.#endMs);
    return delayMs === null || this.#given.clock.now() + delayMs >= deadlineMs ? null : delayMs;
  }

  #conclude(active: ActiveItem, outcome: AttemptOutcome): void {
    this.#active.delete(active.item.id);
    active.close();
    const durationMs = this.#given.clock.now() - active.startedAt;
    this.#finish(active.item, { attempts: active.attempts, durationMs, ...outcomeAsEnd(outcome) });
  }

  #finish(item: CoordinatedItem, end: ItemEnd): void {
    const { onEvent, onHalt } = this.#given.options;
    const { status, error } = end;
    this.#left -= 1;
    this.#backlog.end(item.id, status);
    if (this.#given.isOpen) this.#backlog.forget(item.id);
    else this.#ends.set(item.id, { id: item.id, ...end });
    onEvent(item.id, { type: 'item-finished', ...end });
    const joining = this.#given.next?.({ id: item.id, ...end }) ?? [];
    this.#join(joining, true);
    const { announces } = item;
    if (announces !== undefined && !joining.some(({ id }) => id === announces)) this.#backlog.end(announces, status);
    const facts = status === 'cancelled' ? null : this.#halt.ended(isFailure(status) ? error : null);
    if (facts !== null && this.#halted === null && this.#backlog.size + this.#claimedElsewhere.size > 0) {
      this.#halted = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
      onHalt?.(facts);
    }
  }
}

/** The end of an item whose last attempt had this outcome. */
export function outcomeAsEnd(outcome: AttemptOutcome): Pick<ItemEnd, 'status' | 'reason' | 'error' | 'outputs'> {
  if ('error' in outcome)
    return { status: statusOfError(outcome.error), reason: null, error: outcome.error, outputs: [] };
  const { status, reason, outputs } = outcome.result;
  return { status, reason, error: null, outputs };
}

const SAME_CAUSE_IN_A_ROW = 3;

/** Halts a batch after `limit` failures; without a limit, after three in a row with the same cause. */
export function createHaltRule(limit: number | null) {
  let failures = 0;
  let row = 0;
  let lastCause: string | null = null;
  return {
    /** To be called at each item's end. Returns the reason to start nothing new, or null. */
    ended(failure: ErrorRecord | null): { failures: number; cause: string } | null {
      if (failure === null) {
        row = 0;
        lastCause = null;
        return null;
      }
      const cause = failure.problem.code;
      failures += 1;
      row = cause === lastCause ? row + 1 : 1;
      lastCause = cause;
      const reached = limit === null ? row >= SAME_CAUSE_IN_A_ROW : failures >= limit;
      return reached ? { failures: limit === null ? row : failures, cause } : null;
    },
  };
}
