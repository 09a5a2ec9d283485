import { expect, test } from 'vitest';
import { namedPaths, queryOf } from './query.ts';
import { termsOf } from './terms.ts';

const weightOf = (title: string, body: string, word: string): number =>
  queryOf(title, body).get(termsOf(word)[0] ?? 0) ?? 0;

test('words of the title, in backticks and of errors weigh more; trailers, links and everyday words nothing', () => {
  const plain = weightOf('', 'the quota', 'quota');
  expect(plain).toBeGreaterThan(0);
  expect(weightOf('The quota', '', 'quota')).toBeGreaterThan(plain);
  expect(weightOf('', 'the `quota`', 'quota')).toBeGreaterThan(plain);
  expect(weightOf('', 'TypeError: quota is undefined', 'quota')).toBeGreaterThan(plain);
  expect(weightOf('', 'Signed-off-by: Quota <q@example.com>', 'quota')).toBe(0);
  expect(weightOf('', 'see https://example.com/quota', 'quota')).toBe(0);
  expect(weightOf('Fix the bug', '', 'bug')).toBe(0);
});

test('a file is named by its path, the end of it, ./path, at the end of a sentence, or by a name that only one has', () => {
  const paths = ['src/a.js', 'src/index.js', 'lib/index.js', 'docs/größe.md', 'Makefile'];
  expect(namedPaths('See ./src/a.js.', paths)).toEqual(['src/a.js']);
  expect(namedPaths('(docs/größe.md), then a.js: twice a.js', paths)).toEqual(['docs/größe.md', 'src/a.js']);
  expect(namedPaths('Which index.js?', paths)).toEqual([]);
  expect(namedPaths('at run (/home/me/lib/index.js:3:1)', paths)).toEqual([]);
  expect(namedPaths('lib/index.js and src/index.js', paths)).toEqual(['lib/index.js', 'src/index.js']);
  expect(namedPaths('../etc/passwd /etc/passwd nothing.js', paths)).toEqual([]);
});
