import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord, wordsOfLine } from './lines.ts';

test('a line that was put together from words falls apart into the same words', () => {
  const word = fc.string({ minLength: 1, unit: fc.constantFrom(...'a\'\\ "$`&;|-=:/ü*'.split('')) });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), (words) => {
      expect(wordsOfLine(words.map(shellWord).join(' '))).toEqual(words);
    }),
  );
});
