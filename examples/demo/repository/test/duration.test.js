import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration } from '../src/index.js';

test('minutes and seconds are shown as far as there are any', () => {
  assert.equal(formatDuration(45), '45 s');
  assert.equal(formatDuration(180), '3 min');
  assert.equal(formatDuration(210), '3 min 30 s');
  assert.equal(formatDuration(0), '0 s');
});

test('what is no whole number of seconds is refused', () => {
  for (const wrong of [-1, 1.5, Number.NaN, '60']) assert.throws(() => formatDuration(wrong), RangeError);
});
