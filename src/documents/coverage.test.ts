import { expect, test } from 'vitest';
import { coverageOf, formatCoverage } from './coverage.ts';

const row = (requirement: number, scenarios: string[]) => ({
  requirement: String(requirement),
  text: `Text ${requirement}`,
  scenarios,
});

test('coverage is printed as a review prints it', () => {
  const coverage = coverageOf([row(1, ['010', '020']), { requirement: '2', text: 'a | b\nc', scenarios: [] }]);
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
  const coverage = coverageOf(
    Array.from({ length: total }, (_, index) => row(index + 1, index < covered ? ['010'] : [])),
  );
  expect(coverage).toMatchObject({ covered, total, percent });
});
