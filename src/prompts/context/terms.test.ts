import { expect, test } from 'vitest';
import { countTerms, termsOf } from './terms.ts';

test.each([
  ['parsing', 'parser'],
  ['parse', 'parsed'],
  ['queries', 'query'],
  ['classes', 'class'],
  ['stopped', 'stop'],
  ['caching', 'cached'],
  ['validation', 'validate'],
  ['rendering', 'render'],
  ['Größe', 'größe'.replace('g', 'G')],
])('%s and %s are one term', (a, b) => {
  expect(termsOf(a)).toEqual(termsOf(b));
});

test('an identifier is split by case and underscore, and counted whole whatever its style', () => {
  const whole = termsOf('parseItemId');
  expect(whole).toHaveLength(4);
  expect(termsOf('parse_item_id')).toEqual(whole);
  expect(termsOf('PARSE_ITEM_ID')).toEqual(whole);
  expect(termsOf('HTTPServer').slice(0, 2)).toEqual([...termsOf('http'), ...termsOf('server')]);
  expect(termsOf('x = 1; // a')).toEqual([]);
});

test('declared names count more than used ones, and long words, such as hashes, not at all', () => {
  const countOf = (text: string, word: string): number => {
    const { terms, counts } = countTerms(Buffer.from(text));
    return counts[terms.indexOf(termsOf(word)[0] ?? 0)] ?? 0;
  };
  expect(countOf('quota', 'quota')).toBe(1);
  expect(countOf('function quota() {}', 'quota')).toBe(3);
  expect(countOf('quota '.repeat(1_000), 'quota')).toBe(255);
  expect(countTerms(Buffer.from('f'.repeat(200))).terms).toHaveLength(0);
});

test('a text with very many different words is counted whole', () => {
  const words = Array.from({ length: 30_000 }, (_, at) => `w${at.toString(36)}q`);
  expect(countTerms(Buffer.from(words.join(' '))).terms.length).toBeGreaterThan(29_000);
});
