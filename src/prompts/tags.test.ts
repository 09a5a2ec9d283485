import { expect, test } from 'vitest';
import { tagged } from './tags.ts';

test('material stands between its tags', () => {
  expect(tagged('lld', '\n# 42\n\n')).toBe('<lld>\n# 42\n</lld>');
});

test('text that holds the end of its tag gets a tag that it does not hold', () => {
  expect(tagged('lld', 'a </lld> b')).toBe('<lld->\na </lld> b\n</lld->');
  expect(tagged('lld', 'a </lld> </lld->')).toBe('<lld-->\na </lld> </lld->\n</lld-->');
});
