import { expect, test } from 'vitest';
import { coverageOf, formatCoverage } from './coverage.ts';

const entry = (number: number, text = `Text ${number}`) => ({ id: String(number), text, line: number });
const scenario = (name: string, ...covers: string[]) => ({ name, covers });

test('coverage is printed as a review prints it', () => {
  const coverage = coverageOf([entry(1), entry(2, 'a | b\nc')], [scenario('010', '1'), scenario('020', '1', '7')]);
  expect(formatCoverage(coverage)).toBe(
    [
      '| # | Requirement | Test(s) | Status |',
      '|---|-------------|---------|--------|',
      '| 1 | Text 1 | 010, 020 | ✓ Covered |',
      '| 2 | a \\| b c | – | ✗ Not covered |',
      '',
      '**Coverage Calculation:** 1 requirements covered / 2 total = **50%**',
    ].join('\n'),
  );
});

test.each([
  [0, 0, 0],
  [0, 3, 0],
  [3, 3, 100],
  [2, 3, 67],
  [999, 1000, 99],
  [1, 1000, 1],
])('%i of %i is %i percent', (covered, total, percent) => {
  const entries = Array.from({ length: total }, (_, index) => entry(index + 1));
  const coverage = coverageOf(entries, [scenario('010', ...entries.slice(0, covered).map(({ id }) => id))]);
  expect(coverage).toMatchObject({ covered, total, percent });
});
