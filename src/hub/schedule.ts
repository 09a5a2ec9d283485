import { endedWell, type ItemStatus } from '../core/item.ts';
import { withoutCycles } from '../core/schedule.ts';

/** An item that has not ended, with what the scheduling of its repository depends on. */
export interface QueuedItem {
  id: number;
  key: string;
  run: string;
  isHeld: boolean;
  after: readonly string[];
  exclusive: readonly string[];
  /** It continues work that was begun, so it goes first. */
  ahead: boolean;
  /** How long it has waited. */
  waitedMs: number;
}

interface Repository {
  /** In the order of their submission. */
  items: readonly QueuedItem[];
  /** How ended items that others depend on have ended. */
  ends: ReadonlyMap<string, ItemStatus>;
  /** Keys of later stages that will join. */
  announced: ReadonlySet<string>;
  /** The most items under way, by run. Absent: no limit. */
  limits: ReadonlyMap<string, number>;
}

interface Schedule {
  /** Items to start now, in this order. */
  start: number[];
  /** Items that can never start, each with the item it depends on and how that one ended. */
  hopeless: { id: number; on: string; status: ItemStatus }[];
  /** Items that depend on each other, in the order in which they start. */
  cycles: string[][];
}

/** After this wait, an item's files are reserved for it. */
const PATIENCE_MS = 10 * 60_000;

/** Chooses which held items may start: their dependencies have succeeded, and no item under way changes the same files. */
export function scheduleItems({ items, ends, announced, limits }: Repository): Schedule {
  const schedule: Schedule = { start: [], hopeless: [], cycles: [] };
  const unfinished = new Set(items.map(({ key }) => key));
  const underWay = items.filter(({ isHeld }) => !isHeld);
  const taken = new Set(underWay.flatMap(({ exclusive }) => exclusive));
  const running = new Map<string, number>();
  for (const { run } of underWay) running.set(run, (running.get(run) ?? 0) + 1);

  const held = items.filter(({ isHeld }) => isHeld).sort((a, b) => Number(b.ahead) - Number(a.ahead));
  const { after: order, cycles } = withoutCycles(held.map(({ key, after }) => ({ id: key, after })));
  schedule.cycles = cycles;
  for (const item of held) {
    const after = order.get(item.key) ?? item.after;
    const bad = after.find((key) => !unfinished.has(key) && !endedWell(ends.get(key) ?? 'succeeded'));
    if (bad !== undefined) {
      schedule.hopeless.push({ id: item.id, on: bad, status: ends.get(bad) ?? 'failed' });
      unfinished.delete(item.key);
      continue;
    }
    if (after.some((key) => unfinished.has(key) || announced.has(key))) continue;
    const limit = limits.get(item.run) ?? Number.POSITIVE_INFINITY;
    const count = running.get(item.run) ?? 0;
    const isFree = !item.exclusive.some((file) => taken.has(file));
    if (isFree && count < limit) {
      schedule.start.push(item.id);
      running.set(item.run, count + 1);
    }
    // Files of an item that starts now are taken; files of one that waited long are reserved.
    if (isFree ? count < limit : item.waitedMs > PATIENCE_MS) for (const file of item.exclusive) taken.add(file);
  }
  return schedule;
}
