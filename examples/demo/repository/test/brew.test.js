import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brew, describe } from '../src/index.js';

test('a plan has water and leaves for every cup', () => {
  assert.deepEqual(brew('earl grey', 2), {
    tea: 'Earl Grey',
    cups: 2,
    waterMl: 500,
    leavesGrams: 5,
    celsius: 95,
    seconds: 240,
  });
});

test('a plan reads as one line', () => {
  assert.equal(describe(brew('sencha')), 'Sencha, 1 cup: 3 g in 250 ml at 75 °C for 1 min 30 s');
  assert.equal(describe(brew('earl grey', 2)), 'Earl Grey, 2 cups: 5 g in 500 ml at 95 °C for 4 min');
});

test('a pot holds 1 to 12 cups', () => {
  assert.equal(brew('assam', 12).waterMl, 3000);
  for (const wrong of [0, 13, 1.5, '2']) assert.throws(() => brew('assam', wrong), RangeError);
});
