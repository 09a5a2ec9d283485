import { expect, test } from 'vitest';
import { failingPart } from './reason.ts';

test('of a log the step that failed is shown, without stamps, colours and groups', () => {
  const stamp = '2026-03-01T10:00:00.0000000Z ';
  const noise = Array.from({ length: 5_000 }, (_, at) => `${stamp}line ${at}`);
  const cause = [`${stamp}\u001B[31mTypeError: x\u001B[0m`, `${stamp}##[error]Process completed with exit code 1.`];
  const shown = failingPart([...noise, ...cause, ...noise].join('\r\n'));
  expect(shown.split('\n').slice(-7)).toEqual([
    'line 4999',
    'TypeError: x',
    '##[error]Process completed with exit code 1.',
    'line 0',
    'line 1',
    'line 2',
    'line 3',
  ]);
  expect(shown.length).toBeLessThan(2_000);
});

test('without such a step it is the first errors and the end, within a bound', () => {
  const lines = Array.from({ length: 3_000 }, (_, at) => `word ${at} ${'x'.repeat(600)}`);
  lines[10] = 'Error: the first cause';
  const shown = failingPart(`section_start:1:build\r${lines.join('\n')}\nlast words\n`);
  expect(shown).toMatch(/^Error: the first cause\n/);
  expect(shown).toMatch(/last words$/);
  expect(shown).not.toContain('section_start');
  expect(shown.length).toBeLessThan(8_100);
});
