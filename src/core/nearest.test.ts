import { expect, test } from 'vitest';
import { nearest } from './nearest.ts';

test('the word that was probably meant comes first, whatever its case', () => {
  expect(nearest('MAXROUND', ['maxRetries', 'maxRounds', 'timeout'])).toEqual(['maxRounds']);
  expect(nearest('138', ['137', '42', '139', '136', '1380'])).toEqual(['136', '137', '1380']);
});

test('two letters that changed places are one mistake', () => {
  expect(nearest('ldl', ['lld', 'logs'])).toEqual(['lld']);
  expect(nearest('24', ['42', '57'])).toEqual(['42']);
});

test('what is one letter long is near to nothing, and one letter is near to no word', () => {
  expect(nearest('7', ['1', '2', '17', '70'])).toEqual([]);
  expect(nearest('99', ['9', '1', '100'])).toEqual([]);
  expect(nearest('plan', ['clean', 'lld'])).toEqual([]);
});

test('a word that resembles nothing gets no suggestion', () => {
  expect(nearest('nonsense', ['models', 'bounds'])).toEqual([]);
  expect(nearest('ab', ['xy'])).toEqual([]);
  expect(nearest('anything', [])).toEqual([]);
});
