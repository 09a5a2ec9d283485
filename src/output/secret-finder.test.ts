import fc from 'fast-check';
import { expect, test } from 'vitest';
import { maskedForms } from '../core/mask.ts';
import { SecretFinder } from './secret-finder.ts';

const regionsIn = (text: string, secrets: string[]): string[] => {
  const bytes = Buffer.from(text);
  return new SecretFinder(secrets)
    .regions(bytes, 0, bytes.length)
    .map(({ start, end }) => bytes.subarray(start, end).toString());
};

test('secrets of any length are found together, wherever they stand', () => {
  const long = `sk-${'x7'.repeat(400)}`;
  expect(regionsIn(`k-12 and ${long}, hünter-2!`, ['hünter-2', long, 'k-12'])).toEqual(['k-12', long, 'hünter-2']);
});

test('secrets that overlap or contain each other are one region', () => {
  expect(regionsIn('--abcd1234efgh--', ['abcd1234', '1234efgh', 'cd12'])).toEqual(['abcd1234efgh']);
});

test('without secrets there is nothing to find', () => {
  expect(regionsIn('anything', [])).toEqual([]);
  expect(new SecretFinder(['abc']).longest).toBe(0);
});

test('only what lies between the two offsets counts', () => {
  const bytes = Buffer.from('key-1234 key-1234');
  const finder = new SecretFinder(['key-1234']);
  expect(finder.find(bytes, 1, bytes.length)).toBe(9);
  expect(finder.find(bytes, 1, bytes.length - 1)).toBe(-1);
});

test('it finds exactly the bytes that a plain search for each secret finds', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '1', 'é'), minLength: 4, maxLength: 12 });
  fc.assert(
    fc.property(
      fc.array(word, { maxLength: 6 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '1', 'é'), maxLength: 200 }),
      (secrets, text) => {
        const bytes = Buffer.from(text);
        const expected = new Set<number>();
        for (const form of maskedForms(secrets)) {
          const { length } = Buffer.from(form);
          for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + 1)) {
            for (let n = 0; n < length; n++) expected.add(at + n);
          }
        }
        const found = new Set<number>();
        for (const { start, end } of new SecretFinder(secrets).regions(bytes, 0, bytes.length)) {
          for (let n = start; n < end; n++) found.add(n);
        }
        expect(found).toEqual(expected);
      },
    ),
  );
});
