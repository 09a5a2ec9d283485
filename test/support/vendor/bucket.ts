import type { BucketView } from './quota.ts';

export interface BucketOptions {
  perMinute: number;
  /** How much it holds; without it, a minute's worth. */
  burst?: number;
  /**
   * Somebody else who draws on it: at random moments, `quantum` each time, on average this share of the rate. They get
   * it even when it is not there, so that nobody can win it back from them by asking more often.
   */
  background?: { share: number; quantum: number; random: () => number };
}

/**
 * A token bucket that refills continuously. Its level may fall below zero: what an answer has cost is only known when
 * it is there. Times must not go backwards.
 */
export class Bucket {
  readonly limit: number;
  readonly #rate: number;
  readonly #capacity: number;
  readonly #background: BucketOptions['background'];
  #level: number;
  #atMs: number;
  #nextDrawMs: number;

  constructor(options: BucketOptions, nowMs: number) {
    this.limit = options.perMinute;
    this.#rate = options.perMinute / 60_000;
    this.#capacity = options.burst ?? options.perMinute;
    this.#background = options.background;
    this.#level = this.#capacity;
    this.#atMs = nowMs;
    this.#nextDrawMs = nowMs + this.#drawIntervalMs();
  }

  /** More than it can hold is admitted when it is full: else such a request could never pass. */
  has(amount: number, nowMs: number): boolean {
    this.#advance(nowMs);
    return this.#level >= Math.min(amount, this.#capacity);
  }

  waitMs(amount: number, nowMs: number): number {
    this.#advance(nowMs);
    return Math.max(0, (Math.min(amount, this.#capacity) - this.#level) / this.#rate);
  }

  /** A negative amount gives back. */
  take(amount: number, nowMs: number): void {
    this.#advance(nowMs);
    this.#level = Math.min(this.#capacity, this.#level - amount);
  }

  /** Takes what a refused request costs: no debt arises, but whoever goes on asking keeps the bucket empty. */
  punish(amount: number, nowMs: number): void {
    this.#advance(nowMs);
    if (this.#level > 0) this.#level = Math.max(0, this.#level - amount);
  }

  view(nowMs: number): BucketView {
    this.#advance(nowMs);
    return { limit: this.limit, remaining: this.#level, resetMs: (this.#capacity - this.#level) / this.#rate };
  }

  #advance(nowMs: number): void {
    while (this.#background !== undefined && this.#nextDrawMs <= nowMs) {
      this.#refill(this.#nextDrawMs);
      this.#level -= this.#background.quantum;
      this.#nextDrawMs += this.#drawIntervalMs();
    }
    this.#refill(nowMs);
  }

  #refill(toMs: number): void {
    if (toMs <= this.#atMs) return;
    this.#level = Math.min(this.#capacity, this.#level + (toMs - this.#atMs) * this.#rate);
    this.#atMs = toMs;
  }

  #drawIntervalMs(): number {
    if (this.#background === undefined) return Number.POSITIVE_INFINITY;
    const { share, quantum, random } = this.#background;
    return (-Math.log(1 - random()) * quantum) / (share * this.#rate);
  }
}
