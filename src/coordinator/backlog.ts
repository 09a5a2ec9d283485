import { AgentosError } from '../core/errors.ts';
import { endedWell, type ItemStatus } from '../core/item.ts';
import { withoutCycles } from '../core/schedule.ts';

/** What decides when an item may start. */
export interface Queued {
  id: string;
  /** No two items that share one of these are under way at the same time. */
  exclusive?: readonly string[];
  /** Ids of items that have to have ended well first; an id that is neither here nor announced holds nothing up. */
  after?: readonly string[];
  /** The id of an item that is expected to join when this one has ended: others can already come after it. */
  announces?: string;
}

/** An item that can never start, and why. */
interface Hopeless<Item> {
  item: Item;
  on: string;
  status: ItemStatus;
}

/** So often may others with a key of its own go before an item; then they wait for it. */
export const PATIENCE = 10;

interface Place<Item> {
  item: Item;
  keys: readonly string[];
  after: readonly string[];
  overtaken: number;
}

/**
 * The items of a run, and which of them may start now. An item goes
 *
 *   waiting → under way → ended
 *      └────→ hopeless            something that it comes after ended, but not well
 *
 * The first one that can start does, in the order in which they came, those that were added ahead before the others. One
 * that can't start is passed over and holds up no other, except that after some time others don't get a key that it wants:
 * otherwise an item with many keys would never find all of them free at once.
 */
export class Backlog<Item extends Queued> {
  readonly #waiting = new Map<string, Place<Item>>();
  /** Of those, the ids that go before the others. */
  readonly #ahead = new Set<string>();
  readonly #underWay = new Map<string, readonly string[]>();
  readonly #held = new Set<string>();
  readonly #ended = new Map<string, ItemStatus>();
  /** Ids that are expected to join. */
  readonly #announced = new Set<string>();
  /** For each id those that wait for it, or would if it were there. */
  readonly #followers = new Map<string, string[]>();
  readonly #hopeless: Hopeless<Item>[] = [];
  readonly #onCycle: (ids: readonly string[]) => void;

  /** `onCycle`: items that joined at different times come after each other; in the order in which they run. */
  constructor(onCycle: (ids: readonly string[]) => void = () => undefined) {
    this.#onCycle = onCycle;
  }

  /** How many could still start. */
  get size(): number {
    return this.#waiting.size;
  }

  /** They come behind those that wait already, or ahead of them. An id that is known is a mistake of the caller's. */
  add(items: readonly Item[], { ahead = false } = {}): void {
    const places = items.map((item) => this.#place(item));
    if (ahead) for (const { id } of items) this.#ahead.add(id);
    this.#breakCycles(places);
    const closesCycle = ({ item, after }: Place<Item>): boolean => after.length > 0 && this.#followers.has(item.id);
    if (places.some(closesCycle)) this.#breakCycles([...this.#waiting.values()], this.#onCycle);
    for (const { item, after } of places) {
      const bad = after.find((id) => this.#endedBadly(id));
      if (bad !== undefined) this.#giveUp(item.id, bad);
    }
  }

  /** The first that may start now, if any; it is under way from here on. */
  next(): Item | null {
    const found = this.#firstFree();
    if (found !== null || this.#underWay.size > 0 || this.#waiting.size === 0) return found;
    // Nothing is under way and nothing can start: items that came at different times wait for each other.
    this.#breakCycles([...this.#waiting.values()], this.#onCycle);
    return this.#firstFree();
  }

  /** An item that was under way has ended, or one that was announced will not join. */
  end(id: string, status: ItemStatus): void {
    for (const key of this.#underWay.get(id) ?? []) this.#held.delete(key);
    this.#underWay.delete(id);
    this.#announced.delete(id);
    this.#ended.set(id, status);
    if (!this.#endedBadly(id)) return;
    for (const follower of this.#followers.get(id) ?? []) this.#giveUp(follower, id);
  }

  /** Nothing will come after it any more, and its id may come again. */
  forget(id: string): void {
    this.#ended.delete(id);
    this.#followers.delete(id);
  }

  /** Those that can never start, since the last time; they count as cancelled already. */
  takeHopeless(): Hopeless<Item>[] {
    return this.#hopeless.splice(0);
  }

  /** One that still waits: it will not be started. Null: it does not wait. */
  take(id: string): Item | null {
    const place = this.#waiting.get(id);
    if (place !== undefined) this.#leave(id);
    return place?.item ?? null;
  }

  /** All that still wait: they will not be started. */
  abandon(): Item[] {
    const items = [...this.#waiting.values()].map(({ item }) => item);
    this.#waiting.clear();
    this.#ahead.clear();
    this.#announced.clear();
    for (const { id } of items) this.#ended.set(id, 'cancelled');
    return items;
  }

  #place(item: Item): Place<Item> {
    const { id, exclusive = [], after = [] } = item;
    if (this.#waiting.has(id) || this.#underWay.has(id) || this.#ended.has(id)) {
      throw new AgentosError({ code: 'usage', reason: `Two items have the id ${id}.` });
    }
    const place = { item, keys: exclusive, after, overtaken: 0 };
    this.#waiting.set(id, place);
    this.#announced.delete(id);
    if (item.announces !== undefined) this.#announced.add(item.announces);
    for (const other of after) {
      const followers = this.#followers.get(other);
      if (followers) followers.push(id);
      else this.#followers.set(other, [id]);
    }
    return place;
  }

  #firstFree(): Item | null {
    const passed: Place<Item>[] = [];
    const reserved = new Set<string>();
    for (const place of this.#inOrder()) {
      if (!this.#mayBegin(place)) continue;
      if (!place.keys.some((key) => this.#held.has(key) || reserved.has(key))) {
        for (const other of passed) if (other.keys.some((key) => place.keys.includes(key))) other.overtaken += 1;
        return this.#begin(place);
      }
      passed.push(place);
      if (place.overtaken >= PATIENCE) for (const key of place.keys) reserved.add(key);
    }
    return null;
  }

  *#inOrder(): Iterable<Place<Item>> {
    for (const id of this.#ahead) {
      const place = this.#waiting.get(id);
      if (place) yield place;
    }
    for (const [id, place] of this.#waiting) if (!this.#ahead.has(id)) yield place;
  }

  #begin({ item, keys }: Place<Item>): Item {
    this.#leave(item.id);
    this.#underWay.set(item.id, keys);
    for (const key of keys) this.#held.add(key);
    return item;
  }

  #leave(id: string): void {
    this.#waiting.delete(id);
    this.#ahead.delete(id);
  }

  #mayBegin({ after }: Place<Item>): boolean {
    return after.every((id) => !this.#waiting.has(id) && !this.#underWay.has(id) && !this.#announced.has(id));
  }

  /** With all that wait for it, and for those. */
  #giveUp(first: string, because: string): void {
    const lost = [{ id: first, on: because }];
    // Grows while it is gone through.
    for (const { id, on } of lost) {
      const place = this.#waiting.get(id);
      const status = this.#ended.get(on);
      if (status === undefined || !place?.after.includes(on)) continue;
      this.#leave(id);
      this.#ended.set(id, 'cancelled');
      this.#hopeless.push({ item: place.item, on, status });
      const { announces } = place.item;
      if (announces !== undefined) {
        this.#announced.delete(announces);
        this.#ended.set(announces, 'cancelled');
      }
      for (const gone of announces === undefined ? [id] : [id, announces])
        for (const follower of this.#followers.get(gone) ?? []) lost.push({ id: follower, on: gone });
    }
  }

  #breakCycles(places: readonly Place<Item>[], onCycle?: (ids: readonly string[]) => void): void {
    const tied = places.filter(({ after }) => after.length > 0);
    const { after, cycles } = withoutCycles(tied.map((place) => ({ id: place.item.id, after: place.after })));
    for (const place of tied) place.after = after.get(place.item.id) ?? [];
    for (const cycle of cycles) onCycle?.(cycle);
  }

  #endedBadly(id: string): boolean {
    const status = this.#ended.get(id);
    return status !== undefined && !endedWell(status);
  }
}
