import { expect } from 'vitest';
import type { Ended } from './program.ts';

/** How every bad input ends: exit code 2, nothing on stdout, one line that says what is wrong and one that says what to do. */
export function expectRefusal(
  { code, signal, stdout, stderr }: Ended,
  what: string | RegExp,
  todo: string | RegExp,
): void {
  const lines = stderr.split('\n');
  expect({ code, signal, stdout, lines: lines.length }, stderr).toEqual({
    code: 2,
    signal: null,
    stdout: '',
    lines: 3,
  });
  expect(lines[0]).toMatch(/^error: \S/);
  expect(lines[0]).toMatch(what);
  expect(lines[1]).toMatch(todo);
  expect(stderr).not.toMatch(/\p{Cc}(?<!\n)|\n {4}at /u);
}
