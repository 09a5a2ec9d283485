import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

test('the word that was probably meant comes first, whatever its case', () => {
  expect(nearest('MAXROUND', ['maxRetries', 'maxRounds', 'timeout'])).toEqual(['maxRounds']);
  expect(nearest('138', ['137', '42', '139', '136', '1380'])).toEqual(['136', '137', '1380']);
});

test('a word that resembles nothing gets no suggestion', () => {
  expect(nearest('nonsense', ['models', 'bounds'])).toEqual([]);
  expect(nearest('ab', ['xy'])).toEqual([]);
  expect(nearest('anything', [])).toEqual([]);
});
