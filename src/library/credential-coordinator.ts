import { type Clock, systemClock } from '../core/clock.ts';
import type { VendorKey } from '../core/keys.ts';
import type { Secret } from '../core/secret.ts';

/** A key that is reserved for one holder. */
export interface Reservation {
  keyId: string;
  key: Secret;
}

interface SharedKey extends Reservation {
  held: Set<Reservation>;
  coolingUntilMs: number;
}

/** Timers can't be set for more than 24 days. */
const LONGEST_TIMER_MS = 3_600_000;

/**
 * Shares whole keys: a key is reserved, released, or reported as rate limited. Exhausted means that all keys are reserved: it ends
 * when a holder releases one. Rate limited means that all keys are cooling: it ends after some time.
 */
export class CredentialCoordinator {
  readonly #keys: readonly SharedKey[];
  readonly #holders: number;
  readonly #clock: Clock;
  readonly #lastKeys = new Map<string, string>();
  readonly #waiting = new Set<AbortController>();

  /** `holders`: how many may hold one key at a time. Default: 1. */
  constructor(options: {
    keys: readonly VendorKey[];
    holders?: number;
    /** Overrides the system clock, or parts of it. */
    clock?: Partial<Clock>;
  }) {
    // A key that is given twice is one key.
    const distinct = new Map(options.keys.map((key) => [key.secret.reveal(), key]));
    this.#keys = [...distinct.values()].map(({ id, secret }) => {
      return { keyId: id, key: secret, held: new Set(), coolingUntilMs: 0 };
    });
    this.#holders = options.holders ?? 1;
    this.#clock = { ...systemClock, ...options.clock };
  }

  /** A key for this workflow, preferably the one that it had before; null: none is free now. */
  reserve(workflow: string): Reservation | null {
    const free = this.#keys.filter((key) => this.#isFree(key));
    const leastHeld = free.toSorted((a, b) => a.held.size - b.held.size)[0];
    const chosen = free.find(({ keyId }) => keyId === this.#lastKeys.get(workflow)) ?? leastHeld;
    if (chosen === undefined) return null;
    const reservation = { keyId: chosen.keyId, key: chosen.key };
    chosen.held.add(reservation);
    this.#lastKeys.set(workflow, chosen.keyId);
    return reservation;
  }

  /** Idempotent. */
  release(reservation: Reservation): void {
    for (const key of this.#keys) key.held.delete(reservation);
    for (const waiting of this.#waiting) waiting.abort();
  }

  /** The vendor refused the key: it is released, and not used again before this delay. */
  reportRateLimit(reservation: Reservation, retryAfterMs: number): void {
    const key = this.#keys.find(({ held }) => held.has(reservation));
    if (key !== undefined) key.coolingUntilMs = Math.max(key.coolingUntilMs, this.#nowMs() + retryAfterMs);
    this.release(reservation);
  }

  availableCount(): number {
    return this.#keys.filter((key) => this.#isFree(key)).length;
  }

  /** Every key is reserved or cooling, and at least one is reserved. */
  isExhausted(): boolean {
    return this.availableCount() === 0 && !this.#keys.every((key) => this.#isCooling(key));
  }

  /** Every key is cooling. */
  isRateLimited(): boolean {
    return this.#keys.length > 0 && this.#keys.every((key) => this.#isCooling(key));
  }

  /** True as soon as a key can be reserved; false after the timeout. */
  async waitForAvailable(timeoutMs: number): Promise<boolean> {
    const endMs = this.#clock.now() + timeoutMs;
    while (this.availableCount() === 0) {
      const leftMs = endMs - this.#clock.now();
      if (leftMs <= 0) return false;
      const readyInMs = this.#keys.map(({ coolingUntilMs }) => coolingUntilMs - this.#nowMs()).filter((ms) => ms > 0);
      const waiting = new AbortController();
      this.#waiting.add(waiting);
      await this.#clock.sleep(Math.min(leftMs, LONGEST_TIMER_MS, ...readyInMs), waiting.signal);
      this.#waiting.delete(waiting);
    }
    return true;
  }

  /** Keys cool while this process is suspended, too. */
  #nowMs(): number {
    return this.#clock.now() + this.#clock.suspendedMs();
  }

  #isCooling({ coolingUntilMs }: SharedKey): boolean {
    return coolingUntilMs > this.#nowMs();
  }

  #isFree(key: SharedKey): boolean {
    return key.held.size < this.#holders && !this.#isCooling(key);
  }
}
