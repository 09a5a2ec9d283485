import { expect, test } from 'vitest';
import { printedReasons } from './load-reasons.ts';

const reasons = (output: string, ...files: string[]) => Object.fromEntries(printedReasons(output, files, ['/w t']));

test('what was printed above the result of a file is about it', () => {
  const output = `noise
Error: Cannot find module '/w t/src/x.js' imported from /w t/src/y.js

Node.js v24.0.0
✖ test/a.test.js (5ms)
file:///w%20t/test/b.test.js:2
SyntaxError: Unexpected end of input

Node.js v24.0.0
\u001B[31m✖ test/b.test.js\u001B[39m (5ms)`;
  const found = reasons(output, 'test/a.test.js', 'test/b.test.js');
  expect(found['test/a.test.js']).toContain('Cannot find module');
  expect(found['test/a.test.js']).not.toContain('SyntaxError');
  expect(found['test/b.test.js']).toMatch(/^file:[^]*SyntaxError/);
  expect(found['test/b.test.js']).not.toContain('Cannot find');
});

test("TAP's comments are read as they were printed, and its diagnostics are left out", () => {
  const output = `# Error: no such thing
#     at \\#load (x:1:1)
# Subtest: test/a.test.js
not ok 1 - test/a.test.js
  ---
  location: '/w t/test/a.test.js:1:1'
  ...
# SyntaxError: other
# Subtest: test/b.test.js
not ok 2 - test/b.test.js`;
  const found = reasons(output, 'test/a.test.js', 'test/b.test.js');
  expect(found['test/a.test.js']).toMatch(/^Error: no such thing\n {4}at #load/);
  expect(found['test/b.test.js']).toMatch(/^SyntaxError: other/);
});

test('what names several of the files explains none of them', () => {
  expect(reasons('test/a.js and test/b.js: no', 'test/a.js', 'test/b.js')).toEqual({});
});

test('a longer path is another file', () => {
  const found = reasons('x/test/a.js: one\n✖ 1\n./test/a.js: two\n✖ 2\ntest/a.js.map: three', 'test/a.js');
  expect(found).toEqual({ 'test/a.js': './test/a.js: two\n✖ 2' });
});

test('a single file that nothing names gets the end of the output, and several get none', () => {
  expect(reasons('went wrong', 'test/a.js')).toEqual({ 'test/a.js': 'went wrong' });
  expect(reasons('went wrong', 'test/a.js', 'test/b.js')).toEqual({});
  expect(reasons(' \n', 'test/a.js')).toEqual({});
});
