import { type Clock, systemClock } from '../core/clock.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import type { Secret } from '../core/secret.ts';
import { createCredentialPool, type PoolOptions } from '../pool/pool.ts';
import type { Lease, Pool, PoolEvent } from '../pool/port.ts';

/** A key that is reserved for one holder. */
export interface Reservation {
  keyId: string;
  key: Secret;
}

/**
 * The pool in the words of a coordinator that hands out whole keys: a key is reserved, released, or reported as rate
 * limited. Exhausted (all are reserved) and rate limited (those that are not have to rest) are two things: the first
 * ends when a holder is done, the second when time has passed.
 */
export class CredentialCoordinator {
  readonly #pool: Pool;
  readonly #vendor: VendorName;
  readonly #leases = new WeakMap<Reservation, Lease>();

  /** All keys are of one vendor. `holders`: how many may hold one key at a time, 1 unless said otherwise. */
  constructor(options: {
    keys: readonly VendorKey[];
    holders?: number;
    /** Instead of the system's; then events name times on it, and otherwise dates. */
    clock?: Partial<Clock>;
    onEvent?: PoolOptions['onEvent'];
  }) {
    this.#vendor = options.keys[0]?.vendor ?? 'anthropic';
    const { onEvent = () => undefined } = options;
    this.#pool = createCredentialPool({
      keys: options.keys,
      limits: { [this.#vendor]: { concurrency: options.holders ?? 1 } },
      clock: { ...systemClock, ...options.clock },
      random: Math.random,
      onEvent: options.clock === undefined ? (event) => onEvent(dated(event)) : onEvent,
    });
  }

  /** A key for this workflow, preferably the one that it had before; null when none is free now. */
  reserve(workflow: string): Reservation | null {
    const request = { vendor: this.#vendor, model: '', item: workflow, estimatedInputTokens: 0, deadlineMs: null };
    const lease = this.#pool.tryAcquire({ ...request, signal: new AbortController().signal });
    if (lease === null) return null;
    const reservation = { keyId: lease.keyId, key: lease.key };
    this.#leases.set(reservation, lease);
    return reservation;
  }

  /** Releasing twice is releasing once. */
  release(reservation: Reservation): void {
    this.#leases.get(reservation)?.finished(null);
  }

  /** The vendor refused it: the key is released and rests for as long as was asked for. */
  reportRateLimit(reservation: Reservation, retryAfterMs: number): void {
    const headers = { 'retry-after-ms': String(retryAfterMs) };
    this.#leases.get(reservation)?.answered({ status: 429, headers, body: null });
  }

  availableCount(): number {
    return this.#pool.counts(this.#vendor).available;
  }

  /** Every key that works is reserved or rests, and at least one is reserved. */
  isExhausted(): boolean {
    const { available, reserved } = this.#pool.counts(this.#vendor);
    return available === 0 && reserved > 0;
  }

  /** Every key that works has to rest. */
  isRateLimited(): boolean {
    const { live, cooling } = this.#pool.counts(this.#vendor);
    return live > 0 && cooling === live;
  }

  /** True as soon as a key can be reserved; false when the time is over. */
  waitForAvailable(timeoutMs: number): Promise<boolean> {
    return this.#pool.waitForAvailable(this.#vendor, timeoutMs);
  }
}

/** The clock of the process means nothing to the holder's program. */
function dated(event: PoolEvent): PoolEvent {
  const date = (ms: number): number => ms - systemClock.now() + systemClock.dateMs();
  if (event.type === 'key-cooling') return { ...event, untilMs: date(event.untilMs) };
  if (event.type !== 'exhausted' || event.earliestMs === null) return event;
  return { ...event, earliestMs: date(event.earliestMs) };
}
