import { expect, test } from 'vitest';
import { tellingLine, tellingMessage } from './telling-line.ts';

const PYTEST = `ImportError while importing test module '/x/tests/test_a.py'.
Traceback:
tests/test_a.py:3: in <module>
    from calc.ading import add
E   ModuleNotFoundError: No module named 'calc.ading'`;

test('an error is told before the heading over it', () => {
  expect(tellingLine(PYTEST)).toBe("ModuleNotFoundError: No module named 'calc.ading'");
});

test('without an error in its own form, the first line that speaks of one is told, or the first of all', () => {
  expect(tellingLine('# a package\na_test.go:3:1: undefined: Add')).toBe('a_test.go:3:1: undefined: Add');
  expect(tellingLine('\nnothing of note\n')).toBe('nothing of note');
  expect(tellingLine('')).toBe('');
});

test('of several reasons the one that is nobody else’s fault is told, judged by line or by paragraph', () => {
  const lines = 'a_test.go:3:1: undefined: calc.Add\na_test.go:4:1: undefined: strings.Nwe';
  expect(tellingLine(lines, (part) => part.endsWith('calc.Add'))).toContain('strings.Nwe');
  const paragraphs = 'error[E0432]: unresolved import `a`\n --> tests/a.rs:1\n\nerror: expected `;`\n --> tests/a.rs:2';
  expect(tellingLine(paragraphs, (part) => part.includes('a.rs:1'))).toBe('error: expected `;`');
});

test('the whole of what was said follows where it is more than that line', () => {
  expect(tellingMessage('SyntaxError: no')).toBe('SyntaxError: no');
  expect(tellingMessage('x.js:1\nSyntaxError: no')).toBe('SyntaxError: no\nx.js:1\nSyntaxError: no');
});
