import type { Clock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, nextAttemptDelayMs, toErrorRecord } from '../core/errors.ts';
import { isFailure } from '../core/exit-code.ts';
import { DEPENDS_ON, type ItemEnd, notStarted, statusOfError } from '../core/item.ts';
import type { AttemptOutcome } from './attempt.ts';
import { Backlog } from './backlog.ts';
import type { CoordinatedEnd, CoordinatedItem, CoordinatorOptions, NextItems } from './coordinator.ts';

/** An item that is under way, over all its attempts. */
export interface Flight {
  item: CoordinatedItem;
  attempts: number;
  startedAt: number;
  /** Aborted with the reason when its time is up. */
  deadline: AbortController;
  /** The steps that its journal may hold, each with its seal; null until the first attempt has opened it. */
  steps: Map<string, string> | null;
  /** Releases the item; called once, at its end. */
  close: () => void;
}

/** An item that another run has claimed, and since when it waits for that. */
interface Claimed {
  item: CoordinatedItem;
  sinceMs: number;
  isDue: boolean;
}

const LOOK_EVERY_MS = 500;

export interface LoopOptions {
  options: CoordinatorOptions;
  clock: Clock;
  limit: number;
  stop: AbortSignal;
  attempt: (flight: Flight) => Promise<AttemptOutcome>;
  /** How many workers there is work for. */
  warmUp: (workers: number) => void;
  next: NextItems | undefined;
  /** Items may be added until it is closed. */
  isOpen: boolean;
}

/**
 * Starts what can start and ends what cannot, until every item has ended. Callbacks may call `poke` at any time: it takes
 * effect when the present turn is over, so that nothing is started in the middle of an item's end.
 */
export class Loop {
  readonly #backlog: Backlog<CoordinatedItem>;
  /** Items that another run has claimed, to be looked at again every so often. */
  #aside: Claimed[] = [];
  readonly #order: string[] = [];
  readonly #ends = new Map<string, CoordinatedEnd>();
  /** Items that have not ended. */
  #left = 0;
  #isOpen: boolean;
  /** Items whose delay is over, and that wait for a worker. */
  readonly #again: Flight[] = [];
  readonly #underWay = new Map<string, Flight>();
  readonly #halt;
  readonly #done = Promise.withResolvers<CoordinatedEnd[]>();
  readonly #given: LoopOptions;
  #busy = 0;
  #isPoked = false;
  /** Why nothing new is started. */
  #halted: ErrorRecord | null = null;

  constructor(given: LoopOptions) {
    this.#given = given;
    this.#isOpen = given.isOpen;
    const { onCycle, nameOf = (id: string) => id, haltAfter } = given.options;
    this.#backlog = new Backlog((ids) => onCycle?.(ids.map(nameOf)));
    this.#halt = createHaltRule(haltAfter);
    given.stop.addEventListener('abort', () => this.poke(), { once: true });
  }

  /** The ends in the order of the given items, then of those that joined. */
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

  /** No new items; those that are under way may end. */
  halt(reason: ErrorRecord): void {
    this.#halted ??= reason;
    this.poke();
  }

  /** Ends one item; finished steps are kept. One that has ended, or is not here, stays as it is. */
  cancel(id: string, reason: AgentosError): void {
    const flight = this.#underWay.get(id);
    if (flight !== undefined) return flight.deadline.abort(reason);
    const aside = this.#aside.find(({ item }) => item.id === id);
    this.#aside = this.#aside.filter((claimed) => claimed !== aside);
    const item = aside?.item ?? this.#backlog.take(id);
    if (item !== null) this.#finish(item, notStarted(toErrorRecord(reason), null));
    this.poke();
  }

  #turn(): void {
    const { stop, warmUp } = this.#given;
    try {
      do this.#startWhatCan();
      while (this.#endWhatCannot());
      // In the place of a worker that was discarded, another one gets ready while the rest is at work.
      if (!stop.aborted) warmUp(this.#busy + (this.#halted === null ? this.#backlog.size : 0));
    } catch (error) {
      this.#done.reject(error);
    }
    if (this.#left === 0 && !this.#isOpen)
      this.#done.resolve(this.#order.map((id) => this.#ends.get(id)).filter((end) => end !== undefined));
  }

  #join(items: readonly CoordinatedItem[], ahead: boolean): void {
    this.#backlog.add(items, { ahead });
    this.#left += items.length;
    if (!this.#given.isOpen) for (const { id } of items) this.#order.push(id);
  }

  #startWhatCan(): void {
    for (const claimed of this.#aside.filter(({ isDue }) => isDue)) {
      if (!this.#hasRoom() || !this.#mayBegin()) break;
      this.#aside = this.#aside.filter((other) => other !== claimed);
      const flight = this.#begin(claimed.item, claimed.sinceMs);
      if (flight) this.#fly(flight);
    }
    while (this.#hasRoom()) {
      const repeated = this.#again.shift();
      const fresh = repeated || !this.#mayBegin() ? null : this.#backlog.next();
      if (!repeated && !fresh) break;
      const flight = repeated ?? (fresh && this.#begin(fresh, null));
      if (flight) this.#fly(flight);
    }
  }

  #hasRoom(): boolean {
    return this.#busy < this.#given.limit && !this.#given.stop.aborted;
  }

  /** Nothing new while there is nothing to work with; one is enough to notice when there is again. */
  #mayBegin(): boolean {
    return this.#halted === null && (this.#busy === 0 || (this.#given.options.mayStart?.() ?? true));
  }

  /** Returns whether there was anything. */
  #endWhatCannot(): boolean {
    const { stop, options } = this.#given;
    const { nameOf = (id: string) => id } = options;
    const hopeless = this.#backlog.takeHopeless();
    for (const { item, on, status } of hopeless)
      this.#finish(item, notStarted(null, `${DEPENDS_ON} ${nameOf(on)}, which ended as ${status}`));
    const stopped = stop.aborted ? toErrorRecord(stop.reason) : null;
    const error = this.#halted ?? stopped;
    const abandoned = error === null ? [] : [...this.#backlog.abandon(), ...this.#aside.map(({ item }) => item)];
    if (error !== null) this.#aside = [];
    for (const item of abandoned) this.#finish(item, notStarted(error));
    const stranded = stopped === null ? [] : this.#again.splice(0);
    for (const flight of stranded) if (stopped) this.#conclude(flight, { error: stopped });
    return hopeless.length + abandoned.length + stranded.length > 0;
  }

  /** Null: it was refused, or set aside. */
  #begin(item: CoordinatedItem, sinceMs: number | null): Flight | null {
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
        this.#lookAgain({ item, sinceMs: sinceMs ?? clock.now(), isDue: false });
      } else this.#finish(item, { attempts: 0, durationMs: waitedMs, ...outcomeAsEnd({ error }) });
      return null;
    }
  }

  #lookAgain(claimed: Claimed): void {
    this.#aside.push(claimed);
    void this.#given.clock.sleep(LOOK_EVERY_MS, this.#given.stop).then(() => {
      claimed.isDue = true;
      this.poke();
    });
  }

  #fly(flight: Flight): void {
    this.#busy += 1;
    this.#underWay.set(flight.item.id, flight);
    this.#attempt(flight).then(
      () => this.poke(),
      (error: unknown) => this.#done.reject(error),
    );
  }

  async #attempt(flight: Flight): Promise<void> {
    const { stop, clock, options, attempt } = this.#given;
    const outcome = await attempt(flight);
    this.#busy -= 1;
    const delayMs = 'error' in outcome && !stop.aborted ? this.#delayMs(flight, outcome.error) : null;
    if (!('error' in outcome) || delayMs === null) return this.#conclude(flight, outcome);
    options.onEvent(flight.item.id, {
      type: 'item-retrying',
      attempt: flight.attempts + 1,
      delayMs,
      error: outcome.error,
    });
    // A worker that the item does not hold any more can take another one meanwhile.
    this.poke();
    const { signal: late } = flight.deadline;
    await clock.sleep(delayMs, AbortSignal.any([stop, late]));
    const ended = stop.aborted ? stop.reason : late.aborted ? late.reason : null;
    if (ended === null) this.#again.push(flight);
    else this.#conclude(flight, { error: toErrorRecord(ended) });
  }

  /** Null: no further attempt. A wait that can't end in time is not begun: the item says now what it would say then. */
  #delayMs({ item, attempts, startedAt }: Flight, { problem, retry }: ErrorRecord): number | null {
    const { random = Math.random } = this.#given.options;
    const { maxRetries, timeoutMs } = item.bounds ?? this.#given.options;
    const retryAfterMs = problem.code === 'provider-quota' ? problem.retryAfterMs : null;
    const delayMs = nextAttemptDelayMs({ retry, attempts, maxRetries, retryAfterMs, random: random() });
    return delayMs === null || this.#given.clock.now() + delayMs >= startedAt + timeoutMs ? null : delayMs;
  }

  #conclude(flight: Flight, outcome: AttemptOutcome): void {
    this.#underWay.delete(flight.item.id);
    flight.close();
    const durationMs = this.#given.clock.now() - flight.startedAt;
    this.#finish(flight.item, { attempts: flight.attempts, durationMs, ...outcomeAsEnd(outcome) });
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
    if (facts !== null && this.#halted === null && this.#backlog.size + this.#aside.length > 0) {
      this.#halted = { problem: { code: 'halted', ...facts }, retry: 'permanent' };
      onHalt?.(facts);
    }
  }
}

/** How an item ends whose last attempt came to this. */
export function outcomeAsEnd(outcome: AttemptOutcome): Pick<ItemEnd, 'status' | 'reason' | 'error' | 'outputs'> {
  if ('error' in outcome)
    return { status: statusOfError(outcome.error), reason: null, error: outcome.error, outputs: [] };
  const { status, reason, outputs } = outcome.result;
  return { status, reason, error: null, outputs };
}

const SAME_CAUSE_IN_A_ROW = 3;

/** Decides when a batch stops burning through its items. */
interface HaltRule {
  /** Told of each item's end; returns the reason to start nothing new, or null. */
  ended(failure: ErrorRecord | null): { failures: number; cause: string } | null;
}

/** With a limit: after so many failures. Without: after three in a row with the same cause. */
export function createHaltRule(limit: number | null): HaltRule {
  let failures = 0;
  let row = 0;
  let lastCause: string | null = null;
  return {
    ended(failure) {
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
