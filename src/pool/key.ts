import { AgentosError } from '../core/errors.ts';
import { keyVariables, type VendorKey, type VendorName } from '../core/keys.ts';
import type { Dimension } from './limits.ts';
import type { KeyState, KeyView, LearnedLimits, Outlook, PoolEvent } from './port.ts';
import { type ModelQuota, QuotaGroup, type RateLimits } from './quota.ts';

/** A key waits for its next request: shorter than this is the usual pace, not a pause. */
const PAUSE_MS = 1_000;

/** One key, the group it draws on, and whether it still works. */
export class PoolKey {
  readonly id: string;
  readonly given: VendorKey;
  group: QuotaGroup;
  inFlight = 0;
  dead: string | null = null;

  constructor(given: VendorKey, group: QuotaGroup) {
    this.id = given.id;
    this.given = given;
    this.group = group;
    // No HTTP header can carry it: the vendor would never see a request.
    if (!/^[\x21-\x7e]+$/.test(given.secret.reveal()))
      this.dead = 'the key holds a space, a line break or another character that no key has';
  }

  get vendor(): VendorKey['vendor'] {
    return this.given.vendor;
  }

  /** Until when no model can be asked with it; null: one can be now, or within the usual pace. */
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
      state: this.#state(untilMs),
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

  #state(untilMs: number | null): KeyState {
    if (this.dead !== null) return 'dead';
    if (untilMs !== null) return 'cooling';
    return this.inFlight > 0 ? 'in-use' : 'available';
  }
}

export interface KeyOptions {
  keys: readonly VendorKey[];
  /** Of each quota group of a vendor, per model. */
  limits?: Partial<Record<VendorName, RateLimits | undefined>> | undefined;
  /** What an earlier run learned of a key, by its id: where to start from, until answers say more. */
  remembered?: ReadonlyMap<string, LearnedLimits> | undefined;
  /** 0 ≤ random < 1. */
  random: () => number;
}

/** The keys, each once, and which of them share a quota. */
export class PoolKeys {
  readonly all: PoolKey[] = [];

  constructor({ keys, limits, remembered, random }: KeyOptions) {
    const seen = new Set<string>();
    for (const given of keys) {
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

  /** Why no key of this vendor can be had, now or ever; null while one is alive. */
  absence(vendor: VendorName): AgentosError | null {
    const keys = this.all.filter((key) => key.vendor === vendor);
    if (keys.length === 0) {
      const missing = [{ provider: vendor, variables: keyVariables(vendor), roles: ['gateway'] }];
      return new AgentosError({ code: 'key-missing', missing });
    }
    if (keys.some((key) => key.dead === null)) return null;
    const detail = `no key works any more (${keys.map((key) => `${key.id}: ${key.dead ?? ''}`).join('; ')})`;
    return new AgentosError({ code: 'provider-rejected-key', provider: vendor, status: null, detail });
  }

  /** An answer named who is charged. Returns the keys that turned out to share a quota, null if that is no news. */
  merge(key: PoolKey, organisation: string, nowMs: number): { group: string; keyIds: string[] } | null {
    const { group } = key;
    if (group.organisation === organisation) return null;
    const other = this.all.find((one) => one.vendor === key.vendor && one.group.organisation === organisation)?.group;
    if (other === undefined || other === group) {
      group.organisation ??= organisation;
      return null;
    }
    other.absorb(group, nowMs);
    for (const one of this.all) if (one.group === group) one.group = other;
    return { group: other.id, keyIds: this.all.filter((one) => one.group === other).map((one) => one.id) };
  }

  /** Of all live groups together; null while one of them is not known. */
  perMinute(vendor: VendorName, model: string, dimension: Dimension, nowMs: number): number | null {
    const groups = new Set(this.live(vendor).map((key) => key.group));
    let sum = 0;
    for (const group of groups) {
      const perMinute = group.of(model, nowMs).perMinute(dimension);
      if (perMinute === null) return null;
      sum += perMinute;
    }
    return sum;
  }
}

/** Nobody can be served for this long: the pool is exhausted, and says so. */
const EXHAUSTED_AFTER_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/**
 * Says once that a vendor has nothing left, and once that it has again: when a caller is served, or when the time has
 * come and no caller waits any more. Looking for the latter keeps no process alive.
 */
export class PoolExhaustion {
  readonly #known = new Map<VendorName, { untilMs: number; reason: Outlook['reason'] }>();
  readonly #onEvent: (event: PoolEvent) => void;
  readonly #now: () => number;
  #looking: NodeJS.Timeout | null = null;

  constructor(onEvent: (event: PoolEvent) => void, now: () => number) {
    this.#onEvent = onEvent;
    this.#now = now;
  }

  /** The first of those who wait can go at this time. Said again when a refusal by the vendor comes on top of our own pace. */
  servedFrom(vendor: VendorName, readyMs: number, reasonOf: () => Outlook['reason']): void {
    const known = this.#known.get(vendor);
    if (known === undefined && readyMs <= this.#now() + EXHAUSTED_AFTER_MS) return;
    const found = known?.reason === 'quota' ? 'quota' : reasonOf();
    const isNews = known === undefined || (found === 'quota' && known.reason !== 'quota');
    const reason = isNews ? found : known.reason;
    this.#known.set(vendor, { untilMs: readyMs, reason });
    if (isNews) this.#onEvent({ type: 'exhausted', vendor, reason, earliestMs: readyMs });
    this.#looking ??= setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  served(vendor: VendorName): void {
    const known = this.#known.get(vendor);
    if (known === undefined) return;
    this.#known.delete(vendor);
    this.#onEvent({ type: 'resumed', vendor, reason: known.reason });
    if (this.#known.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }

  #look(): void {
    for (const [vendor, { untilMs }] of this.#known) if (untilMs <= this.#now()) this.served(vendor);
  }
}
