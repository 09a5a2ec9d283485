import type { Reading } from './answer.ts';

/** What a request took from a bucket when it was sent. */
export interface Charge {
  cost: number;
  /** The part of the cost that the vendor counts only at the end (output tokens). */
  later: number;
  sentMs: number;
}

/** A standing reserve in requests. It is raised when correct headers came too late. */
const LEAST_RESERVE = 0.3;
const MOST_RESERVE = 8;
const RESERVE_STEP = 0.7;
const RESERVE_HALF_LIFE_MS = 240_000;
/** After the headers proved wrong, at most this many requests go at once. */
const PACED_BURST = 2;
/** How much a rate from headers, or from an earlier run, weighs against what refusals show. */
const READ_EVIDENCE = 50;
const REMEMBERED_EVIDENCE = 12;
/** Less admitted between two refusals measures nothing. */
const LEAST_EVIDENCE = 3;

/**
 * Our estimate of what is left of one limit: a bucket that refills continuously. States:
 *
 *   unknown   everything passes and is counted
 *   read      headers or the user name the limit
 *   paced     a refusal contradicted that, or there are no headers: the refill is measured between refusals
 *
 * unknown → read → paced. No learned rate exceeds what the user configured.
 */
export class Bucket {
  readonly #startMs: number;
  readonly #rememberedPerMinute: number | null;
  readonly #mostPerMinute: number;
  #mode: 'unknown' | 'read' | 'paced' = 'unknown';
  #perMs = 0;
  #burst = Number.POSITIVE_INFINITY;
  #level = 0;
  #atMs: number;
  #refill: RefillRate | null = null;
  #taken = 0;
  #later = 0;
  #unit = 1;
  #reserve = LEAST_RESERVE;
  #lastRefusalMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: number, configuredPerMinute: number | null, rememberedPerMinute: number | null) {
    this.#startMs = nowMs;
    this.#atMs = nowMs;
    this.#rememberedPerMinute = rememberedPerMinute;
    this.#mostPerMinute = configuredPerMinute ?? Number.POSITIVE_INFINITY;
    if (configuredPerMinute === null) return;
    this.#mode = 'read';
    this.#perMs = configuredPerMinute / 60_000;
    this.#burst = configuredPerMinute;
    this.#level = configuredPerMinute;
  }

  get perMinute(): number | null {
    return this.#mode === 'unknown' ? this.#rememberedPerMinute : this.#ratePerMs() * 60_000;
  }

  readyAtMs(cost: number, nowMs: number): number {
    if (this.#mode === 'unknown') return nowMs;
    this.#advance(nowMs);
    // A request larger than the bucket goes when the bucket is full; otherwise it could never go.
    const needed = Math.min(cost + this.#reserve * this.#unit, this.#burst * 0.98);
    if (this.#level >= needed) return nowMs;
    return nowMs + (needed - this.#level) / this.#ratePerMs();
  }

  take(cost: number, later: number, nowMs: number): Charge {
    this.#advance(nowMs);
    this.#unit += (cost - this.#unit) * (this.#taken === 0 ? 1 : 0.05);
    this.#level -= cost;
    this.#taken += cost;
    this.#later += later;
    return { cost, later, sentMs: nowMs };
  }

  /** The request has ended and cost this much; null: as estimated. */
  correct(charge: Charge, actual: number | null, nowMs: number): void {
    // A charge of a key whose group was merged into this one was never added here.
    this.#later = Math.max(0, this.#later - charge.later);
    if (actual === null) return;
    this.#advance(nowMs);
    const more = actual - charge.cost;
    this.#level = Math.min(this.#burst, this.#level - more);
    this.#taken += more;
  }

  /** The vendor says what is left; requests in flight will still use some of it. */
  observe({ perMinute, remaining, burst }: Reading, nowMs: number): void {
    if (this.#mode === 'paced' || remaining === null) return;
    const isFirst = this.#mode === 'unknown';
    this.#advance(nowMs);
    this.#mode = 'read';
    this.#perMs = Math.min(perMinute, this.#mostPerMinute) / 60_000;
    const most = Math.max(burst ?? perMinute, remaining.most, 2 * this.#unit);
    this.#burst = Math.min(most, this.#mostPerMinute);
    const least = Math.min(this.#burst, remaining.least - this.#later);
    if (isFirst) this.#level = least;
    else if (this.#level > remaining.most - this.#later) {
      this.#level = Math.min(this.#burst, (remaining.least + remaining.most) / 2 - this.#later);
    } else if (this.#level < least) this.#level += 0.3 * (least - this.#level);
  }

  /**
   * The vendor refused a request that we thought would fit. Its charge was given back before. Returns how long to wait if the
   * vendor doesn't say.
   */
  refused(charge: Charge, hintMs: number | null, reading: Reading | null, nowMs: number): number {
    this.#advance(nowMs);
    // Sent before the last refusal arrived: it tells us nothing new.
    const isKnown = charge.sentMs <= this.#lastRefusalMs;
    this.#lastRefusalMs = nowMs;
    // Nothing to learn from: no hint, and too few requests were admitted.
    const isClueless = hintMs === null && reading === null && this.#taken < 3 * this.#unit;
    if (this.#mode === 'unknown' && (isKnown || isClueless)) return 0;
    if (!isKnown) {
      const left = reading?.remaining ?? null;
      const contradicted =
        left !== null ? left.least >= charge.cost + this.#unit : this.#level > charge.cost + 2 * this.#unit;
      if (this.#mode === 'read' && !contradicted) {
        this.#reserve = Math.min(MOST_RESERVE, this.#burst / this.#unit / 4, this.#reserve + RESERVE_STEP);
      } else {
        this.#pace(charge, reading, hintMs, nowMs);
      }
    }
    const rate = this.#ratePerMs();
    // A hint names the moment when there is enough for one request, not for two.
    const emptyLevel = hintMs === null ? 0 : charge.cost + this.#reserve * this.#unit - rate * hintMs;
    this.#level = Math.min(this.#level, emptyLevel);
    return Math.max(0, (charge.cost - this.#level) / rate);
  }

  #pace(charge: Charge, reading: Reading | null, hintMs: number | null, nowMs: number): void {
    this.#refill ??= this.#firstRate(charge, reading, hintMs, nowMs);
    // While the limit was unknown, the level was not kept.
    if (this.#mode === 'unknown') this.#level = Number.POSITIVE_INFINITY;
    this.#mode = 'paced';
    this.#refill.refused(nowMs, this.#taken, this.#unit);
    this.#burst = PACED_BURST * Math.max(this.#unit, charge.cost);
  }

  #firstRate(charge: Charge, reading: Reading | null, hintMs: number | null, nowMs: number): RefillRate {
    const read = reading?.perMinute ?? (this.#mode === 'read' ? this.#perMs * 60_000 : null);
    if (read !== null) return new RefillRate({ perMs: read / 60_000, evidence: READ_EVIDENCE });
    if (this.#rememberedPerMinute !== null) {
      return new RefillRate({ perMs: this.#rememberedPerMinute / 60_000, evidence: REMEMBERED_EVIDENCE });
    }
    // What was admitted so far includes the burst, which is most often a minute's worth.
    const sinceMs = Math.max(1_000, nowMs - this.#startMs);
    const seen = (this.#taken / sinceMs) * Math.max(0.35, sinceMs / (60_000 + sinceMs));
    const bound = hintMs === null ? Number.POSITIVE_INFINITY : charge.cost / Math.max(1, hintMs);
    const least = charge.cost / Math.max(1_000, hintMs ?? 60_000);
    return new RefillRate({ perMs: Math.max(Math.min(seen, bound), least), evidence: 2 });
  }

  #ratePerMs(): number {
    const measured = this.#mode === 'paced' ? this.#refill?.perMs(this.#taken, this.#unit) : undefined;
    return Math.max(Math.min(measured ?? this.#perMs, this.#mostPerMinute / 60_000), 1e-9);
  }

  #advance(nowMs: number): void {
    const passedMs = nowMs - this.#atMs;
    if (passedMs <= 0) return;
    this.#atMs = nowMs;
    this.#level = Math.min(this.#burst, this.#level + passedMs * this.#ratePerMs());
    this.#reserve = LEAST_RESERVE + (this.#reserve - LEAST_RESERVE) * 0.5 ** (passedMs / RESERVE_HALF_LIFE_MS);
  }
}

/** Stay below the measured rate, so that a measurement error does not cause a refusal. */
const MARGIN = 0.98;

/** How many refusals are remembered. The rate is measured since the oldest of them, so a changed limit is noticed. */
const REMEMBERED = 12;

interface Measure {
  perMs: number;
  /** In usual requests. The relative error is about one divided by this. */
  evidence: number;
}

interface Empty {
  atMs: number;
  taken: number;
}

/**
 * Learns from refusals alone how fast a limit refills. The bucket was empty at each refusal, so the amount admitted between two
 * refusals is the refill in that time. Until the measurement is good, the pace creeps up within its error, so that an estimate
 * that is too low is corrected.
 */
export class RefillRate {
  #refusals: Empty[] = [];
  #measure: Measure;

  constructor(guess: Measure) {
    this.#measure = guess;
  }

  /** `taken`: the amount admitted so far; `unit`: the amount of a usual request. */
  refused(nowMs: number, taken: number, unit: number): void {
    this.#refusals = [...this.#refusals, { atMs: nowMs, taken }].slice(-REMEMBERED);
    const first = this.#refusals[0];
    if (first === undefined || first.atMs >= nowMs) return;
    const admitted = taken - first.taken;
    const perMs = admitted / (nowMs - first.atMs);
    const evidence = admitted / unit;
    if (evidence >= LEAST_EVIDENCE) {
      const agrees = Math.abs(perMs / this.#measure.perMs - 1) <= 1 / evidence;
      if (!agrees || evidence > this.#measure.evidence) this.#measure = { perMs, evidence };
      return;
    }
    // Too little to measure, but one request more than was admitted would have been too many.
    const most = (admitted + unit) / (nowMs - first.atMs);
    this.#measure = { ...this.#measure, perMs: Math.min(this.#measure.perMs, most) };
  }

  perMs(taken: number, unit: number): number {
    const since = Math.max(0, taken - (this.#refusals.at(-1)?.taken ?? taken)) / unit;
    const { perMs, evidence } = this.#measure;
    // Don't try a higher rate before as much was admitted as the measurement is based on.
    const progress = Math.max(0, since / Math.max(4, evidence) - 1);
    return perMs * (MARGIN + Math.min(0.5, 1 / evidence) * progress);
  }
}
