import { HeaderTiming } from './header-timing.ts';
import type { Reading } from './reading.ts';
import { type Measure, RefillRate } from './refill-rate.ts';

/** A request's share of an allowance, from the moment it was sent. */
export interface Share {
  allowance: Allowance;
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
const RESERVE_HALF_LIFE_MS = 120_000;
/** Cautious pacing after the headers proved wrong: this many requests at once. */
const PACED_BURST = 2;

/**
 * What is believed to be left of one limit: a bucket that refills continuously. States: unknown (everything is let
 * through and counted) → read (headers name limit and remainder) → paced (a refusal contradicted the headers, or there
 * are none: the refill is measured between refusals). A configured one is fixed and learns nothing.
 */
export class Allowance {
  readonly #startMs: number;
  readonly #fixed: boolean;
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
  #into: Allowance | null = null;
  #lastRefusalMs = Number.NEGATIVE_INFINITY;
  readonly #timing = new HeaderTiming();

  constructor(nowMs: number, configuredPerMinute: number | null = null) {
    this.#startMs = nowMs;
    this.#atMs = nowMs;
    this.#fixed = configuredPerMinute !== null;
    this.#mode = 'unknown';
    if (configuredPerMinute !== null) {
      this.#mode = 'read';
      this.#perMs = configuredPerMinute / 60_000;
      this.#burst = configuredPerMinute;
      this.#level = configuredPerMinute;
    }
  }

  get perMinute(): number | null {
    return this.#mode === 'unknown' ? null : this.#ratePerMs() * 60_000;
  }

  /** For a sibling that has to guess. */
  get learned(): Measure | null {
    if (this.#mode === 'read') return { perMs: this.#perMs, evidence: 50 };
    return this.#refill?.known ?? null;
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

  take(cost: number, later: number, nowMs: number): Share {
    this.#advance(nowMs);
    this.#unit += (cost - this.#unit) * (this.#taken === 0 ? 1 : 0.05);
    this.#level -= cost;
    this.#taken += cost;
    this.#later += later;
    return { allowance: this, cost, later, sentMs: nowMs, takenAtSend: this.#taken, laterAtSend: this.#later };
  }

  /** Where it is kept now: two that turned out to be one are kept in one of them. */
  get current(): Allowance {
    return this.#into?.current ?? this;
  }

  /** The request has ended: it cost this in truth; null: as estimated. */
  settle(share: Share, actual: number | null, nowMs: number): void {
    if (this.#into !== null) return this.#into.settle(share, actual, nowMs);
    this.#later -= share.later;
    if (actual === null) return;
    this.#advance(nowMs);
    const more = actual - share.cost;
    this.#level = Math.min(this.#burst, this.#level - more);
    this.#taken += more;
  }

  observe(reading: Reading, share: Share | null, nowMs: number): void {
    if (this.#fixed || this.#mode === 'paced' || reading.remaining === null) return;
    const first = this.#mode === 'unknown';
    this.#perMs = reading.perMinute / 60_000;
    this.#mode = 'read';
    this.#readBurst(reading, first);
    const { least, most } = reading.remaining;
    const middle = (least + most) / 2;
    const sent = share !== null && share.allowance === this ? share : null;
    const atAnswer = -this.#later;
    const atSend =
      sent === null
        ? atAnswer
        : this.#perMs * (nowMs - sent.sentMs) - (this.#taken - sent.takenAtSend) - sent.laterAtSend;
    const asOf = this.#timing.read({
      remaining: middle,
      full: middle >= this.#burst - this.#unit,
      perMs: this.#perMs,
      answer: { atMs: nowMs, charged: this.#taken - this.#later },
      send: sent === null ? null : { atMs: sent.sentMs, charged: sent.takenAtSend - sent.laterAtSend },
    });
    const offset = asOf === null ? Math.min(atAnswer, atSend) : asOf === 'answer' ? atAnswer : atSend;
    if (first) {
      this.#atMs = nowMs;
      this.#level = Math.min(this.#burst, least + offset);
      return;
    }
    this.#advance(nowMs);
    if (this.#level > most + offset) this.#level = Math.min(this.#burst, middle + offset);
    else if (this.#level < least + offset) this.#level += 0.3 * (Math.min(this.#burst, least + offset) - this.#level);
  }

  /**
   * Refused although it seemed to be there. The share has been given back before. Returns how long to wait if the
   * vendor doesn't say.
   */
  refused(
    share: Share,
    refusal: { hintMs: number | null; reading: Reading | null; siblings: readonly Measure[] },
    nowMs: number,
  ): number {
    this.#advance(nowMs);
    const { hintMs, reading, siblings } = refusal;
    const sameSpell = share.sentMs <= this.#lastRefusalMs;
    this.#lastRefusalMs = nowMs;
    // Nothing to go by: neither a hint nor enough that was let in.
    const clueless = hintMs === null && reading === null && this.#taken < 3 * this.#unit;
    if (this.#mode === 'unknown' && (sameSpell || clueless)) return 0;
    if (sameSpell) {
      this.#refill?.refusedToo(this.#taken);
    } else {
      const left = reading?.remaining ?? null;
      const contradicted =
        left !== null ? left.least >= share.cost + this.#unit : this.#level > share.cost + 2 * this.#unit;
      if (this.#mode === 'read' && !contradicted) {
        this.#reserve = Math.min(MOST_RESERVE, this.#burst / this.#unit / 4, this.#reserve + RESERVE_STEP);
      } else {
        this.#pace(share, reading, hintMs, siblings, nowMs);
      }
    }
    const rate = this.#ratePerMs();
    // A hint names the moment of one request: then it is enough for one, not before and not for two.
    const emptyLevel = hintMs === null ? 0 : share.cost + this.#reserve * this.#unit - rate * hintMs;
    this.#level = Math.min(this.#level, emptyLevel);
    return Math.max(0, (share.cost - this.#level) / rate);
  }

  /** Two groups turned out to be one. */
  absorb(other: Allowance): void {
    other.#into = this;
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

  #pace(
    share: Share,
    reading: Reading | null,
    hintMs: number | null,
    siblings: readonly Measure[],
    nowMs: number,
  ): void {
    if (this.#refill === null) {
      const told = reading?.perMinute ?? (this.#mode === 'read' ? this.#perMs * 60_000 : null);
      // What was let in so far includes the burst, most often a minute's worth.
      const sinceMs = Math.max(1_000, nowMs - this.#startMs);
      const seen = (this.#taken / sinceMs) * Math.max(0.35, sinceMs / (60_000 + sinceMs));
      const bound = hintMs === null ? Number.POSITIVE_INFINITY : share.cost / Math.max(1, finestHintMs(hintMs));
      const least = share.cost / Math.max(1_000, hintMs ?? 60_000);
      const [sibling] = siblings;
      if (told !== null) this.#refill = new RefillRate({ perMs: told / 60_000, evidence: 50 });
      else if (sibling !== undefined)
        this.#refill = new RefillRate({ ...sibling, evidence: Math.min(12, sibling.evidence) });
      else this.#refill = new RefillRate({ perMs: Math.max(Math.min(seen, bound), least), evidence: 2 });
    }
    // While nothing was known the level was not kept.
    if (this.#mode === 'unknown') this.#level = Number.POSITIVE_INFINITY;
    this.#mode = 'paced';
    this.#refill.refused(nowMs, this.#taken, this.#unit, siblings);
    this.#burst = PACED_BURST * Math.max(this.#unit, share.cost);
  }

  #readBurst(reading: Reading, first: boolean): void {
    this.#mostRemaining = Math.max(this.#mostRemaining, reading.remaining?.most ?? 0);
    const burst = Math.max(reading.burst ?? reading.perMinute, this.#mostRemaining, 2 * this.#unit);
    this.#burst = first ? burst : this.#burst + 0.3 * (burst - this.#burst);
  }

  #ratePerMs(): number {
    if (this.#mode === 'paced' && this.#refill !== null) return this.#refill.perMs(this.#taken, this.#unit);
    return Math.max(this.#perMs - this.#timing.othersPerMs(this.#perMs), 1e-9);
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
