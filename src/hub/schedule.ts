import { endedWell, type ItemStatus } from '../core/item.ts';
import { withoutCycles } from '../core/schedule.ts';

/** An item of one repository that has not ended, as far as it decides about others. */
export interface QueuedItem {
  id: number;
  key: string;
  run: string;
  isHeld: boolean;
  after: readonly string[];
  exclusive: readonly string[];
  /** It continues what was begun. */
  ahead: boolean;
  /** How long it has waited. */
  waitedMs: number;
}

interface Repository {
  /** In the order in which they came. */
  items: readonly QueuedItem[];
  /** How items that others come after have ended. */
  ends: ReadonlyMap<string, ItemStatus>;
  /** Keys of items that join when others have ended. */
  announced: ReadonlySet<string>;
  /** Of each run, how many of its items may be under way; absent: as many as there are. */
  limits: ReadonlyMap<string, number>;
}

interface Schedule {
  /** May start now, in this order. */
  start: number[];
  /** Can never start, because this one ended like that. */
  hopeless: { id: number; on: string; status: ItemStatus }[];
  /** Items that come after each other, in the order in which they start. */
  cycles: string[][];
}

/** One that has waited longer is not overtaken any more by others that want its files. */
const PATIENCE_MS = 10 * 60_000;

/** Which of a repository's held items may start: what they build on has ended well, and nothing under way changes the same files. */
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
    // Reserved for one that has waited long; and what starts now is under way.
    if (isFree ? count < limit : item.waitedMs > PATIENCE_MS) for (const file of item.exclusive) taken.add(file);
  }
  return schedule;
}
