import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cut, displayWidth, plainText } from './live-rows.ts';

test.each([
  ['plain', 5],
  ['größe', 5],
  ['日本語', 6],
  ['한국어', 6],
  ['ＡＢ', 4],
  ['🚀 go', 5],
  ['e\u0301', 1],
  ['❤', 1],
])('%s takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

test.each([
  ['fits', 4, 'fits'],
  ['too long', 4, 'too…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['ab', 1, '…'],
  ['ab', 0, ''],
])('%s in %i columns is %s', (text, columns, expected) => {
  expect(cut(text, columns, '…')).toBe(expected);
});

test('a character is never cut in two, and nothing gets wider than the room for it', () => {
  const awkward = fc.constantFrom('a', ' ', '日', '🚀', '👩‍🚀', 'e\u0301', '\u{1F1E9}', '\u{20000}');
  fc.assert(
    fc.property(fc.string({ unit: awkward }), fc.nat(30), (text, columns) => {
      const short = cut(text, columns, '…');
      expect(displayWidth(short)).toBeLessThanOrEqual(columns);
      expect(short.isWellFormed()).toBe(true);
    }),
  );
});

test('outside text becomes one line without what could move the cursor or change direction', () => {
  expect(plainText(' a\n\tb\u001B[2Jc\u202Ed\u200De\uFE0F \uD800')).toBe('a bcde \uFFFD');
});
