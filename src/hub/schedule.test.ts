import { expect, test } from 'vitest';
import { type QueuedItem, scheduleItems } from './schedule.ts';

let ids = 0;
const item = (key: string, more: Partial<QueuedItem> = {}): QueuedItem => {
  ids += 1;
  return { id: ids, key, run: 'r', isHeld: true, after: [], exclusive: [], ahead: false, waitedMs: 0, ...more };
};
const none = { ends: new Map(), announced: new Set<string>(), limits: new Map<string, number>() };

test('of items that change the same file one starts; others are not held up by it', () => {
  const items = [
    item('a', { exclusive: ['x'] }),
    item('b', { exclusive: ['x', 'y'] }),
    item('c', { exclusive: ['z'] }),
  ];
  expect(scheduleItems({ items, ...none }).start).toEqual([items[0]?.id, items[2]?.id]);
  const busy = [item('d', { isHeld: false, exclusive: ['x'] }), ...items];
  expect(scheduleItems({ items: busy, ...none }).start).toEqual([items[2]?.id]);
});

test('one that has waited long is not overtaken any more by others that want its files', () => {
  const waits = item('a', { exclusive: ['x', 'y'], waitedMs: 3_600_000 });
  const items = [item('b', { isHeld: false, exclusive: ['x'] }), waits, item('c', { exclusive: ['y'] })];
  expect(scheduleItems({ items, ...none }).start).toEqual([]);
  expect(scheduleItems({ items: items.map((one) => ({ ...one, waitedMs: 0 })), ...none }).start).toEqual([
    items[2]?.id,
  ]);
});

test('an item waits for those that it builds on, also while they are still to come; where one failed it never starts', () => {
  const [a, b, c] = [item('a'), item('b', { after: ['a'] }), item('c', { after: ['later'] })];
  const announced = new Set(['later']);
  expect(scheduleItems({ items: [a, b, c], ...none, announced }).start).toEqual([a.id]);
  const ends = new Map([['a', 'succeeded' as const]]);
  expect(scheduleItems({ items: [b, c], ...none, ends }).start).toEqual([b.id, c.id]);
  const failed = new Map([['a', 'failed' as const]]);
  expect(scheduleItems({ items: [b], ...none, ends: failed })).toMatchObject({
    start: [],
    hopeless: [{ id: b.id, on: 'a', status: 'failed' }],
  });
});

test('items that come after each other start in the order in which they came', () => {
  const [a, b] = [item('a', { after: ['b'] }), item('b', { after: ['a'] })];
  const { start, cycles } = scheduleItems({ items: [a, b], ...none });
  expect(start).toEqual([a.id]);
  expect(cycles).toEqual([['a', 'b']]);
});

test('no more of a run are under way than it asked for; what was begun goes first', () => {
  const items = [item('a', { isHeld: false }), item('b'), item('c', { ahead: true }), item('d', { run: 'other' })];
  expect(scheduleItems({ items, ...none, limits: new Map([['r', 2]]) }).start).toEqual([items[2]?.id, items[3]?.id]);
});
