import type { VendorName } from '../core/keys.ts';
import type { PoolEvent } from './port.ts';

/** Nobody can be served for this long: the pool is exhausted, and says so. */
const EXHAUSTED_AFTER_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Says once that a vendor has nothing left, and once that it has again: when somebody is served, or when the time has
 * come and nobody waits any more. Looking for the latter keeps no process alive.
 */
export class PoolExhaustion {
  readonly #untilMs = new Map<VendorName, number>();
  readonly #onEvent: (event: PoolEvent) => void;
  readonly #now: () => number;
  #looking: NodeJS.Timeout | null = null;

  constructor(onEvent: (event: PoolEvent) => void, now: () => number) {
    this.#onEvent = onEvent;
    this.#now = now;
  }

  /** The first of those who wait can go at this time. */
  servedFrom(vendor: VendorName, readyMs: number): void {
    const known = this.#untilMs.has(vendor);
    if (!known && readyMs <= this.#now() + EXHAUSTED_AFTER_MS) return;
    this.#untilMs.set(vendor, readyMs);
    if (!known) this.#onEvent({ type: 'exhausted', vendor, earliestMs: readyMs });
    this.#looking ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  served(vendor: VendorName): void {
    if (!this.#untilMs.delete(vendor)) return;
    this.#onEvent({ type: 'resumed', vendor });
    if (this.#untilMs.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }

  #look(): void {
    for (const [vendor, untilMs] of this.#untilMs) if (untilMs <= this.#now()) this.served(vendor);
  }
}
