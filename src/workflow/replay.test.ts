import { expect, test } from 'vitest';
import { confirmedFindings } from './replay.ts';

const BEFORE = `# 1 - Feature: X

## 2. Proposed Changes
### 2.1 Files Changed
| \`src/a.js\` | Add | A |
### 2.6 Technical Approach
No state.

## 3. Requirements
1. Adds.
2. Refuses text with an error.

## 10. Verification & Testing
| 010 | Adds | Auto |
| 020 | Refuses | Auto |

## Appendix: Review Log
| Finding | Answer |
|---|---|
| None | Draft |
`;

const changed = (from: string, to: string): [string, string][] => [[BEFORE, BEFORE.replace(from, to)]];

test.each([
  ['Section 2.6 has no bound.', changed('No state.', 'Bounded.'), 1],
  ['Section 2 has no bound.', changed('No state.', 'Bounded.'), 1],
  ['Section 2.1 lacks a file.', changed('No state.', 'Bounded.'), 0],
  ['Requirement 2 is vague.', changed('with an error', 'with a TypeError'), 1],
  ['Requirement 1 is vague.', changed('with an error', 'with a TypeError'), 0],
  ['Scenario 020 is manual.', changed('Refuses | Auto', 'Refuses | Guard'), 1],
  ['Scenario 010 is manual.', changed('Refuses | Auto', 'Refuses | Guard'), 0],
  ['`src/a.js` is there already.', changed('src/a.js', 'src/b.js'), 1],
  [
    'The largest value is unbounded.',
    changed('No state.', 'The largest value is 1000, unbounded ones are refused.'),
    1,
  ],
  ['The cache is never invalidated.', changed('No state.', 'The largest value is 1000.'), 0],
  ['Section 3 is thin.', changed('| None | Draft |', '| Section 3 is thin | Open |'), 0],
])('%s', (finding, changes, expected) => {
  expect(confirmedFindings([finding], changes)).toBe(expected);
});
