import { type Clock, systemClock } from '../core/clock.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import type { Secret } from '../core/secret.ts';
import { createCredentialPool, type PoolOptions } from '../pool/pool.ts';
import type { Lease, Pool } from '../pool/port.ts';

/** A key that is reserved for one holder. */
export interface Reservation {
  keyId: string;
  key: Secret;
}

/**
 * The pool as a coordinator of whole keys: a key is reserved, released, or reported as rate limited. Exhausted means that all keys
 * are reserved: it ends when a holder releases one. Rate limited means that all keys are cooling: it ends after some time.
 */
export class CredentialCoordinator {
  readonly #pool: Pool;
  readonly #vendor: VendorName;
  readonly #leases = new WeakMap<Reservation, Lease>();

  /** All keys belong to one vendor. `holders`: how many may hold one key at a time. Default: 1. */
  constructor(options: {
    keys: readonly VendorKey[];
    holders?: number;
    /** Overrides the system clock, or parts of it. */
    clock?: Partial<Clock>;
    onEvent?: PoolOptions['onEvent'];
  }) {
    this.#vendor = options.keys[0]?.vendor ?? 'anthropic';
    this.#pool = createCredentialPool({
      keys: options.keys,
      limits: { [this.#vendor]: { concurrency: options.holders ?? 1 } },
      clock: { ...systemClock, ...options.clock },
      random: Math.random,
      onEvent: options.onEvent ?? (() => undefined),
    });
  }

  /** A key for this workflow, preferably the one that it had before; null: none is free now. */
  reserve(workflow: string): Reservation | null {
    const request = { vendor: this.#vendor, model: '', item: workflow, estimatedInputTokens: 0, deadlineMs: null };
    const lease = this.#pool.tryAcquire({ ...request, signal: new AbortController().signal });
    if (lease === null) return null;
    const reservation = { keyId: lease.keyId, key: lease.key };
    this.#leases.set(reservation, lease);
    return reservation;
  }

  /** Idempotent. */
  release(reservation: Reservation): void {
    this.#leases.get(reservation)?.finished(null);
  }

  /** The vendor refused the key: it is released, and not used again before this delay. */
  reportRateLimit(reservation: Reservation, retryAfterMs: number): void {
    const headers = { 'retry-after-ms': String(retryAfterMs) };
    this.#leases.get(reservation)?.answered({ status: 429, headers, body: null });
  }

  availableCount(): number {
    return this.#pool.counts(this.#vendor).available;
  }

  /** Every working key is reserved or cooling, and at least one is reserved. */
  isExhausted(): boolean {
    const { available, reserved } = this.#pool.counts(this.#vendor);
    return available === 0 && reserved > 0;
  }

  /** Every working key is cooling. */
  isRateLimited(): boolean {
    const { live, cooling } = this.#pool.counts(this.#vendor);
    return live > 0 && cooling === live;
  }

  /** True as soon as a key can be reserved; false after the timeout. */
  waitForAvailable(timeoutMs: number): Promise<boolean> {
    return this.#pool.waitForAvailable(this.#vendor, timeoutMs);
  }
}
