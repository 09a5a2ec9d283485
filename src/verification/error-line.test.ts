import { expect, test } from 'vitest';
import { errorLine, errorMessage } from './error-line.ts';

const PYTEST = `ImportError while importing test module '/x/tests/test_a.py'.
Traceback:
tests/test_a.py:3: in <module>
    from calc.ading import add
E   ModuleNotFoundError: No module named 'calc.ading'`;

test('an error is told before the heading over it', () => {
  expect(errorLine(PYTEST)).toBe("ModuleNotFoundError: No module named 'calc.ading'");
});

test('without an error in its own form, the first line that speaks of one is told, or the first of all', () => {
  expect(errorLine('# a package\na_test.go:3:1: undefined: Add')).toBe('a_test.go:3:1: undefined: Add');
  expect(errorLine('\nnothing of note\n')).toBe('nothing of note');
  expect(errorLine('')).toBe('');
});

test('of several reasons the one that is nobody else’s fault is told, judged by line or by paragraph', () => {
  const lines = 'a_test.go:3:1: undefined: calc.Add\na_test.go:4:1: undefined: strings.Nwe';
  expect(errorLine(lines, (part) => part.endsWith('calc.Add'))).toContain('strings.Nwe');
  const paragraphs = 'error[E0432]: unresolved import `a`\n --> tests/a.rs:1\n\nerror: expected `;`\n --> tests/a.rs:2';
  expect(errorLine(paragraphs, (part) => part.includes('a.rs:1'))).toBe('error: expected `;`');
});

test('the whole of what was said follows where it is more than that line', () => {
  expect(errorMessage('SyntaxError: no')).toBe('SyntaxError: no');
  expect(errorMessage('x.js:1\nSyntaxError: no')).toBe('SyntaxError: no\nx.js:1\nSyntaxError: no');
});
