import { expect, test } from 'vitest';
import { readReferences } from './references.ts';

const known = { scenarios: [1, 2, 3], requirements: [1, 2] };

test.each<[string, string, number[], number[]]>([
  ['The exit code is 0. (S1, R2)', 'The exit code is 0.', [1], [2]],
  ['The exit code is 0 [S1–S3; REQ-1]', 'The exit code is 0', [1, 2, 3], [1]],
  ['(S1) The exit code is 0.', 'The exit code is 0.', [1], []],
  ['S1, R1: the exit code is 0', 'the exit code is 0', [1], [1]],
  ['AC4 – the exit code is 0 – S2', 'the exit code is 0', [2], []],
  ['AC-4: the exit code is 0. Covers: S1, 2 and R1.', 'the exit code is 0', [1, 2], [1]],
  ['The exit code is 0 (S01, S-2 / R 1)', 'The exit code is 0', [1, 2], [1]],
  ['The exit code is 0 (for scenario 1 and requirements 1 to 2)', 'The exit code is 0', [1], [1, 2]],
  ['For scenario 2 the exit code is 0', 'For scenario 2 the exit code is 0', [2], []],
  ['It uploads 3 files to S3.', 'It uploads 3 files to S3.', [], []],
  ['It waits (5 s at most).', 'It waits (5 s at most).', [], []],
  ['Exit code 0 for all scenarios', 'Exit code 0 for all scenarios', [1, 2, 3], []],
  ['Nothing is named', 'Nothing is named', [], []],
])('%s', (given, text, scenarios, requirements) => {
  expect(readReferences(given, known)).toEqual({ text, references: { scenarios, requirements } });
});
