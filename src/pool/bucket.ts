import type { Reading } from './limits/reading.ts';
import { RefillRate } from './refill-rate.ts';

/** What a request took from a bucket when it was sent. */
export interface Charge {
  bucket: Bucket;
  cost: number;
  /** The part of the cost that the vendor counts only at the end (output tokens). */
  later: number;
  sentMs: number;
  takenAtSend: number;
  laterAtSend: number;
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
 * counted) → read (headers name limit and remainder) → paced (a refusal contradicted the headers, or there are none: the
 * refill is measured between refusals). A configured one is fixed and learns nothing.
 */
export class Bucket {
  readonly #startMs: number;
  readonly #fixed: boolean;
  readonly #rememberedPerMinute: number | null;
  #mode: 'unknown' | 'read' | 'paced';
  #perMs = 0;
  #burst = Number.POSITIVE_INFINITY;
  #level = 0;
  #atMs: number;
  #refill: RefillRate | null = null;
  #taken = 0;
  #later = 0;
  #unit = 1;
  #mostRemaining = 0;
  #reserve = LEAST_RESERVE;
  #mergedInto: Bucket | null = null;
  #lastRefusalMs = Number.NEGATIVE_INFINITY;

  constructor(
    nowMs: number,
    known: { configuredPerMinute?: number | undefined; rememberedPerMinute?: number | null } = {},
  ) {
    const { configuredPerMinute, rememberedPerMinute = null } = known;
    this.#startMs = nowMs;
    this.#atMs = nowMs;
    this.#rememberedPerMinute = rememberedPerMinute;
    this.#fixed = configuredPerMinute !== undefined;
    this.#mode = 'unknown';
    if (configuredPerMinute !== undefined) {
      this.#mode = 'read';
      this.#perMs = configuredPerMinute / 60_000;
      this.#burst = configuredPerMinute;
      this.#level = configuredPerMinute;
    }
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
    return { bucket: this, cost, later, sentMs: nowMs, takenAtSend: this.#taken, laterAtSend: this.#later };
  }

  /** Where the level is kept now: two buckets that turned out to be one are kept in one of them. */
  get current(): Bucket {
    return this.#mergedInto?.current ?? this;
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

  /**
   * A vendor may write its headers when it admits a request or when it answers: of the two remainders that this can mean
   * now, the smaller one counts.
   */
  observe(reading: Reading, charge: Charge | null, nowMs: number): void {
    if (this.#fixed || this.#mode === 'paced' || reading.remaining === null) return;
    const first = this.#mode === 'unknown';
    this.#perMs = reading.perMinute / 60_000;
    this.#mode = 'read';
    this.#readBurst(reading, first);
    const { least, most } = reading.remaining;
    const sent = charge !== null && charge.bucket === this ? charge : null;
    const atAnswer = -this.#later;
    const atSend =
      sent === null
        ? atAnswer
        : this.#perMs * (nowMs - sent.sentMs) - (this.#taken - sent.takenAtSend) - sent.laterAtSend;
    const offset = Math.min(atAnswer, atSend);
    if (first) {
      this.#atMs = nowMs;
      this.#level = Math.min(this.#burst, least + offset);
      return;
    }
    this.#advance(nowMs);
    if (this.#level > most + offset) this.#level = Math.min(this.#burst, (least + most) / 2 + offset);
    else if (this.#level < least + offset) this.#level += 0.3 * (Math.min(this.#burst, least + offset) - this.#level);
  }

  /**
   * Refused although it seemed to be there. The charge has been given back before. Returns how long to wait if the vendor
   * doesn't say.
   */
  refused(charge: Charge, hintMs: number | null, reading: Reading | null, nowMs: number): number {
    this.#advance(nowMs);
    const sameSpell = charge.sentMs <= this.#lastRefusalMs;
    this.#lastRefusalMs = nowMs;
    // Nothing to go by: neither a hint nor enough that was admitted.
    const clueless = hintMs === null && reading === null && this.#taken < 3 * this.#unit;
    if (this.#mode === 'unknown' && (sameSpell || clueless)) return 0;
    if (sameSpell) {
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

  /** Two groups turned out to be one. */
  absorb(other: Bucket): void {
    other.#mergedInto = this;
    this.#taken += other.#taken;
    this.#later += other.#later;
    if (this.#mode === 'unknown' && other.#mode !== 'unknown') {
      this.#mode = other.#mode;
      this.#perMs = other.#perMs;
      this.#burst = other.#burst;
      this.#level = other.#level;
      this.#atMs = other.#atMs;
      this.#refill = other.#refill;
    } else if (other.#mode !== 'unknown') {
      this.#level = Math.min(this.#level, other.#level);
    }
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
    const bound = hintMs === null ? Number.POSITIVE_INFINITY : charge.cost / Math.max(1, finestHintMs(hintMs));
    const least = charge.cost / Math.max(1_000, hintMs ?? 60_000);
    return new RefillRate({ perMs: Math.max(Math.min(seen, bound), least), evidence: 2 });
  }

  #readBurst(reading: Reading, first: boolean): void {
    this.#mostRemaining = Math.max(this.#mostRemaining, reading.remaining?.most ?? 0);
    const burst = Math.max(reading.burst ?? reading.perMinute, this.#mostRemaining, 2 * this.#unit);
    this.#burst = first ? burst : this.#burst + 0.3 * (burst - this.#burst);
  }

  #ratePerMs(): number {
    if (this.#mode === 'paced' && this.#refill !== null) return this.#refill.perMs(this.#taken, this.#unit);
    return Math.max(this.#perMs, 1e-9);
  }

  #advance(nowMs: number): void {
    const passedMs = nowMs - this.#atMs;
    if (passedMs <= 0) return;
    this.#atMs = nowMs;
    this.#level = Math.min(this.#burst, this.#level + passedMs * this.#ratePerMs());
    this.#reserve = LEAST_RESERVE + (this.#reserve - LEAST_RESERVE) * 0.5 ** (passedMs / RESERVE_HALF_LIFE_MS);
  }
}

/** Whole seconds were rounded up: the true delay may be almost a second less. */
function finestHintMs(hintMs: number): number {
  return hintMs % 1_000 === 0 ? hintMs - 1_000 : hintMs;
}
