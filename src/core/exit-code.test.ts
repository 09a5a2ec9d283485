import { expect, test } from 'vitest';
import { exitCodeOf, isFailure } from './exit-code.ts';
import type { ItemStatus } from './item.ts';

const cases: [ItemStatus[], number][] = [
  [[], 0],
  [['succeeded', 'skipped'], 0],
  [['succeeded', 'discuss'], 3],
  [['discuss', 'paused'], 75],
  [['paused', 'discuss', 'failed'], 1],
  [['timed-out'], 1],
  [['over-budget'], 1],
  [['stalled'], 1],
  [['crashed'], 1],
  [['succeeded', 'cancelled'], 1],
];

test.each(cases)('%j ends with %i', (statuses, code) => {
  expect(exitCodeOf(statuses, null)).toBe(code);
});

test('an interruption decides, whatever happened to the items', () => {
  expect(exitCodeOf(['failed'], 'SIGINT')).toBe(130);
  expect(exitCodeOf(['succeeded'], 'SIGTERM')).toBe(143);
  expect(exitCodeOf([], 'SIGHUP')).toBe(143);
});

test('what waits or was stopped is no failure', () => {
  const harmless: ItemStatus[] = ['succeeded', 'skipped', 'discuss', 'paused', 'cancelled'];
  expect(harmless.filter(isFailure)).toEqual([]);
});
