import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { endedWell, type ItemStatus } from '../core/item.ts';
import { withoutCycles } from '../core/schedule.ts';

/** The rules for when an item may start. */
export interface Queued {
  id: string;
  /** No two items that share one of these keys run at the same time. */
  exclusive?: readonly string[];
  /** Ids of items that must have ended well first. Unknown ids that are not announced are ignored. */
  after?: readonly string[];
  /** The id of an item that is expected to join when this one ends: others can already wait for it. */
  announces?: string;
}

/** An item that can never start because another one did not end well. */
interface Blocked<Item> {
  item: Item;
  on: string;
  status: ItemStatus;
}

interface Entry<Item> {
  item: Item;
  keys: readonly string[];
  after: readonly string[];
}

/**
 * The items of a run, and which of them may start now. An item goes
 *
 *   waiting → under way → ended
 *      └────→ blocked            an item that it comes after did not end well
 *
 * The first item that can start does, in the order in which they were added; those added `ahead` come first. An item that can't
 * start is passed over.
 */
export class Backlog<Item extends Queued> {
  readonly #waiting = new Map<string, Entry<Item>>();
  /** Ids of waiting items that go before the others. */
  readonly #ahead = new Set<string>();
  /** The keys of each running item. */
  readonly #active = new Map<string, readonly string[]>();
  readonly #held = new Set<string>();
  readonly #ended = new Map<string, ItemStatus>();
  readonly #announced = new Set<string>();
  /** For each id, known or not, the items that come after it. */
  readonly #followers = new Map<string, string[]>();
  readonly #blocked: Blocked<Item>[] = [];
  readonly #onCycle: (ids: readonly string[]) => void;

  /** `onCycle`: called with the ids of items that wait for each other, in the order in which they run. */
  constructor(onCycle: (ids: readonly string[]) => void = () => undefined) {
    this.#onCycle = onCycle;
  }

  /** How many may still start. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Puts items behind those that wait, or ahead of them. Throws if an id is already known. */
  add(items: readonly Item[], { ahead = false } = {}): void {
    const entries = items.map((item) => this.#addEntry(item));
    if (ahead) for (const { id } of items) this.#ahead.add(id);
    // Only an item that others already wait for, or several new ones, can close a cycle.
    if (entries.some(({ item, after }) => after.length > 0 && this.#followers.has(item.id))) this.#breakCycles();
    for (const { item, after } of entries) {
      const bad = after.find((id) => this.#endedBadly(id));
      if (bad !== undefined) this.#block(item.id, bad);
    }
  }

  /** The first item that may start now, or null; it counts as running from here on. */
  next(): Item | null {
    for (const { item, keys, after } of this.#inOrder()) {
      if (!after.every((id) => this.#hasEnded(id)) || keys.some((key) => this.#held.has(key))) continue;
      this.#leave(item.id);
      this.#active.set(item.id, keys);
      for (const key of keys) this.#held.add(key);
      return item;
    }
    return null;
  }

  /** A running item has ended, or an announced one will not join. */
  end(id: string, status: ItemStatus): void {
    for (const key of this.#active.get(id) ?? []) this.#held.delete(key);
    this.#active.delete(id);
    this.#announced.delete(id);
    this.#ended.set(id, status);
    if (!this.#endedBadly(id)) return;
    for (const follower of this.#followers.get(id) ?? []) this.#block(follower, id);
  }

  /** No later item will depend on it, and its id may be used again. */
  forget(id: string): void {
    this.#ended.delete(id);
    this.#followers.delete(id);
  }

  /** Items that were found since the last call; they already count as cancelled. */
  takeBlocked(): Blocked<Item>[] {
    return this.#blocked.splice(0);
  }

  /** Removes a waiting item; null if it does not wait. */
  take(id: string): Item | null {
    const entry = this.#waiting.get(id);
    if (entry !== undefined) this.#leave(id);
    return entry?.item ?? null;
  }

  /** Removes all waiting items. */
  abandon(): Item[] {
    const items = [...this.#waiting.values()].map(({ item }) => item);
    this.#waiting.clear();
    this.#ahead.clear();
    this.#announced.clear();
    for (const { id } of items) this.#ended.set(id, 'cancelled');
    return items;
  }

  #addEntry(item: Item): Entry<Item> {
    const { id, exclusive = [], after = [] } = item;
    if (this.#waiting.has(id) || this.#active.has(id) || this.#ended.has(id)) {
      throw new AgentosError({ code: 'usage', reason: `Two items have the id ${id}.` });
    }
    const entry = { item, keys: exclusive, after };
    this.#waiting.set(id, entry);
    this.#announced.delete(id);
    if (item.announces !== undefined) this.#announced.add(item.announces);
    for (const other of after) {
      const followers = this.#followers.get(other);
      if (followers) followers.push(id);
      else this.#followers.set(other, [id]);
    }
    return entry;
  }

  *#inOrder(): Iterable<Entry<Item>> {
    for (const id of this.#ahead) {
      const entry = this.#waiting.get(id);
      if (entry) yield entry;
    }
    for (const [id, entry] of this.#waiting) if (!this.#ahead.has(id)) yield entry;
  }

  #leave(id: string): void {
    this.#waiting.delete(id);
    this.#ahead.delete(id);
  }

  /** Or is unknown. */
  #hasEnded(id: string): boolean {
    return !this.#waiting.has(id) && !this.#active.has(id) && !this.#announced.has(id);
  }

  /** Blocks an item, and everything that waits for it, directly or not. */
  #block(first: string, because: string): void {
    const lost = [{ id: first, on: because }];
    // Grows while we iterate over it.
    for (const { id, on } of lost) {
      const entry = this.#waiting.get(id);
      const status = this.#ended.get(on);
      if (status === undefined || !entry?.after.includes(on)) continue;
      this.#leave(id);
      this.#ended.set(id, 'cancelled');
      this.#blocked.push({ item: entry.item, on, status });
      const { announces } = entry.item;
      if (announces !== undefined) {
        this.#announced.delete(announces);
        this.#ended.set(announces, 'cancelled');
      }
      for (const gone of announces === undefined ? [id] : [id, announces])
        for (const follower of this.#followers.get(gone) ?? []) lost.push({ id: follower, on: gone });
    }
  }

  #breakCycles(): void {
    const tied = [...this.#waiting.values()].filter(({ after }) => after.length > 0);
    const { after, cycles } = withoutCycles(tied.map((entry) => ({ id: entry.item.id, after: entry.after })));
    for (const entry of tied) entry.after = after.get(entry.item.id) ?? [];
    for (const cycle of cycles) this.#onCycle(cycle);
  }

  #endedBadly(id: string): boolean {
    const status = this.#ended.get(id);
    return status !== undefined && !endedWell(status);
  }
}

const SAME_CAUSE_IN_A_ROW = 3;

/** Halts a batch after `limit` failures; without a limit, after three in a row with the same cause. */
export function createHaltRule(limit: number | null) {
  let failures = 0;
  let row = 0;
  let lastCause: string | null = null;
  return {
    /** To be called at each item's end. Returns the reason to start nothing new, or null. */
    ended(failure: ErrorRecord | null): { failures: number; cause: string } | null {
      if (failure === null) {
        row = 0;
        lastCause = null;
        return null;
      }
      const cause = failure.problem.code;
      failures += 1;
      row = cause === lastCause ? row + 1 : 1;
      lastCause = cause;
      const reached = limit === null ? row >= SAME_CAUSE_IN_A_ROW : failures >= limit;
      return reached ? { failures: limit === null ? row : failures, cause } : null;
    },
  };
}
