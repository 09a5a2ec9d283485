import { expect, test } from 'vitest';
import { typescriptErrors, withPrintedErrors } from './javascript.ts';

const PLAIN = `src/a.ts(1,19): error TS2307: Cannot find module './b' or its corresponding type declarations.
src/a.ts(3,1): error TS2322: Type 'A' is not assignable to type 'B'.
  Property 'x' is missing in type 'A'.
test/c.test.ts(1,10): error TS2305: Module '"../src/a"' has no exported member 'nope'.
`;
const PRETTY =
  "\u001B[96mtest/n.test.ts\u001B[0m:\u001B[93m1\u001B[0m:\u001B[93m10\u001B[0m - \u001B[91merror\u001B[0m\u001B[90m TS2305: \u001B[0mModule '\"../src/a\"' has no exported member 'nope'.\n\n\u001B[7m1\u001B[0m import { nope } from '../src/a';\n";

test('errors are read in both of the forms in which the compiler writes them', () => {
  expect(typescriptErrors(PLAIN).map(({ file, code }) => [file, code])).toEqual([
    ['src/a.ts', 2307],
    ['src/a.ts', 2322],
    ['test/c.test.ts', 2305],
  ]);
  expect(typescriptErrors(PLAIN)[1]?.text).toContain("Property 'x' is missing");
  expect(typescriptErrors(PRETTY).map(({ file, code }) => [file, code])).toEqual([['test/n.test.ts', 2305]]);
});

test('a script that stops at the compiler has a load failure for every file with errors', () => {
  const report = withPrintedErrors(null, { stdout: PLAIN, stderr: '', exitCode: 2 }, (path) => path);
  expect(report?.loadFailures.map(({ file }) => file)).toEqual(['src/a.ts', 'test/c.test.ts']);
  const other = { stdout: 'hello', stderr: 'error: other', exitCode: 1 };
  expect(withPrintedErrors(null, other, (path) => path)).toBeNull();
});

test('a module that lacks a name, or that Node can not read, is a load failure though no report tells of it', () => {
  const place = "file:///w/test/b.test.mjs:1\nimport { nope } from '../src/b.mjs';\n         ^^^^\n";
  const stderr = `${place}SyntaxError: The requested module '../src/b.mjs' does not provide an export named 'nope'\n    at x\n\nNode.js v24.1.0\nmore\n`;
  const report = withPrintedErrors(null, { stdout: '', stderr, exitCode: 1 }, (path) => path.replace('file:///w/', ''));
  expect(report?.loadFailures.map(({ file }) => file)).toEqual(['test/b.test.mjs']);
  expect(report?.loadFailures[0]?.message).toMatch(/^file:[^]*named 'nope'\n {4}at x$/);
});
