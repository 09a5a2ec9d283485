import type { VendorKey } from '../core/keys.ts';
import type { KeyState, KeyView } from './port.ts';
import type { QuotaGroup } from './quota-group.ts';

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
    const { lanes } = this.group;
    if (lanes.length === 0) return null;
    const readyMs = Math.min(...lanes.map((lane) => lane.readyAtMs(0, nowMs)));
    const blocked = lanes.every((lane) => lane.blocked(nowMs) !== null);
    return readyMs > nowMs && (blocked || readyMs > nowMs + PAUSE_MS) ? readyMs : null;
  }

  view(paused: boolean, nowMs: number): KeyView {
    const untilMs = this.dead === null ? this.coolingUntilMs(nowMs) : null;
    const tightest = (read: (lane: QuotaGroup['lanes'][number]) => number | null): number | null => {
      const known = this.group.lanes.flatMap((lane) => read(lane) ?? []);
      return known.length === 0 ? null : Math.round(Math.min(...known));
    };
    return {
      id: this.id,
      vendor: this.vendor,
      group: this.group.id,
      state: this.#state(paused, untilMs),
      untilMs,
      inFlight: this.inFlight,
      limits: {
        requestsPerMinute: tightest((lane) => lane.perMinute('requests')),
        tokensPerMinute: tightest((lane) => lane.perMinute('tokens') ?? lane.perMinute('input-tokens')),
        concurrency: this.group.concurrency.known,
      },
      reason: this.dead ?? this.#coolingReason(nowMs),
    };
  }

  #state(paused: boolean, untilMs: number | null): KeyState {
    if (this.dead !== null) return 'dead';
    if (paused) return 'paused';
    if (untilMs !== null) return 'cooling';
    return this.inFlight > 0 ? 'in-use' : 'available';
  }

  #coolingReason(nowMs: number): string | null {
    const why = this.group.lanes.map((lane) => lane.blocked(nowMs)?.why).find((reason) => reason !== undefined);
    return why ?? null;
  }
}
