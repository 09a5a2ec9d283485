import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { Allowance, type Share } from './limits/allowance.ts';
import type { AnswerLimits, Dimension, Readings } from './limits/reading.ts';
import type { Measure } from './limits/refill-rate.ts';

/** Limits that the user knows. What is left out is learned. */
export interface RateLimits {
  requestsPerMinute?: number | undefined;
  /** Input and output together. */
  tokensPerMinute?: number | undefined;
  inputTokensPerMinute?: number | undefined;
  outputTokensPerMinute?: number | undefined;
  concurrency?: number | undefined;
}

export type CoolingReason = 'rate' | 'tokens' | 'concurrency' | 'quota';

/** What one request holds of a lane until it has ended. */
export interface Portion {
  estimatedInput: number;
  shares: { dimension: Dimension; share: Share }[];
}

const DIMENSIONS: readonly Dimension[] = ['requests', 'tokens', 'input-tokens', 'output-tokens'];
const FIRST_OUTPUT_GUESS = 200;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;
/** A delay as long as this is no pause between requests, but a quota per hour or day that is used up. */
const QUOTA_DELAY_MS = 600_000;

/** The limits of one model within one quota group: vendors count most of them per model. */
export class QuotaGroupLane {
  readonly #vendor: VendorName;
  readonly #random: () => number;
  readonly #learned: Record<Dimension, Allowance>;
  readonly #configured: { dimension: Dimension; allowance: Allowance }[] = [];
  #blocked: { untilMs: number; why: CoolingReason } | null = null;
  #refusals = 0;
  #usualOutput: number | null = null;
  /** Real input tokens per estimated one. */
  #inputFactor = 1;

  constructor(vendor: VendorName, limits: RateLimits, random: () => number, nowMs: number) {
    this.#vendor = vendor;
    this.#random = random;
    this.#learned = {
      requests: new Allowance(nowMs),
      tokens: new Allowance(nowMs),
      'input-tokens': new Allowance(nowMs),
      'output-tokens': new Allowance(nowMs),
    };
    const configured: Record<Dimension, number | undefined> = {
      requests: limits.requestsPerMinute,
      tokens: limits.tokensPerMinute,
      'input-tokens': limits.inputTokensPerMinute,
      'output-tokens': limits.outputTokensPerMinute,
    };
    for (const dimension of DIMENSIONS) {
      const perMinute = configured[dimension];
      if (perMinute !== undefined) this.#configured.push({ dimension, allowance: new Allowance(nowMs, perMinute) });
    }
  }

  /** The tightest limit known, or null. */
  perMinute(dimension: Dimension): number | null {
    const known = this.#allowances(dimension).flatMap((allowance) => allowance.perMinute ?? []);
    return known.length === 0 ? null : Math.min(...known);
  }

  learned(dimension: Dimension): Measure | null {
    return this.#learned[dimension].learned;
  }

  blocked(nowMs: number): { untilMs: number; why: CoolingReason } | null {
    return this.#blocked !== null && this.#blocked.untilMs > nowMs ? this.#blocked : null;
  }

  readyAtMs(estimatedInput: number, nowMs: number): number {
    let readyMs = this.blocked(nowMs)?.untilMs ?? nowMs;
    for (const dimension of DIMENSIONS) {
      const { cost } = this.#cost(dimension, estimatedInput);
      for (const allowance of this.#allowances(dimension)) {
        readyMs = Math.max(readyMs, allowance.readyAtMs(cost, nowMs));
      }
    }
    return readyMs;
  }

  /** How near to running over, so that refill is lost: that of the scarcest limit. */
  fullness(nowMs: number): number {
    return Math.min(
      ...DIMENSIONS.flatMap((dimension) => this.#allowances(dimension).map((one) => one.fullness(nowMs))),
    );
  }

  /** In tokens, what a request of this size is expected to use in all. */
  expectedTokens(estimatedInput: number): number {
    return this.#cost('tokens', estimatedInput).cost;
  }

  take(estimatedInput: number, nowMs: number): Portion {
    const shares = DIMENSIONS.flatMap((dimension) => {
      const { cost, later } = this.#cost(dimension, estimatedInput);
      return this.#allowances(dimension).map((one) => ({ dimension, share: one.take(cost, later, nowMs) }));
    });
    return { estimatedInput, shares };
  }

  observe(readings: Readings, portion: Portion | null, nowMs: number): void {
    for (const dimension of DIMENSIONS) {
      const reading = readings[dimension];
      if (reading === undefined) continue;
      const allowance = this.#learned[dimension];
      const share = portion?.shares.find((one) => one.share.allowance.current === allowance)?.share ?? null;
      allowance.observe(reading, share, nowMs);
    }
  }

  admitted(): void {
    this.#refusals = 0;
  }

  settle(portion: Portion, usage: Usage | null, nowMs: number): void {
    for (const { dimension, share } of portion.shares) {
      share.allowance.settle(share, usage === null ? null : this.#used(dimension, usage), nowMs);
    }
    if (usage === null) return;
    this.#usualOutput = (this.#usualOutput ?? usage.outputTokens) * 0.9 + usage.outputTokens * 0.1;
    if (portion.estimatedInput > 0 && usage.inputTokens > 0) {
      const factor = Math.min(4, Math.max(0.25, usage.inputTokens / portion.estimatedInput));
      this.#inputFactor = this.#inputFactor * 0.9 + factor * 0.1;
    }
  }

  /** Nothing was counted by the vendor; or only the request itself was. */
  giveBack(portion: Portion, what: 'all' | 'tokens', nowMs: number): void {
    for (const { dimension, share } of portion.shares) {
      share.allowance.settle(share, dimension === 'requests' && what === 'tokens' ? null : 0, nowMs);
    }
  }

  /** Refused for lack of quota, after its portion was given back. Returns until when nothing is sent, and why. */
  refused(
    portion: Portion,
    refusal: {
      dimension: Dimension;
      limits: AnswerLimits;
      hintMs: number | null;
      siblings: readonly Measure[];
    },
    nowMs: number,
  ): { untilMs: number; why: CoolingReason } {
    const { dimension, limits, hintMs, siblings } = refusal;
    const allowance = this.#learned[dimension];
    const share = portion.shares.find((one) => one.share.allowance.current === allowance)?.share;
    const reading = limits.readings[dimension] ?? null;
    const far = hintMs !== null && hintMs >= QUOTA_DELAY_MS;
    this.observe(limits.readings, null, nowMs);
    // A quota of another period says nothing about the limit per minute.
    const waitMs = share === undefined || far ? 0 : allowance.refused(share, { hintMs, reading, siblings }, nowMs);
    const untilMs = nowMs + (hintMs ?? Math.max(waitMs, this.#backoffMs()));
    this.#refusals += 1;
    const why = far ? 'quota' : dimension === 'requests' ? 'rate' : 'tokens';
    return this.block(untilMs, why);
  }

  /** Never shortens what was asked for before. */
  block(untilMs: number, why: CoolingReason): { untilMs: number; why: CoolingReason } {
    if (this.#blocked === null || this.#blocked.untilMs < untilMs) this.#blocked = { untilMs, why };
    return this.#blocked;
  }

  absorb(other: QuotaGroupLane): void {
    for (const dimension of DIMENSIONS) this.#learned[dimension].absorb(other.#learned[dimension]);
    if ((other.#blocked?.untilMs ?? 0) > (this.#blocked?.untilMs ?? 0)) this.#blocked = other.#blocked;
    this.#usualOutput ??= other.#usualOutput;
  }

  #allowances(dimension: Dimension): Allowance[] {
    const own = this.#configured.filter((one) => one.dimension === dimension).map((one) => one.allowance);
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
