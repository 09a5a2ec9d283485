import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { type AnswerLimits, DIMENSIONS, type Dimension } from './answer.ts';
import { Bucket, type Charge } from './bucket.ts';
import { ConcurrencyLimit } from './concurrency.ts';
import type { CoolingReason, LearnedLimits } from './port.ts';

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
/** A delay this long is not a pause between requests: a quota per hour or day is used up. */
const QUOTA_DELAY_MS = 600_000;

/** One or several keys that share a quota: a limit on requests in flight, and a quota for each model. */
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

  /** Takes over the other group: its requests in flight count here from now on. */
  absorb(other: QuotaGroup, nowMs: number): void {
    this.inFlight += other.inFlight;
    this.concurrency.absorb(other.concurrency);
    for (const [model, quota] of other.#models) this.of(model, nowMs).absorb(quota);
  }
}

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

  /** How full the bucket of the scarcest limit is. */
  fullness(nowMs: number): number {
    return Math.min(...Object.values(this.#buckets).map((bucket) => bucket.fullness(nowMs)));
  }

  /** How many tokens a request of this size is expected to use in all. */
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

  /** The request has ended and used this much; null: as estimated. */
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

  /** The vendor counted nothing (`all`), or only the request itself (`tokens`). */
  giveBack(charges: Charges, what: 'all' | 'tokens', nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const charge = charges[dimension];
      charge.bucket.correct(charge, dimension === 'requests' && what === 'tokens' ? null : 0, nowMs);
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

  absorb(other: ModelQuota): void {
    for (const dimension of DIMENSIONS) this.#buckets[dimension].absorb(other.#buckets[dimension]);
    if ((other.#blocked?.untilMs ?? 0) > (this.#blocked?.untilMs ?? 0)) this.#blocked = other.#blocked;
    this.#usualOutput ??= other.#usualOutput;
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
