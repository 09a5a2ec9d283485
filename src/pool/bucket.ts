import type { Reading } from './limits.ts';

/** What a request took from a bucket when it was sent. */
export interface Charge {
  bucket: Bucket;
  cost: number;
  /** The part of the cost that the vendor counts only at the end (output tokens). */
  later: number;
  sentMs: number;
}

/** A standing reserve in requests, raised when headers that were right came too late. */
const LEAST_RESERVE = 0.3;
const MOST_RESERVE = 8;
const RESERVE_STEP = 0.7;
const RESERVE_HALF_LIFE_MS = 240_000;
/** Cautious pacing after the headers proved wrong: this many requests at once. */
const PACED_BURST = 2;
/** How far a rate that was read, or remembered from an earlier run, is trusted against what refusals show. */
const READ_EVIDENCE = 50;
const REMEMBERED_EVIDENCE = 12;

/**
 * What is believed to be left of one limit: a bucket that refills continuously. States: unknown (everything passes and is
 * counted) → read (headers or the user name the limit) → paced (a refusal contradicted that, or there are no headers: the
 * refill is measured between refusals). Nothing that is learned goes above what the user configured.
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
  #mergedInto: Bucket | null = null;
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

  /** 0: empty, 1: full, so that whatever flows back is lost. */
  fullness(nowMs: number): number {
    if (this.#mode === 'unknown') return 1;
    this.#advance(nowMs);
    return Math.max(0, Math.min(1, this.#level / this.#burst));
  }

  readyAtMs(cost: number, nowMs: number): number {
    if (this.#mode === 'unknown') return nowMs;
    this.#advance(nowMs);
    // More than it ever holds passes when it is full: else such a request could never go.
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
    return { bucket: this, cost, later, sentMs: nowMs };
  }

  /** The request has ended and cost this much; null: as estimated. */
  correct(charge: Charge, actual: number | null, nowMs: number): void {
    if (this.#mergedInto !== null) return this.#mergedInto.correct(charge, actual, nowMs);
    this.#later -= charge.later;
    if (actual === null) return;
    this.#advance(nowMs);
    const more = actual - charge.cost;
    this.#level = Math.min(this.#burst, this.#level - more);
    this.#taken += more;
  }

  /** What the vendor says is left, without what the requests in flight will still use. */
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
   * Refused although it seemed to be there. The charge has been given back before. Returns how long to wait if the vendor
   * doesn't say.
   */
  refused(charge: Charge, hintMs: number | null, reading: Reading | null, nowMs: number): number {
    this.#advance(nowMs);
    // Sent before the last refusal came: it says nothing that is not known.
    const isKnown = charge.sentMs <= this.#lastRefusalMs;
    this.#lastRefusalMs = nowMs;
    // Nothing to go by: neither a hint nor enough that was admitted.
    const isClueless = hintMs === null && reading === null && this.#taken < 3 * this.#unit;
    if (this.#mode === 'unknown' && (isKnown || isClueless)) return 0;
    if (isKnown) {
      this.#refill?.refusedToo(this.#taken);
    } else {
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
    // A hint names the moment of one request: then it is enough for one, not before and not for two.
    const emptyLevel = hintMs === null ? 0 : charge.cost + this.#reserve * this.#unit - rate * hintMs;
    this.#level = Math.min(this.#level, emptyLevel);
    return Math.max(0, (charge.cost - this.#level) / rate);
  }

  /** Two groups turned out to be one: from now on the level is kept here. */
  absorb(other: Bucket): void {
    other.#mergedInto = this;
    this.#taken += other.#taken;
    this.#later += other.#later;
    if (other.#mode === 'unknown') return;
    if (this.#mode !== 'unknown') {
      this.#level = Math.min(this.#level, other.#level);
      return;
    }
    this.#mode = other.#mode;
    this.#perMs = other.#perMs;
    this.#burst = other.#burst;
    this.#level = other.#level;
    this.#atMs = other.#atMs;
    this.#refill = other.#refill;
  }

  #pace(charge: Charge, reading: Reading | null, hintMs: number | null, nowMs: number): void {
    this.#refill ??= this.#firstRate(charge, reading, hintMs, nowMs);
    // While nothing was known the level was not kept.
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
    // What was admitted so far includes the burst, most often a minute's worth.
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

/** Below the measured rate, so that an error of the measurement does not end in a refusal. */
const MARGIN = 0.98;

/** How many refusals are remembered: the rate is measured from the oldest of them, so a changed limit is found. */
const REMEMBERED = 12;

interface Measure {
  perMs: number;
  /** In usual requests: the relative error is about one over this. */
  evidence: number;
}

interface Empty {
  atMs: number;
  taken: number;
}

/**
 * Learns how fast a limit refills from refusals alone. The bucket was empty at each of them, so what was admitted
 * between two refusals is what flowed back in that time. Until the measurement is good, the pace creeps up within its
 * error, so that an estimate that was too low is corrected.
 */
export class RefillRate {
  #refusals: Empty[] = [];
  #measure: Measure;

  constructor(guess: Measure) {
    this.#measure = guess;
  }

  /** `taken`: all that was admitted so far; `unit`: what a usual request takes. */
  refused(nowMs: number, taken: number, unit: number): void {
    this.#refusals = [...this.#refusals, { atMs: nowMs, taken }].slice(-REMEMBERED);
    const first = this.#refusals[0];
    if (first === undefined || first.atMs >= nowMs) return;
    const admitted = taken - first.taken;
    const perMs = admitted / (nowMs - first.atMs);
    const evidence = admitted / unit;
    if (evidence >= 3) {
      const agrees = Math.abs(perMs / this.#measure.perMs - 1) <= 1 / evidence;
      if (!agrees || evidence > this.#measure.evidence) this.#measure = { perMs, evidence };
      return;
    }
    // Too little to measure by, but one more than was admitted would have been too many.
    const most = (admitted + unit) / (nowMs - first.atMs);
    this.#measure = { ...this.#measure, perMs: Math.min(this.#measure.perMs, most) };
  }

  /** Requests that had been counted at the last refusal turned out to be refused too. */
  refusedToo(taken: number): void {
    const last = this.#refusals.at(-1);
    if (last !== undefined) last.taken = Math.min(last.taken, taken);
  }

  perMs(taken: number, unit: number): number {
    const since = Math.max(0, taken - (this.#refusals.at(-1)?.taken ?? taken)) / unit;
    const { perMs, evidence } = this.#measure;
    // Nothing higher is tried before as much has passed as the measurement rests on.
    const progress = Math.max(0, since / Math.max(4, evidence) - 1);
    return perMs * (MARGIN + Math.min(0.5, 1 / evidence) * progress);
  }
}
