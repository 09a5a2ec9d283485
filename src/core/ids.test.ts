import { expect, test } from 'vitest';
import { codeOf } from './errors.ts';
import { isItemId, parseItemId } from './ids.ts';

test.each(['42', 'a', 'A-b_9', '-', '_', 'x'.repeat(64)])('%j is an id', (text) => {
  expect(parseItemId(text)).toBe(text);
});

test.each([
  '',
  ' ',
  '..',
  '../42',
  'a/b',
  'a\\b',
  'a b',
  '42\n',
  '\n42',
  '4.2',
  'ü',
  '４２',
  '42\0',
  '$(id)',
  'a\u001B[31m',
  'x'.repeat(65),
])('%j is refused', (text) => {
  expect(isItemId(text)).toBe(false);
  let thrown: unknown;
  try {
    parseItemId(text);
  } catch (error) {
    thrown = error;
  }
  expect(codeOf(thrown)).toBe('bad-id');
});
