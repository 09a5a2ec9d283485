import { expect, test } from 'vitest';
import { durationFlag, formatDuration, LONGEST_MS, parseDuration } from './duration.ts';

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
