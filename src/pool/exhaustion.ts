import type { VendorName } from '../core/keys.ts';
import type { Outlook, PoolEvent } from './port.ts';

/** Nobody can be served for this long: the pool is exhausted, and says so. */
const EXHAUSTED_AFTER_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Says once that a vendor has nothing left, and once that it has again: when a caller is served, or when the time has
 * come and no caller waits any more. Looking for the latter keeps no process alive.
 */
export class PoolExhaustion {
  readonly #known = new Map<VendorName, { untilMs: number; reason: Outlook['reason'] }>();
  readonly #onEvent: (event: PoolEvent) => void;
  readonly #now: () => number;
  #looking: NodeJS.Timeout | null = null;

  constructor(onEvent: (event: PoolEvent) => void, now: () => number) {
    this.#onEvent = onEvent;
    this.#now = now;
  }

  /** The first of those who wait can go at this time. Said again when a refusal by the vendor comes on top of our own pace. */
  servedFrom(vendor: VendorName, readyMs: number, reasonOf: () => Outlook['reason']): void {
    const known = this.#known.get(vendor);
    if (known === undefined && readyMs <= this.#now() + EXHAUSTED_AFTER_MS) return;
    const found = known?.reason === 'quota' ? 'quota' : reasonOf();
    const isNews = known === undefined || (found === 'quota' && known.reason !== 'quota');
    const reason = isNews ? found : known.reason;
    this.#known.set(vendor, { untilMs: readyMs, reason });
    if (isNews) this.#onEvent({ type: 'exhausted', vendor, reason, earliestMs: readyMs });
    this.#looking ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  served(vendor: VendorName): void {
    const known = this.#known.get(vendor);
    if (known === undefined) return;
    this.#known.delete(vendor);
    this.#onEvent({ type: 'resumed', vendor, reason: known.reason });
    if (this.#known.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }

  #look(): void {
    for (const [vendor, { untilMs }] of this.#known) if (untilMs <= this.#now()) this.served(vendor);
  }
}
