import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stepId } from './journal.ts';

const idOf = (inputs: unknown): string => stepId({ name: 'draft', inputs });

describe('the id of a step', () => {
  it('is its name and a short hash', () => {
    expect(idOf({ prompt: 'p' })).toMatch(/^draft#[0-9a-f]{32}$/);
  });

  it('is known, because records outlive the program that wrote them', () => {
    expect(idOf({ b: [1, null, true], a: 'ü' })).toBe('draft#7f6d95bfd383437ee2aa0ade81e5acd4');
  });

  it('depends on every value and not on the order of keys', () => {
    const value = fc.json().map((text): unknown => JSON.parse(text));
    fc.assert(
      fc.property(value, value, (one, other) => {
        expect(idOf(one) === idOf(other)).toBe(isDeepStrictEqual(one, other));
        expect(idOf({ x: one, y: other })).toBe(idOf({ y: other, x: one }));
      }),
      { examples: [[{}, []]] },
    );
  });

  it.each([
    ['a list and an object with the same members', ['a'], { 0: 'a' }],
    ['a number and its text', 1, '1'],
    ['a missing member and null', {}, { a: null }],
    ['the order of a list', [1, 2], [2, 1]],
    ['a name that looks like a boundary', { 'a":1,"b': 1 }, { a: 1, b: 1 }],
  ])('tells apart: %s', (_, one, other) => {
    expect(idOf(one)).not.toBe(idOf(other));
  });

  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'inputs is not'],
    ['a member that is undefined', { a: { b: undefined } }, 'inputs.a.b is not'],
    ['a hole in a list', { list: Array(1) }, 'inputs.list[0] is not'],
    ['NaN', [Number.NaN], 'inputs[0] is not a JSON value but NaN'],
    ['a bigint', 1n, 'bigint'],
    ['a function', () => 1, 'function'],
    ['a date', new Date(0), 'a Date'],
    ['a map', new Map(), 'a Map'],
    ['a symbol as key', { [Symbol('s')]: 1 }, 'a symbol as key'],
    ['a cycle', cycle, 'inputs.self is not a JSON value but a cycle'],
  ])('refuses %s and says where it is', (_, inputs, message) => {
    expect(() => idOf(inputs)).toThrow(message);
  });

  it('takes the same object twice: that is no cycle', () => {
    const shared = { a: 1 };
    expect(idOf([shared, shared])).toBe(idOf([{ a: 1 }, { a: 1 }]));
  });

  it('refuses a step without a name', () => {
    expect(() => stepId({ name: '', inputs: null })).toThrow('name');
  });
});
