import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineReader, shellWord, wordsOfLine } from './lines.ts';
import { createMask, MASK } from './mask.ts';
import { Secret } from './secret.ts';

const KEY = 'sk-ant-api03-0123456789abcdef';

test('a line that does not end is passed on in pieces, none of which is cut inside of a secret', () => {
  const mask = createMask([new Secret(KEY)]);
  for (let before = 9_960; before < 10_010; before += 7) {
    const pieces: string[] = [];
    const reader = createLineReader((line) => pieces.push(mask(line)), undefined, mask);
    const line = Buffer.from(`${'x'.repeat(before)}${KEY}${'y'.repeat(30_000)}\nnext\n`);
    for (let at = 0; at < line.length; at += 1_000) reader.push(line.subarray(at, at + 1_000));
    reader.end();
    const shown = pieces.join('');
    expect(shown).not.toContain('sk-ant-api03');
    expect(shown).not.toContain('456789abcdef');
    expect(shown).toContain(MASK);
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.at(-1)).toBe('next');
  }
});

test('a line that was put together from words falls apart into the same words', () => {
  const word = fc.string({ minLength: 1, unit: fc.constantFrom(...'a\'\\ "$`&;|-=:/ü*'.split('')) });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1 }), (words) => {
      expect(wordsOfLine(words.map(shellWord).join(' '))).toEqual(words);
    }),
  );
});
