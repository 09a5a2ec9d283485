import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { type AnswerLimits, DIMENSIONS, type Dimension } from './answer.ts';
import { Bucket, type Charge } from './bucket.ts';
import type { LearnedLimits } from './keys.ts';

type CoolingReason = 'rate' | 'tokens' | 'concurrency' | 'quota';

/** Limits that the user configured. The others are learned. */
export interface RateLimits {
  requestsPerMinute?: number | undefined;
  /** Input and output together. */
  tokensPerMinute?: number | undefined;
  inputTokensPerMinute?: number | undefined;
  outputTokensPerMinute?: number | undefined;
  concurrency?: number | undefined;
}

/** What one request holds of a model's quota until it ends. */
export interface Charges extends Record<Dimension, Charge> {
  estimatedInput: number;
}

export interface QuotaOptions {
  vendor: VendorName;
  limits: RateLimits;
  remembered: LearnedLimits | null;
  /** 0 ≤ random < 1. */
  random: () => number;
}

const FIRST_OUTPUT_GUESS = 200;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** A delay this long is not a pause between requests: a quota per hour or day is used up. */
const QUOTA_DELAY_MS = 600_000;

/** The limits of one model within one quota group: vendors count most limits per model. */
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

  /** The request has ended and used this much; null: as estimated. */
  finish(charges: Charges, usage: Usage | null, nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const used = usage === null ? null : this.#used(dimension, usage);
      this.#buckets[dimension].correct(charges[dimension], used, nowMs);
    }
    if (usage === null) return;
    this.#usualOutput = (this.#usualOutput ?? usage.outputTokens) * 0.9 + usage.outputTokens * 0.1;
    if (charges.estimatedInput > 0 && usage.inputTokens > 0) {
      const factor = Math.min(4, Math.max(0.25, usage.inputTokens / charges.estimatedInput));
      this.#inputFactor = this.#inputFactor * 0.9 + factor * 0.1;
    }
  }

  /** The vendor counted nothing (`all`), or only the request itself (`tokens`). */
  giveBack(charges: Charges, what: 'all' | 'tokens', nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const isCounted = dimension === 'requests' && what === 'tokens';
      this.#buckets[dimension].correct(charges[dimension], isCounted ? null : 0, nowMs);
    }
  }

  /** A request was refused for lack of quota, and its charges were given back. Returns until when nothing is sent, and why. */
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

  /** Never shortens an earlier block. */
  block(untilMs: number, why: CoolingReason): { untilMs: number; why: CoolingReason } {
    if (this.#blocked === null || this.#blocked.untilMs < untilMs) this.#blocked = { untilMs, why };
    return this.#blocked;
  }

  #cost(dimension: Dimension, estimatedInput: number): { cost: number; later: number } {
    const output = this.#usualOutput ?? FIRST_OUTPUT_GUESS;
    const cost = amountOf(dimension, estimatedInput * this.#inputFactor, output);
    return { cost, later: dimension === 'requests' ? 0 : amountOf(dimension, 0, output) };
  }

  #used(dimension: Dimension, usage: Usage): number {
    // OpenAI counts tokens read from the prompt cache, the others don't.
    const cached = this.#vendor === 'anthropic' || this.#vendor === 'google' ? usage.cacheReadTokens : 0;
    return amountOf(dimension, Math.max(0, usage.inputTokens - cached), usage.outputTokens);
  }

  /** For a refusal that names no delay. */
  #backoffMs(): number {
    const longest = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#refusals);
    return longest * (0.5 + this.#random() / 2);
  }
}

/** How much of a limit a request with this much input and output takes. */
function amountOf(dimension: Dimension, input: number, output: number): number {
  switch (dimension) {
    case 'requests':
      return 1;
    case 'tokens':
      return input + output;
    case 'input-tokens':
      return input;
    case 'output-tokens':
      return output;
  }
}

const FIRST_LIMIT = 3;
const FAST_UNTIL = 8;
const FIRST_PROBE_MS = 60_000;
const LONGEST_PROBE_MS = 16 * FIRST_PROBE_MS;

/** How many requests must pass above the ceiling before it is raised: one may have slipped in as another ended. */
const PROOFS = 3;

interface Ceiling {
  at: number;
  probeAtMs: number;
  waitMs: number;
  proofs: number;
}

/**
 * How many requests may be in flight at once. No vendor names that limit before it refuses a request. Ours grows only while it
 * holds requests back: first by one for each success, later by about one a round. A refusal sets a ceiling; one request above it
 * is tried after 60 s, 120 s, …
 */
export class ConcurrencyLimit {
  readonly #fixed: number;
  #limit: number;
  #ceiling: Ceiling | null = null;
  #heldBack = false;
  #mostSucceeded = 0;

  /** `remembered`: the limit that an earlier run found. It is a ceiling like any other, and probed at once. */
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

  /** The limit that the user configured or a refusal showed; null: none yet. */
  get known(): number | null {
    return Number.isFinite(this.#fixed) ? this.#fixed : (this.#ceiling?.at ?? null);
  }

  /** Whether a refusal with this many in flight may mean that there were too many at once: only if that many is new. */
  suspects(inFlight: number): boolean {
    return inFlight > 1 && (this.known === null ? inFlight >= this.#mostSucceeded - 1 : inFlight > this.known);
  }

  /** Only this limit holds a request back now. */
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

  /** Two groups turned out to be one: together they had this many in flight, and that was fine. */
  absorb(other: ConcurrencyLimit): void {
    const known = [this.known, other.known].filter((value) => value !== null);
    this.#limit = known.length > 0 ? Math.min(...known) : Math.min(this.#fixed, this.#limit + other.#limit);
    this.#mostSucceeded = Math.max(this.#mostSucceeded, other.#mostSucceeded);
    this.#ceiling ??= other.#ceiling;
  }

  /** From here on ceilings are likely, so the next step waits until the last one has succeeded. */
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
