import { expect, test } from 'vitest';
import { citedRequirements, requirementReferences } from './requirement-references.ts';

test.each([
  ['1', [1]],
  ['R1', [1]],
  ['REQ-1', [1]],
  ['REQ-01', [1]],
  ['REQ 1', [1]],
  ['Req. 1', [1]],
  ['Requirement 1', [1]],
  ['#1', [1]],
  ['**REQ-1**', [1]],
  ['`REQ-1`', [1]],
  ['(1)', [1]],
  ['1, 2', [1, 2]],
  ['1 2', [1, 2]],
  ['REQ-1, REQ-2', [1, 2]],
  ['R1; R2 and R3', [1, 2, 3]],
  ['R1/R2', [1, 2]],
  ['Reqs 1 & 2', [1, 2]],
  ['R1-R3', [1, 2, 3]],
  ['1–3', [1, 2, 3]],
  ['REQ-1 to REQ-3', [1, 2, 3]],
  ['R1..R3', [1, 2, 3]],
  ['R1-R2, R4', [1, 2, 4]],
  ['1, 1', [1]],
  ['3.1', [1]],
  ['3.1, 3.2', [1, 2]],
  ['REQ-12', [12]],
  ['All', [1, 2, 3, 4]],
  ['all requirements', [1, 2, 3, 4]],
  ['REQ-1: returns 43', [1]],
  ['R1 (3 retries)', [1]],
  ['', []],
  ['-', []],
  ['—', []],
  ['N/A', []],
  ['None', []],
  ['T010', []],
])('%s', (cell, expected) => {
  expect(requirementReferences(cell, [1, 2, 3, 4])).toEqual(expected);
});

test.each([
  ['`__init__.py` in root (REQ-1)', [1]],
  ['Adds (R1, R2)', [1, 2]],
  ['Requirement 3 holds', [3]],
  ['R2 bucket is empty', []],
  ['issue #1 with 3 retries', []],
])('cited in running text: %s', (text, expected) => {
  expect(citedRequirements(text)).toEqual(expected);
});
