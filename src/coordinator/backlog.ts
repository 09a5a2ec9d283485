import { AgentosError } from '../core/errors.ts';
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

/** How often others may take a key that an item waits for; then the key is reserved for it. */
export const MOST_OVERTAKEN = 10;

interface Entry<Item> {
  item: Item;
  keys: readonly string[];
  after: readonly string[];
  overtaken: number;
}

/**
 * The items of a run, and which of them may start now. An item goes
 *
 *   waiting → under way → ended
 *      └────→ blocked            an item that it comes after did not end well
 *
 * The first item that can start does, in the order in which they were added; those added `ahead` come first. An item that can't
 * start is passed over. After it was overtaken often enough, its keys are reserved for it: otherwise an item with many keys
 * would never find all of them free at once.
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

  /** `onCycle`: items that joined at different times wait for each other; called with their ids in the order in which they run. */
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
    this.#breakCycles(entries);
    const closesCycle = ({ item, after }: Entry<Item>): boolean => after.length > 0 && this.#followers.has(item.id);
    if (entries.some(closesCycle)) this.#breakCycles([...this.#waiting.values()], this.#onCycle);
    for (const { item, after } of entries) {
      const bad = after.find((id) => this.#endedBadly(id));
      if (bad !== undefined) this.#block(item.id, bad);
    }
  }

  /** The first item that may start now, or null; it counts as running from here on. */
  next(): Item | null {
    const found = this.#startFirst();
    if (found !== null || this.#active.size > 0 || this.#waiting.size === 0) return found;
    // Nothing runs and nothing can start: items that were added at different times wait for each other.
    this.#breakCycles([...this.#waiting.values()], this.#onCycle);
    return this.#startFirst();
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
    const entry = { item, keys: exclusive, after, overtaken: 0 };
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

  #startFirst(): Item | null {
    const passed: Entry<Item>[] = [];
    const reserved = new Set<string>();
    for (const entry of this.#inOrder()) {
      if (!this.#mayStart(entry)) continue;
      if (!entry.keys.some((key) => this.#held.has(key) || reserved.has(key))) {
        for (const other of passed) if (other.keys.some((key) => entry.keys.includes(key))) other.overtaken += 1;
        return this.#start(entry);
      }
      passed.push(entry);
      if (entry.overtaken >= MOST_OVERTAKEN) for (const key of entry.keys) reserved.add(key);
    }
    return null;
  }

  *#inOrder(): Iterable<Entry<Item>> {
    for (const id of this.#ahead) {
      const entry = this.#waiting.get(id);
      if (entry) yield entry;
    }
    for (const [id, entry] of this.#waiting) if (!this.#ahead.has(id)) yield entry;
  }

  #start({ item, keys }: Entry<Item>): Item {
    this.#leave(item.id);
    this.#active.set(item.id, keys);
    for (const key of keys) this.#held.add(key);
    return item;
  }

  #leave(id: string): void {
    this.#waiting.delete(id);
    this.#ahead.delete(id);
  }

  #mayStart({ after }: Entry<Item>): boolean {
    return after.every((id) => !this.#waiting.has(id) && !this.#active.has(id) && !this.#announced.has(id));
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

  #breakCycles(entries: readonly Entry<Item>[], onCycle?: (ids: readonly string[]) => void): void {
    const tied = entries.filter(({ after }) => after.length > 0);
    const { after, cycles } = withoutCycles(tied.map((entry) => ({ id: entry.item.id, after: entry.after })));
    for (const entry of tied) entry.after = after.get(entry.item.id) ?? [];
    for (const cycle of cycles) onCycle?.(cycle);
  }

  #endedBadly(id: string): boolean {
    const status = this.#ended.get(id);
    return status !== undefined && !endedWell(status);
  }
}
