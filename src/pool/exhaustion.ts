import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { PoolEvent } from './port.ts';

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
