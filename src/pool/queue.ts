import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Lease, LeaseRequest, PoolEvent } from './pool.ts';

export interface Waiter {
  request: LeaseRequest;
  granted: (lease: Lease) => void;
  refused: (error: AgentosError) => void;
}

/**
 * The requests that wait for one model of one vendor. The item that got the fewest turns comes first; an item that was away has no
 * claim on the turns it missed. Within an item it is first come, first served, except that a retry goes first.
 */
export class ModelQueue {
  readonly vendor: VendorName;
  readonly model: string;
  readonly #waiting = new Map<string, Waiter[]>();
  /** By item: its turns, and the key that served it last. */
  readonly #served = new Map<string, { turns: number; keyId: string }>();
  /** How many turns the item had that was served last. No waiting item had fewer. */
  #turn = 0;

  constructor(vendor: VendorName, model: string) {
    this.vendor = vendor;
    this.model = model;
  }

  /** It has the item's prompts cached. */
  lastKey(item: string): string | undefined {
    return this.#served.get(item)?.keyId;
  }

  push(waiter: Waiter): void {
    const { item, isRetry } = waiter.request;
    const others = this.#waiting.get(item) ?? [];
    const served = this.#served.get(item);
    if (others.length === 0 && served !== undefined) served.turns = Math.max(served.turns, this.#turn);
    this.#waiting.set(item, isRetry ? [waiter, ...others] : [...others, waiter]);
  }

  first(): Waiter | undefined {
    let first: Waiter | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [item, [waiter]] of this.#waiting) {
      const turns = this.#turnsOf(item);
      if (turns < least) [first, least] = [waiter, turns];
    }
    return first;
  }

  /** The first one gets a lease with this key. */
  serve(waiter: Waiter, keyId: string): void {
    const { item } = waiter.request;
    this.#turn = this.#turnsOf(item);
    this.#served.set(item, { turns: this.#turn + 1, keyId });
    this.remove(waiter);
  }

  waiters(): Waiter[] {
    return [...this.#waiting.values()].flat();
  }

  /** False: it does not wait any more. */
  remove(waiter: Waiter): boolean {
    const { item } = waiter.request;
    const waiting = this.#waiting.get(item) ?? [];
    const others = waiting.filter((other) => other !== waiter);
    if (others.length === 0) this.#waiting.delete(item);
    else this.#waiting.set(item, others);
    return others.length < waiting.length;
  }

  #turnsOf(item: string): number {
    return this.#served.get(item)?.turns ?? this.#turn;
  }
}

/** For a wait that can't end in time. `inMs`: until the first key is back; 0: unknown. */
export function quotaRefusal(provider: VendorName, inMs: number): AgentosError {
  const retryAfterMs = inMs > 0 ? Math.ceil(inMs) : null;
  const detail =
    retryAfterMs === null
      ? 'no key came free in time'
      : `every key has used its quota; the first is back in ${formatDuration(retryAfterMs)}`;
  return new AgentosError({ code: 'provider-quota', provider, detail, retryAfterMs, status: null }, { retry: 'quota' });
}

/** If no request can be served for this long, the pool is exhausted. */
const EXHAUSTED_AFTER_MS = 2_000;
const CHECK_EVERY_MS = 1_000;

/**
 * Reports once that a vendor has no quota left, and once that it has some again: when a request is served, or when the time has
 * come and no request waits any more. The timer for the latter keeps no process alive.
 */
export class PoolExhaustion {
  readonly #known = new Map<VendorName, { untilMs: number; reason: WaitReason }>();
  readonly #onEvent: (event: PoolEvent) => void;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | null = null;

  constructor(onEvent: (event: PoolEvent) => void, now: () => number) {
    this.#onEvent = onEvent;
    this.#now = now;
  }

  /** The next request can be served at this time. Reported again if a refusal by the vendor follows our own pacing. */
  servedFrom(vendor: VendorName, readyMs: number, reasonOf: () => WaitReason): void {
    const known = this.#known.get(vendor);
    if (known === undefined && readyMs <= this.#now() + EXHAUSTED_AFTER_MS) return;
    const found = known?.reason === 'quota' ? 'quota' : reasonOf();
    const isNews = known === undefined || (found === 'quota' && known.reason !== 'quota');
    const reason = isNews ? found : known.reason;
    this.#known.set(vendor, { untilMs: readyMs, reason });
    if (isNews) this.#onEvent({ type: 'pool-exhausted', vendor, reason, forMs: Math.max(0, readyMs - this.#now()) });
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  /** A vendor has no quota left. */
  get isExhausted(): boolean {
    return this.#known.size > 0;
  }

  served(vendor: VendorName): void {
    const known = this.#known.get(vendor);
    if (known === undefined) return;
    this.#known.delete(vendor);
    this.#onEvent({ type: 'pool-resumed', vendor, reason: known.reason });
    if (this.#known.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #check(): void {
    for (const [vendor, { untilMs }] of this.#known) if (untilMs <= this.#now()) this.served(vendor);
  }
}
