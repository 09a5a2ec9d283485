import { expect, test } from 'vitest';
import { withSection } from '../../test/fixtures/lld/lld-42.ts';
import { citedRequirements, coverageOf, formatCoverage, requirementReferences } from './coverage.ts';
import { readLld } from './lld/document.ts';

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

test.each([
  ['1', ['1']],
  ['R1', ['1']],
  ['REQ-1', ['1']],
  ['REQ-01', ['1']],
  ['REQ 1', ['1']],
  ['Req. 1', ['1']],
  ['Requirement 1', ['1']],
  ['#1', ['1']],
  ['**REQ-1**', ['1']],
  ['`REQ-1`', ['1']],
  ['(1)', ['1']],
  ['1, 2', ['1', '2']],
  ['1 2', ['1', '2']],
  ['REQ-1, REQ-2', ['1', '2']],
  ['R1; R2 and R3', ['1', '2', '3']],
  ['R1/R2', ['1', '2']],
  ['Reqs 1 & 2', ['1', '2']],
  ['R1-R3', ['1', '2', '3']],
  ['1–3', ['1', '2', '3']],
  ['REQ-1 to REQ-3', ['1', '2', '3']],
  ['R1..R3', ['1', '2', '3']],
  ['R1-R2, R4', ['1', '2', '4']],
  ['1, 1', ['1']],
  ['REQ-12', ['12']],
  ['All', ['1', '2', '3', '4']],
  ['all requirements', ['1', '2', '3', '4']],
  ['REQ-1: returns 43', ['1']],
  ['R1 (3 retries)', ['1']],
  ['', []],
  ['-', []],
  ['—', []],
  ['N/A', []],
  ['None', []],
  ['T010', []],
])('%s', (cell, expected) => {
  expect(requirementReferences(cell, ['1', '2', '3', '4'])).toEqual(expected);
});

test.each([
  ['`__init__.py` in root (REQ-1)', ['1']],
  ['Adds (R1, R2)', ['1', '2']],
  ['Requirement 3 holds', ['3']],
  ['R2 bucket is empty', []],
  ['issue #1 with 3 retries', []],
])('cited in running text: %s', (text, expected) => {
  expect(citedRequirements(text, ['1', '2', '3'])).toEqual(expected);
});

const KINDS = ['FR-1', 'FR-2', 'NFR-1'];
test.each<[string, string[], string[]]>([
  ['FR-1', KINDS, ['FR-1']],
  ['NFR-1', KINDS, ['NFR-1']],
  ['FR1, NFR1', KINDS, ['FR-1', 'NFR-1']],
  ['FR-1 to FR-9', KINDS, ['FR-1', 'FR-2']],
  ['2', KINDS, ['FR-2']],
  ['NFR-2', KINDS, ['NFR-2']],
  ['REQ-1, R1', ['REQ-1', 'R1'], ['REQ-1', 'R1']],
  ['FR-1, NFR-1, REQ-1, R1', ['FR-1', 'NFR-1', 'REQ-1', 'R1'], ['FR-1', 'NFR-1', 'REQ-1', 'R1']],
  ['R010–R090', ['10', '20', '90', '100'], ['10', '20', '90']],
  ['R1', ['1'], ['1']],
  ['FR-1', ['1'], ['1']],
])('%s where %j are known', (cell, known, expected) => {
  expect(requirementReferences(cell, known)).toEqual(expected);
});

test('four kinds in one document are four requirements, one kind is a number', () => {
  const ids = (body: string) => readLld(withSection('## 3. Requirements', body)).requirements.map(({ id }) => id);
  expect(ids('- FR-1: a\n- NFR-1: b\n- REQ-1: c\n- R1: d')).toEqual(['FR-1', 'NFR-1', 'REQ-1', 'R1']);
  expect(ids('- REQ-1: a\n- REQ-2: b')).toEqual(['1', '2']);
});
