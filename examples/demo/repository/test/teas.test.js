import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTea, teas } from '../src/index.js';

test('a tea is found in any case and with spaces around its name', () => {
  assert.equal(findTea('  eArL gReY ').name, 'Earl Grey');
});

test('an unknown tea is a RangeError that names it', () => {
  assert.throws(() => findTea('espresso'), { name: 'RangeError', message: 'Unknown tea: espresso' });
});

test('a name that is no string is a TypeError', () => {
  assert.throws(() => findTea(42), TypeError);
});

test('the list can not be changed from outside', () => {
  assert.ok(Object.isFrozen(teas));
  assert.ok(teas.every((tea) => Object.isFrozen(tea)));
});

test('no two teas share a name', () => {
  assert.equal(new Set(teas.map((tea) => tea.name.toLowerCase())).size, teas.length);
});
