import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { Bucket, type Charge } from './bucket.ts';
import { ConcurrencyLimit } from './concurrency.ts';
import type { AnswerLimits, Dimension, Readings } from './limits/reading.ts';
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
export interface Charges {
  estimatedInput: number;
  each: { dimension: Dimension; charge: Charge }[];
}

interface QuotaOptions {
  vendor: VendorName;
  limits: RateLimits;
  remembered: LearnedLimits | null;
  /** 0 ≤ random < 1. */
  random: () => number;
}

export const DIMENSIONS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const satisfies Dimension[];
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
  readonly #learned: Record<Dimension, Bucket>;
  readonly #configured: { dimension: Dimension; bucket: Bucket }[] = [];
  #blocked: { untilMs: number; why: CoolingReason } | null = null;
  #refusals = 0;
  #usualOutput: number | null = null;
  /** Real input tokens per estimated one. */
  #inputFactor = 1;

  constructor({ vendor, limits, remembered, random }: QuotaOptions, nowMs: number) {
    this.#vendor = vendor;
    this.#random = random;
    this.#learned = {
      requests: new Bucket(nowMs, { rememberedPerMinute: remembered?.requestsPerMinute ?? null }),
      tokens: new Bucket(nowMs, { rememberedPerMinute: remembered?.tokensPerMinute ?? null }),
      'input-tokens': new Bucket(nowMs),
      'output-tokens': new Bucket(nowMs),
    };
    const configured: Record<Dimension, number | undefined> = {
      requests: limits.requestsPerMinute,
      tokens: limits.tokensPerMinute,
      'input-tokens': limits.inputTokensPerMinute,
      'output-tokens': limits.outputTokensPerMinute,
    };
    for (const dimension of DIMENSIONS) {
      const configuredPerMinute = configured[dimension];
      if (configuredPerMinute === undefined) continue;
      this.#configured.push({ dimension, bucket: new Bucket(nowMs, { configuredPerMinute }) });
    }
  }

  /** The tightest limit known, or null. */
  perMinute(dimension: Dimension): number | null {
    const known = this.#buckets(dimension).flatMap((bucket) => bucket.perMinute ?? []);
    return known.length === 0 ? null : Math.min(...known);
  }

  blocked(nowMs: number): { untilMs: number; why: CoolingReason } | null {
    return this.#blocked !== null && this.#blocked.untilMs > nowMs ? this.#blocked : null;
  }

  readyAtMs(estimatedInput: number, nowMs: number): number {
    let readyMs = this.blocked(nowMs)?.untilMs ?? nowMs;
    for (const dimension of DIMENSIONS) {
      const { cost } = this.#cost(dimension, estimatedInput);
      for (const bucket of this.#buckets(dimension)) readyMs = Math.max(readyMs, bucket.readyAtMs(cost, nowMs));
    }
    return readyMs;
  }

  /** How near to running over, so that refill is lost: that of the scarcest limit. */
  fullness(nowMs: number): number {
    return Math.min(...DIMENSIONS.flatMap((dimension) => this.#buckets(dimension).map((one) => one.fullness(nowMs))));
  }

  /** In tokens, what a request of this size is expected to use in all. */
  expectedTokens(estimatedInput: number): number {
    return this.#cost('tokens', estimatedInput).cost;
  }

  take(estimatedInput: number, nowMs: number): Charges {
    const each = DIMENSIONS.flatMap((dimension) => {
      const { cost, later } = this.#cost(dimension, estimatedInput);
      return this.#buckets(dimension).map((one) => ({ dimension, charge: one.take(cost, later, nowMs) }));
    });
    return { estimatedInput, each };
  }

  observe(readings: Readings, charges: Charges | null, nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const reading = readings[dimension];
      if (reading !== undefined) this.#learned[dimension].observe(reading, this.#chargeOf(charges, dimension), nowMs);
    }
  }

  admitted(): void {
    this.#refusals = 0;
  }

  /** The request has ended and used this; null: as estimated. */
  finish(charges: Charges, usage: Usage | null, nowMs: number): void {
    for (const { dimension, charge } of charges.each) {
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
    for (const { dimension, charge } of charges.each) {
      charge.bucket.correct(charge, dimension === 'requests' && what === 'tokens' ? null : 0, nowMs);
    }
  }

  /** Refused for lack of quota, after its charges were given back. Returns until when nothing is sent, and why. */
  refused(
    charges: Charges,
    { dimension, limits, hintMs }: { dimension: Dimension; limits: AnswerLimits; hintMs: number | null },
    nowMs: number,
  ): { untilMs: number; why: CoolingReason } {
    const charge = this.#chargeOf(charges, dimension);
    const far = hintMs !== null && hintMs >= QUOTA_DELAY_MS;
    this.observe(limits.readings, null, nowMs);
    // A quota of another period says nothing about the limit per minute.
    const waitMs =
      charge === null || far
        ? 0
        : this.#learned[dimension].refused(charge, hintMs, limits.readings[dimension] ?? null, nowMs);
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
    for (const dimension of DIMENSIONS) this.#learned[dimension].absorb(other.#learned[dimension]);
    if ((other.#blocked?.untilMs ?? 0) > (this.#blocked?.untilMs ?? 0)) this.#blocked = other.#blocked;
    this.#usualOutput ??= other.#usualOutput;
  }

  #chargeOf(charges: Charges | null, dimension: Dimension): Charge | null {
    const bucket = this.#learned[dimension];
    return charges?.each.find(({ charge }) => charge.bucket.current === bucket)?.charge ?? null;
  }

  #buckets(dimension: Dimension): Bucket[] {
    const own = this.#configured.filter((one) => one.dimension === dimension).map((one) => one.bucket);
    return [this.#learned[dimension], ...own];
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
