import { AgentosError } from '../core/errors.ts';
import { keyVariables, type VendorKey, type VendorName } from '../core/keys.ts';
import { Secret } from '../core/secret.ts';
import { ConcurrencyLimit, ModelQuota, type QuotaOptions, type RateLimits } from './quota.ts';

/** Learned or configured; null: not known. */
export interface LearnedLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  concurrency: number | null;
}

/** A key for people, without the secret. */
export interface KeyView {
  id: string;
  vendor: VendorName;
  /** Keys that share a quota are in one group. */
  group: string;
  state: 'available' | 'in-use' | 'cooling' | 'dead';
  /** When it is expected back; null: at once, or never. */
  untilMs: number | null;
  inFlight: number;
  limits: LearnedLimits;
  reason: string | null;
}

/** A shorter wait for the next request is the usual pace, not a pause. */
const PAUSE_MS = 1_000;

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
}

/** One key, its quota group, and whether it still works. */
export class PoolKey {
  readonly id: string;
  readonly vendor: VendorName;
  readonly secret: Secret;
  group: QuotaGroup;
  inFlight = 0;
  dead: string | null = null;

  constructor({ id, vendor, secret }: VendorKey, group: QuotaGroup) {
    this.id = id;
    this.vendor = vendor;
    this.secret = secret;
    this.group = group;
    // No HTTP header can carry it.
    if (!/^[\x21-\x7e]+$/.test(secret.reveal()))
      this.dead = 'the key holds a space, a line break or another character that no key has';
  }

  /** Until when it can't be used for any model; null: it can be used now, or within the usual pace. */
  coolingUntilMs(nowMs: number): number | null {
    const { models } = this.group;
    if (models.length === 0) return null;
    const readyMs = Math.min(...models.map((quota) => quota.readyAtMs(0, nowMs)));
    const blocked = models.every((quota) => quota.blocked(nowMs) !== null);
    return readyMs > nowMs && (blocked || readyMs > nowMs + PAUSE_MS) ? readyMs : null;
  }

  view(nowMs: number): KeyView {
    const untilMs = this.dead === null ? this.coolingUntilMs(nowMs) : null;
    const { models, remembered, concurrency } = this.group;
    const tightest = (read: (quota: ModelQuota) => number | null): number | null => {
      const known = models.flatMap((quota) => read(quota) ?? []);
      return known.length === 0 ? null : Math.round(Math.min(...known));
    };
    return {
      id: this.id,
      vendor: this.vendor,
      group: this.group.id,
      state: this.dead !== null ? 'dead' : untilMs !== null ? 'cooling' : this.inFlight > 0 ? 'in-use' : 'available',
      untilMs,
      inFlight: this.inFlight,
      limits: {
        requestsPerMinute: tightest((quota) => quota.perMinute('requests')) ?? remembered?.requestsPerMinute ?? null,
        tokensPerMinute:
          tightest((quota) => quota.perMinute('tokens') ?? quota.perMinute('input-tokens')) ??
          remembered?.tokensPerMinute ??
          null,
        concurrency: concurrency.known,
      },
      reason: this.dead ?? models.map((quota) => quota.blocked(nowMs)?.why).find((why) => why !== undefined) ?? null,
    };
  }
}

export interface KeyOptions {
  keys: readonly VendorKey[];
  /** The vendors that are used; absent: all that have a key. */
  vendors?: readonly VendorName[] | undefined;
  /** Limits per model of each quota group of a vendor. */
  limits?: Partial<Record<VendorName, RateLimits | undefined>> | undefined;
  /** What an earlier run learned about a key, by its id: where to start until answers say more. */
  remembered?: ReadonlyMap<string, LearnedLimits> | undefined;
  /** 0 ≤ random < 1. */
  random: () => number;
}

/** The keys without duplicates, and which of them share a quota. */
export class PoolKeys {
  readonly all: PoolKey[] = [];

  constructor({ keys, vendors, limits, remembered, random }: KeyOptions) {
    const seen = new Set<string>();
    for (const given of vendors === undefined ? keys : keysFor(keys, vendors)) {
      const { id, vendor } = given;
      const identity = `${vendor}\0${given.secret.reveal()}`;
      if (seen.has(identity)) continue;
      seen.add(identity);
      const options = { vendor, limits: limits?.[vendor] ?? {}, remembered: remembered?.get(id) ?? null, random };
      this.all.push(new PoolKey(given, new QuotaGroup(id, options)));
    }
  }

  live(vendor: VendorName): PoolKey[] {
    return this.all.filter((key) => key.vendor === vendor && key.dead === null);
  }

  /** Why no key of this vendor can ever be used; null while one is alive. */
  whyNone(vendor: VendorName): AgentosError | null {
    const keys = this.all.filter((key) => key.vendor === vendor);
    if (keys.length === 0) {
      const missing = [{ provider: vendor, variables: keyVariables(vendor), roles: ['gateway'] }];
      return new AgentosError({ code: 'key-missing', missing });
    }
    if (keys.some((key) => key.dead === null)) return null;
    const detail = `no key works any more (${keys.map((key) => `${key.id}: ${key.dead ?? ''}`).join('; ')})`;
    return new AgentosError({ code: 'provider-rejected-key', provider: vendor, status: null, detail });
  }

  /** An answer named the organisation that is charged. Returns the keys that turned out to share a quota; null: nothing new. */
  merge(key: PoolKey, organisation: string): { group: string; keyIds: string[] } | null {
    const { group } = key;
    if (group.organisation === organisation) return null;
    const other = this.all.find((one) => one.vendor === key.vendor && one.group.organisation === organisation)?.group;
    if (other === undefined || other === group) {
      group.organisation ??= organisation;
      return null;
    }
    // What was learned about the group that goes was learned about the one that stays.
    other.inFlight += group.inFlight;
    other.concurrency.absorb(group.concurrency);
    for (const one of this.all) if (one.group === group) one.group = other;
    return { group: other.id, keyIds: this.all.filter((one) => one.group === other).map((one) => one.id) };
  }
}

/** A compatible server on this machine often needs no key; the pool leases a dummy then. */
function keysFor(all: readonly VendorKey[], vendors: readonly VendorName[]): VendorKey[] {
  const keys = all.filter((key) => vendors.includes(key.vendor));
  const keyless = vendors.includes('openai-compatible') && !keys.some((key) => key.vendor === 'openai-compatible');
  return keyless ? [...keys, { id: 'no-key', vendor: 'openai-compatible', secret: new Secret('none') }] : keys;
}
