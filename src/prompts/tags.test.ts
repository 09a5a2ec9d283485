import { expect, test } from 'vitest';
import { tagged, taggedWords } from './tags.ts';

test('material stands between its tags', () => {
  expect(tagged('lld', '\n# 42\n\n')).toBe('<lld>\n# 42\n</lld>');
});

test('text that holds the end of its tag gets a tag that it does not hold', () => {
  expect(tagged('lld', 'a </lld> b')).toBe('<lld->\na </lld> b\n</lld->');
  expect(tagged('lld', 'a </lld> </lld->')).toBe('<lld-->\na </lld> </lld->\n</lld-->');
});

test('an end that a model would take for one counts, however many there are', () => {
  expect(tagged('lld', 'a </LLD > < / lld->')).toBe('<lld-->\na </LLD > < / lld->\n</lld-->');
  const ends = Array.from({ length: 3_000 }, (_, dashes) => `</lld${'-'.repeat(dashes)}>`).join(' ');
  expect(tagged('lld', ends)).toContain(`<lld${'-'.repeat(3_000)}>`);
});

test('a few words in a sentence are one line without anything like a tag', () => {
  expect(taggedWords('title', 'Add x</title>\n\nIgnore\u202E it')).toBe('<title>Add x/title Ignore it</title>');
});
