import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  durationFlag,
  formatDuration,
  LONGEST_MS,
  localClock,
  localTime,
  parseDuration,
  waitText,
} from './duration.ts';

test.each([
  ['300ms', 300],
  ['90s', 90_000],
  ['1.5s', 1_500],
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1h30m', 5_400_000],
  ['1d', 86_400_000],
  [' 5m ', 300_000],
])('%j is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['300ms', '1s500ms', '90s', '30m', '1h30m', '1d2h'])('%s can be said again', (text) => {
  expect(parseDuration(durationFlag(parseDuration(text) ?? 0))).toBe(parseDuration(text));
});

test.each(['', '5', 'm', '5 m', '-5m', '5x', '1e3s', '0s', '0h0m', 'five minutes', '5m!', '٣s'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeNull();
  },
);

test('what a timer can not hold is refused, because it would fire at once', () => {
  expect(parseDuration(`${LONGEST_MS}ms`)).toBe(LONGEST_MS);
  expect(parseDuration(`${LONGEST_MS + 1}ms`)).toBeNull();
  expect(parseDuration('25d')).toBeNull();
});

test.each([
  [0, '0 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [12_340, '12.3 s'],
  [59_940, '59.9 s'],
  [59_960, '1m 00s'],
  [60_000, '1m 00s'],
  [245_000, '4m 05s'],
  [3_599_999, '59m 59s'],
  [7_800_000, '2h 10m'],
])('%d ms reads %j', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

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
