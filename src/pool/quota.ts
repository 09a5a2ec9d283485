import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { Bucket, type Charge } from './bucket.ts';
import { type AnswerLimits, DIMENSIONS, type Dimension } from './limits.ts';
import type { CoolingReason, LearnedLimits } from './port.ts';

/** Limits that the user knows. The others are learned. */
export interface RateLimits {
  requestsPerMinute?: number | undefined;
  /** Input and output together. */
  tokensPerMinute?: number | undefined;
  inputTokensPerMinute?: number | undefined;
  outputTokensPerMinute?: number | undefined;
  concurrency?: number | undefined;
}

/** What one request holds of a model's quota until it has ended. */
export interface Charges extends Record<Dimension, Charge> {
  estimatedInput: number;
}

interface QuotaOptions {
  vendor: VendorName;
  limits: RateLimits;
  remembered: LearnedLimits | null;
  /** 0 ≤ random < 1. */
  random: () => number;
}

const FIRST_OUTPUT_GUESS = 200;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** A delay as long as this is no pause between requests, but a quota per hour or day that is used up. */
const QUOTA_DELAY_MS = 600_000;

/** Whose quota it is: one or several keys, a limit on requests in flight, and a quota for each model. */
export class QuotaGroup {
  readonly id: string;
  readonly concurrency: ConcurrencyLimit;
  readonly #options: QuotaOptions;
  readonly #models = new Map<string, ModelQuota>();
  organisation: string | null = null;
  inFlight = 0;

  constructor(id: string, options: QuotaOptions) {
    this.id = id;
    this.#options = options;
    this.concurrency = new ConcurrencyLimit(
      options.limits.concurrency ?? null,
      options.remembered?.concurrency ?? null,
    );
  }

  of(model: string, nowMs: number): ModelQuota {
    const known = this.#models.get(model) ?? new ModelQuota(this.#options, nowMs);
    this.#models.set(model, known);
    return known;
  }

  get models(): ModelQuota[] {
    return [...this.#models.values()];
  }

  get remembered(): LearnedLimits | null {
    return this.#options.remembered;
  }

  /** The other group's requests in flight are counted here from now on. */
  absorb(other: QuotaGroup, nowMs: number): void {
    this.inFlight += other.inFlight;
    this.concurrency.absorb(other.concurrency);
    for (const [model, quota] of other.#models) this.of(model, nowMs).absorb(quota);
  }
}

/** The limits of one model within one quota group: vendors count most of them per model. */
export class ModelQuota {
  readonly #vendor: VendorName;
  readonly #random: () => number;
  readonly #buckets: Record<Dimension, Bucket>;
  #blocked: { untilMs: number; why: CoolingReason } | null = null;
  #refusals = 0;
  #usualOutput: number | null = null;
  /** Real input tokens per estimated one. */
  #inputFactor = 1;

  constructor({ vendor, limits, remembered, random }: QuotaOptions, nowMs: number) {
    this.#vendor = vendor;
    this.#random = random;
    const bucket = (configured: number | undefined, learned: number | null = null): Bucket =>
      new Bucket(nowMs, configured ?? null, learned);
    this.#buckets = {
      requests: bucket(limits.requestsPerMinute, remembered?.requestsPerMinute),
      tokens: bucket(limits.tokensPerMinute, remembered?.tokensPerMinute),
      'input-tokens': bucket(limits.inputTokensPerMinute),
      'output-tokens': bucket(limits.outputTokensPerMinute),
    };
  }

  /** Null: not known. */
  perMinute(dimension: Dimension): number | null {
    return this.#buckets[dimension].perMinute;
  }

  blocked(nowMs: number): { untilMs: number; why: CoolingReason } | null {
    return this.#blocked !== null && this.#blocked.untilMs > nowMs ? this.#blocked : null;
  }

  readyAtMs(estimatedInput: number, nowMs: number): number {
    let readyMs = this.blocked(nowMs)?.untilMs ?? nowMs;
    for (const dimension of DIMENSIONS) {
      const { cost } = this.#cost(dimension, estimatedInput);
      readyMs = Math.max(readyMs, this.#buckets[dimension].readyAtMs(cost, nowMs));
    }
    return readyMs;
  }

  /** How near to running over, so that refill is lost: that of the scarcest limit. */
  fullness(nowMs: number): number {
    return Math.min(...Object.values(this.#buckets).map((bucket) => bucket.fullness(nowMs)));
  }

  /** In tokens, what a request of this size is expected to use in all. */
  expectedTokens(estimatedInput: number): number {
    return this.#cost('tokens', estimatedInput).cost;
  }

  take(estimatedInput: number, nowMs: number): Charges {
    const charge = (dimension: Dimension): Charge => {
      const { cost, later } = this.#cost(dimension, estimatedInput);
      return this.#buckets[dimension].take(cost, later, nowMs);
    };
    return {
      estimatedInput,
      requests: charge('requests'),
      tokens: charge('tokens'),
      'input-tokens': charge('input-tokens'),
      'output-tokens': charge('output-tokens'),
    };
  }

  observe(readings: AnswerLimits['readings'], nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const reading = readings[dimension];
      if (reading !== undefined) this.#buckets[dimension].observe(reading, nowMs);
    }
  }

  admitted(): void {
    this.#refusals = 0;
  }

  /** The request has ended and used this; null: as estimated. */
  finish(charges: Charges, usage: Usage | null, nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const charge = charges[dimension];
      charge.bucket.correct(charge, usage === null ? null : this.#used(dimension, usage), nowMs);
    }
    if (usage === null) return;
    this.#usualOutput = (this.#usualOutput ?? usage.outputTokens) * 0.9 + usage.outputTokens * 0.1;
    if (charges.estimatedInput > 0 && usage.inputTokens > 0) {
      const factor = Math.min(4, Math.max(0.25, usage.inputTokens / charges.estimatedInput));
      this.#inputFactor = this.#inputFactor * 0.9 + factor * 0.1;
    }
  }

  /** Nothing was counted by the vendor; or only the request itself was. */
  giveBack(charges: Charges, what: 'all' | 'tokens', nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const charge = charges[dimension];
      charge.bucket.correct(charge, dimension === 'requests' && what === 'tokens' ? null : 0, nowMs);
    }
  }

  /** Refused for lack of quota, after its charges were given back. Returns until when nothing is sent, and why. */
  refused(
    charges: Charges,
    { dimension, limits, hintMs }: { dimension: Dimension; limits: AnswerLimits; hintMs: number | null },
    nowMs: number,
  ): { untilMs: number; why: CoolingReason } {
    const far = hintMs !== null && hintMs >= QUOTA_DELAY_MS;
    this.observe(limits.readings, nowMs);
    // A quota of another period says nothing about the limit per minute.
    const waitMs = far
      ? 0
      : this.#buckets[dimension].refused(charges[dimension], hintMs, limits.readings[dimension] ?? null, nowMs);
    const untilMs = nowMs + (hintMs ?? Math.max(waitMs, this.#backoffMs()));
    this.#refusals += 1;
    return this.block(untilMs, far ? 'quota' : dimension === 'requests' ? 'rate' : 'tokens');
  }

  /** Never shortens what was asked for before. */
  block(untilMs: number, why: CoolingReason): { untilMs: number; why: CoolingReason } {
    if (this.#blocked === null || this.#blocked.untilMs < untilMs) this.#blocked = { untilMs, why };
    return this.#blocked;
  }

  absorb(other: ModelQuota): void {
    for (const dimension of DIMENSIONS) this.#buckets[dimension].absorb(other.#buckets[dimension]);
    if ((other.#blocked?.untilMs ?? 0) > (this.#blocked?.untilMs ?? 0)) this.#blocked = other.#blocked;
    this.#usualOutput ??= other.#usualOutput;
  }

  #cost(dimension: Dimension, estimatedInput: number): { cost: number; later: number } {
    const input = estimatedInput * this.#inputFactor;
    const output = this.#usualOutput ?? FIRST_OUTPUT_GUESS;
    switch (dimension) {
      case 'requests':
        return { cost: 1, later: 0 };
      case 'tokens':
        return { cost: input + output, later: output };
      case 'input-tokens':
        return { cost: input, later: 0 };
      case 'output-tokens':
        return { cost: output, later: output };
    }
  }

  #used(dimension: Dimension, usage: Usage): number {
    // OpenAI counts what came from the prompt cache, the others don't.
    const cached = this.#vendor === 'anthropic' || this.#vendor === 'google' ? usage.cacheReadTokens : 0;
    const input = Math.max(0, usage.inputTokens - cached);
    switch (dimension) {
      case 'requests':
        return 1;
      case 'tokens':
        return input + usage.outputTokens;
      case 'input-tokens':
        return input;
      case 'output-tokens':
        return usage.outputTokens;
    }
  }

  /** For a refusal that doesn't say when to come again. */
  #backoffMs(): number {
    const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#refusals);
    return longest * (0.5 + this.#random() / 2);
  }
}

const FIRST_LIMIT = 3;
const FAST_UNTIL = 8;
const FIRST_PROBE_MS = 60_000;
const LONGEST_PROBE_MS = 16 * FIRST_PROBE_MS;

/** So many have to pass above the ceiling before it is raised: one may have slipped in as another ended. */
const PROOFS = 3;

interface Ceiling {
  at: number;
  probeAtMs: number;
  waitMs: number;
  proofs: number;
}

/**
 * How many requests may be in flight at once; no vendor says so before it refuses one. It grows only while it is what
 * holds requests back: by one for each success at first, then by about one a round. A refusal sets a ceiling, above
 * which one more is tried after 60 s, 120 s, …
 */
class ConcurrencyLimit {
  readonly #fixed: number;
  #limit: number;
  #ceiling: Ceiling | null = null;
  #heldBack = false;
  #mostSucceeded = 0;

  /** `remembered`: what an earlier run ran into. It is a ceiling like any other, and probed soon. */
  constructor(fixed: number | null, remembered: number | null) {
    this.#fixed = fixed ?? Number.POSITIVE_INFINITY;
    this.#limit = fixed ?? Math.min(FIRST_LIMIT, remembered ?? FIRST_LIMIT);
    if (fixed === null && remembered !== null) {
      this.#ceiling = { at: remembered, probeAtMs: 0, waitMs: 0, proofs: 0 };
    }
  }

  get limit(): number {
    return Math.floor(this.#limit);
  }

  /** What a refusal showed or the user configured; null while nothing has. */
  get known(): number | null {
    return Number.isFinite(this.#fixed) ? this.#fixed : (this.#ceiling?.at ?? null);
  }

  /** Would a refusal at this many mean that there were too many at once? Only where that many is new. */
  suspects(inFlight: number): boolean {
    return inFlight > 1 && (this.known === null ? inFlight >= this.#mostSucceeded - 1 : inFlight > this.known);
  }

  /** A request could go now but for this limit. */
  heldBack(): void {
    this.#heldBack = true;
  }

  succeeded(inFlight: number, nowMs: number): void {
    this.#mostSucceeded = Math.max(this.#mostSucceeded, inFlight);
    this.#prove(inFlight);
    if (!this.#heldBack) return;
    this.#heldBack = false;
    const ceiling = this.#ceiling;
    if (ceiling === null || this.limit < ceiling.at) {
      this.#limit = Math.min(this.#fixed, this.#limit + this.#step());
    } else if (nowMs >= ceiling.probeAtMs) {
      this.#limit = ceiling.at + 1;
    }
  }

  refused(inFlight: number, nowMs: number): void {
    const at = Math.max(1, Math.min(this.limit, inFlight - 1));
    const before = this.#ceiling?.waitMs ?? 0;
    const waitMs = before === 0 ? FIRST_PROBE_MS : Math.min(LONGEST_PROBE_MS, before * 2);
    this.#ceiling = { at, probeAtMs: nowMs + waitMs, waitMs, proofs: 0 };
    this.#limit = at;
  }

  /** Two groups turned out to be one: what both had in flight together went well so far. */
  absorb(other: ConcurrencyLimit): void {
    const known = [this.known, other.known].filter((value) => value !== null);
    this.#limit = known.length > 0 ? Math.min(...known) : Math.min(this.#fixed, this.#limit + other.#limit);
    this.#mostSucceeded = Math.max(this.#mostSucceeded, other.#mostSucceeded);
    this.#ceiling ??= other.#ceiling;
  }

  /** Where ceilings are likely, the next step is not taken before the last one has proved right. */
  #step(): number {
    if (this.#limit < FAST_UNTIL) return 1;
    return this.#mostSucceeded >= this.limit ? 2 / this.#limit : 0;
  }

  #prove(inFlight: number): void {
    const ceiling = this.#ceiling;
    if (ceiling === null || this.limit <= ceiling.at || inFlight <= ceiling.at) return;
    ceiling.proofs += 1;
    if (ceiling.proofs < PROOFS) return;
    ceiling.at += 1;
    ceiling.proofs = 0;
    ceiling.waitMs = 0;
    this.#limit = Math.min(this.#fixed, ceiling.at + 1);
  }
}
