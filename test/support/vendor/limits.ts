import { Bucket } from './bucket.ts';
import type { Denial, Dimension, QuotaView } from './quota.ts';
import { seededRandom } from './random.ts';

/** What one organisation may use. What is not given is not limited. */
export interface QuotaGroup {
  requestsPerMinute?: number;
  /** How many requests at once; without it, a minute's worth. */
  requestBurst?: number;
  /** A second bucket of the same rate that no header shows: the headers say there is quota, and there is none. */
  hiddenRequestBurst?: number;
  /** Input and output together. */
  tokensPerMinute?: number;
  inputTokensPerMinute?: number;
  outputTokensPerMinute?: number;
  tokenBurst?: number;
  concurrency?: number;
  /** Each model has buckets of its own. */
  perModel?: boolean;
  /** Somebody else who uses this share of the rates (0 to 1), at random moments. */
  background?: { share: number; tokensPerRequest?: number };
}

export interface Limits {
  /** Keys name their group; a key without one belongs to `default`. */
  groups: Record<string, QuotaGroup>;
  /** Quota headers on every response. Default: true. */
  headers?: boolean;
  /** The refusal says when to come again. Default: true. */
  retryAfter?: boolean;
  /** Refused requests count too. */
  chargeRejected?: boolean;
  /** By how much the vendor's wall clock is ahead in the headers that name an instant. */
  skewMs?: number;
  seed?: number;
}

/** Tokens that a request takes at its start, corrected at its end. */
export interface Lease {
  settle(usage: { input: number; output: number } | null): void;
}

interface Drawn {
  dimension: Dimension;
  bucket: Bucket;
  hidden: boolean;
}

export class QuotaLedger {
  readonly #limits: Limits | undefined;
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #buckets = new Map<string, Drawn[]>();
  readonly #inFlight = new Map<string, number>();

  constructor(limits: Limits | undefined, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#random = seededRandom(limits?.seed ?? 1);
  }

  admit(group: string, model: string, inputTokens: number): Lease | Denial {
    const rules = this.#limits?.groups[group];
    if (rules === undefined) return { settle: () => undefined };
    const now = this.#now();
    const buckets = this.#bucketsOf(group, model, rules);
    const running = this.#inFlight.get(group) ?? 0;
    if (rules.concurrency !== undefined && running >= rules.concurrency) {
      this.#punish(buckets, now);
      return { dimension: 'concurrency', limit: rules.concurrency, retryAfterMs: null, group, model };
    }
    const short = buckets.filter(({ dimension, bucket }) => !bucket.has(entryCost(dimension, inputTokens), now));
    const first = short[0];
    if (first !== undefined) {
      const waitMs = Math.max(
        ...short.map(({ dimension, bucket }) => bucket.waitMs(entryCost(dimension, inputTokens), now)),
      );
      this.#punish(buckets, now);
      const retryAfterMs = this.#limits?.retryAfter === false ? null : waitMs;
      return { dimension: first.dimension, limit: first.bucket.limit, retryAfterMs, group, model };
    }
    for (const { dimension, bucket } of buckets) {
      if (dimension !== 'output-tokens') bucket.take(entryCost(dimension, inputTokens), now);
    }
    this.#inFlight.set(group, running + 1);
    return { settle: (usage) => this.#settle(group, buckets, inputTokens, usage) };
  }

  view(group: string, model: string): QuotaView {
    const rules = this.#limits?.groups[group];
    if (rules === undefined || this.#limits?.headers === false) return {};
    const now = this.#now();
    const shown = this.#bucketsOf(group, model, rules).filter(({ hidden }) => !hidden);
    return Object.fromEntries(shown.map(({ dimension, bucket }) => [dimension, bucket.view(now)]));
  }

  #settle(group: string, buckets: Drawn[], taken: number, usage: { input: number; output: number } | null): void {
    const now = this.#now();
    this.#inFlight.set(group, (this.#inFlight.get(group) ?? 1) - 1);
    const { input, output } = usage ?? { input: 0, output: 0 };
    for (const { dimension, bucket } of buckets) {
      if (dimension === 'tokens') bucket.take(input + output - taken, now);
      if (dimension === 'input-tokens') bucket.take(input - taken, now);
      if (dimension === 'output-tokens') bucket.take(output, now);
    }
  }

  #punish(buckets: Drawn[], now: number): void {
    if (this.#limits?.chargeRejected !== true) return;
    for (const { dimension, bucket } of buckets) if (dimension === 'requests') bucket.punish(1, now);
  }

  #bucketsOf(group: string, model: string, rules: QuotaGroup): Drawn[] {
    const name = rules.perModel === true ? `${group} ${model}` : group;
    const known = this.#buckets.get(name);
    if (known !== undefined) return known;
    const made: Drawn[] = [];
    const add = (
      dimension: Dimension,
      perMinute: number | undefined,
      burst: number | undefined,
      hidden = false,
    ): void => {
      if (perMinute === undefined) return;
      const quantum = dimension === 'requests' ? 1 : (rules.background?.tokensPerRequest ?? 1000);
      const background =
        rules.background === undefined
          ? {}
          : { background: { share: rules.background.share, quantum, random: this.#random } };
      const options = { perMinute, ...(burst === undefined ? {} : { burst }), ...background };
      made.push({ dimension, hidden, bucket: new Bucket(options, this.#now()) });
    };
    add('requests', rules.requestsPerMinute, rules.requestBurst);
    if (rules.hiddenRequestBurst !== undefined)
      add('requests', rules.requestsPerMinute, rules.hiddenRequestBurst, true);
    add('tokens', rules.tokensPerMinute, rules.tokenBurst);
    add('input-tokens', rules.inputTokensPerMinute, rules.tokenBurst);
    add('output-tokens', rules.outputTokensPerMinute, rules.tokenBurst);
    this.#buckets.set(name, made);
    return made;
  }
}

/** What must be there for a request to begin. Output is unknown then: any token left will do. */
function entryCost(dimension: Dimension, inputTokens: number): number {
  switch (dimension) {
    case 'requests':
    case 'output-tokens':
      return 1;
    case 'tokens':
    case 'input-tokens':
      return inputTokens;
  }
}
