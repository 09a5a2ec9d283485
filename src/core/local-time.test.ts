import { afterAll, beforeAll, expect, test } from 'vitest';
import { localClock, localTime, waitText } from './local-time.ts';

const zone = process.env['TZ'];
beforeAll(() => {
  process.env['TZ'] = 'Asia/Tokyo';
});
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

test('a stored time is shown in the time zone of the reader', () => {
  expect(localTime('2026-11-03T20:04:05.678Z')).toBe('2026-11-04 05:04:05');
  expect(localTime('never')).toBe('never');
});

test('a moment of another day has its weekday', () => {
  const nowMs = Date.parse('2026-11-03T05:00:00Z');
  expect(localClock(nowMs + 600_000, nowMs)).toBe('14:10');
  expect(localClock(nowMs + 19 * 3_600_000, nowMs)).toBe('Wed 09:00');
});

test.each([
  [0, 'for 1 s'],
  [11_200, 'for 12 s'],
  [90_000, 'for 90 s'],
  [600_000, 'until 14:10'],
])('a wait of %i ms is written %s', (forMs, text) => {
  expect(waitText(forMs, '2026-11-03T05:00:00Z')).toBe(text);
});
