import { AgentosError } from '../core/errors.ts';
import { keyVariables, type VendorKey, type VendorName } from '../core/keys.ts';
import { PoolKey } from './key.ts';
import type { Dimension } from './limits/reading.ts';
import type { Measure } from './limits/refill-rate.ts';
import { QuotaGroup } from './quota-group.ts';
import type { RateLimits } from './quota-group-lane.ts';

export interface MemberOptions {
  keys: readonly VendorKey[];
  /** Of each quota group of a vendor, per model; or of the group that a key belongs to, where that is tighter. */
  limits?: {
    vendors?: Partial<Record<VendorName, RateLimits | undefined>> | undefined;
    keys?: Readonly<Record<string, RateLimits | undefined>> | undefined;
  };
  /** Keys (by id) that are known to draw on one quota. */
  groups?: readonly (readonly string[])[];
  /** 0 ≤ random < 1. */
  random: () => number;
}

/** The keys, each once, and who shares a quota with whom. */
export class PoolMembers {
  readonly keys: PoolKey[] = [];
  readonly #options: MemberOptions;

  constructor(options: MemberOptions) {
    this.#options = options;
    const seen = new Set<string>();
    for (const given of options.keys) {
      const identity = `${given.vendor}\0${given.secret.reveal()}`;
      if (seen.has(identity)) continue;
      seen.add(identity);
      this.keys.push(new PoolKey(given, this.#groupOf(given)));
    }
  }

  live(vendor: VendorName): PoolKey[] {
    return this.keys.filter((key) => key.vendor === vendor && key.dead === null);
  }

  /** Why no key of this vendor can be had, now or ever; null while one is alive. */
  absence(vendor: VendorName): AgentosError | null {
    const keys = this.keys.filter((key) => key.vendor === vendor);
    if (keys.length === 0) {
      return new AgentosError({
        code: 'key-missing',
        provider: vendor,
        variables: keyVariables(vendor),
        role: 'gateway',
      });
    }
    if (keys.some((key) => key.dead === null)) return null;
    const detail = `no key works any more (${keys.map((key) => `${key.id}: ${key.dead ?? ''}`).join('; ')})`;
    return new AgentosError({ code: 'provider-rejected-key', provider: vendor, status: null, detail });
  }

  /** An answer named who is charged. Returns the keys that turned out to share a quota, null if that is no news. */
  named(key: PoolKey, organisation: string, nowMs: number): { group: string; keyIds: string[] } | null {
    const { group } = key;
    if (group.organisation === organisation) return null;
    const other = this.keys.find((one) => one.vendor === key.vendor && one.group.organisation === organisation)?.group;
    if (other === undefined || other === group) {
      group.organisation ??= organisation;
      return null;
    }
    other.absorb(group, nowMs);
    for (const one of this.keys) if (one.group === group) one.group = other;
    return { group: other.id, keyIds: this.keys.filter((one) => one.group === other).map((one) => one.id) };
  }

  /** Of all live groups together; null while one of them is not known. */
  perMinute(vendor: VendorName, model: string, dimension: Dimension, nowMs: number): number | null {
    const groups = new Set(this.live(vendor).map((key) => key.group));
    let sum = 0;
    for (const group of groups) {
      const perMinute = group.lane(model, nowMs).perMinute(dimension);
      if (perMinute === null) return null;
      sum += perMinute;
    }
    return sum;
  }

  /** What the keys' owner has once, they often have several times: guesses, until a key's own answers say more. */
  siblingRates(key: PoolKey, model: string, dimension: Dimension, nowMs: number): Measure[] {
    const learned = this.#siblings(key).flatMap((group) => group.lane(model, nowMs).learned(dimension) ?? []);
    return learned.sort((a, b) => b.evidence - a.evidence);
  }

  siblingConcurrency(key: PoolKey): number | null {
    const known = this.#siblings(key).flatMap((group) => group.concurrency.known ?? []);
    return known.length === 0 ? null : Math.min(...known);
  }

  #siblings(key: PoolKey): QuotaGroup[] {
    const others = this.keys.filter((one) => one.vendor === key.vendor && one.group !== key.group);
    return [...new Set(others.map((one) => one.group))];
  }

  #groupOf(given: VendorKey): QuotaGroup {
    const together = this.#options.groups?.find((ids) => ids.includes(given.id)) ?? [given.id];
    const known = this.keys.find((key) => key.vendor === given.vendor && together.includes(key.id));
    if (known !== undefined) return known.group;
    const { vendors, keys } = this.#options.limits ?? {};
    const limits = together.reduce((tightest, id) => tighter(tightest, keys?.[id]), vendors?.[given.vendor] ?? {});
    return new QuotaGroup(given.id, given.vendor, limits, this.#options.random);
  }
}

function tighter(a: RateLimits, b: RateLimits | undefined): RateLimits {
  if (b === undefined) return a;
  const least = (x?: number, y?: number): number | undefined =>
    x === undefined || y === undefined ? (x ?? y) : Math.min(x, y);
  return {
    requestsPerMinute: least(a.requestsPerMinute, b.requestsPerMinute),
    tokensPerMinute: least(a.tokensPerMinute, b.tokensPerMinute),
    inputTokensPerMinute: least(a.inputTokensPerMinute, b.inputTokensPerMinute),
    outputTokensPerMinute: least(a.outputTokensPerMinute, b.outputTokensPerMinute),
    concurrency: least(a.concurrency, b.concurrency),
  };
}
