import { expect, test } from 'vitest';
import { createMask, MASK, maskedForms } from './mask.ts';
import { Secret } from './secret.ts';

test('a secret is masked as it is, inside JSON and in a URL', () => {
  const mask = createMask([new Secret('pa"ss wörd')]);
  const url = `https://host/?key=${encodeURIComponent('pa"ss wörd')}`;
  expect(mask(`pa"ss wörd ${JSON.stringify({ key: 'pa"ss wörd' })} ${url}`)).toBe(
    `${MASK} {"key":"${MASK}"} https://host/?key=${MASK}`,
  );
});

test('a short dummy is not maskable, so ordinary words stay', () => {
  expect(maskedForms(['test', '', 'abc', 'a1!'])).toEqual([]);
  expect(maskedForms(['k-12', 'longword'])).toEqual(['longword', 'k-12']);
});

test('a value with half a surrogate pair is no reason to fail', () => {
  expect(maskedForms(['12345678\uD800'])).toContain('12345678\uD800');
});
