import type { VendorName } from '../core/keys.ts';
import { ConcurrencyLimit } from './limits/concurrency-limit.ts';
import { QuotaGroupLane, type RateLimits } from './quota-group-lane.ts';

/** Whose quota it is: one or several keys, a limit on requests in flight, and a lane for each model. */
export class QuotaGroup {
  readonly id: string;
  readonly vendor: VendorName;
  readonly concurrency: ConcurrencyLimit;
  readonly #limits: RateLimits;
  readonly #random: () => number;
  readonly #lanes = new Map<string, QuotaGroupLane>();
  organisation: string | null = null;
  inFlight = 0;

  constructor(id: string, vendor: VendorName, limits: RateLimits, random: () => number) {
    this.id = id;
    this.vendor = vendor;
    this.#limits = limits;
    this.#random = random;
    this.concurrency = new ConcurrencyLimit(limits.concurrency ?? null);
  }

  lane(model: string, nowMs: number): QuotaGroupLane {
    const known = this.#lanes.get(model);
    if (known !== undefined) return known;
    const made = new QuotaGroupLane(this.vendor, this.#limits, this.#random, nowMs);
    this.#lanes.set(model, made);
    return made;
  }

  get lanes(): QuotaGroupLane[] {
    return [...this.#lanes.values()];
  }

  /** The other group's requests in flight are counted here from now on. */
  absorb(other: QuotaGroup, nowMs: number): void {
    this.inFlight += other.inFlight;
    this.concurrency.absorb(other.concurrency);
    for (const [model, lane] of other.#lanes) this.lane(model, nowMs).absorb(lane);
  }
}
