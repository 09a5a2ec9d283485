import { expect, test } from 'vitest';
import { readIssueDocument } from './document.ts';

const issue = (criterion: string): string =>
  `# X\n\n## Scenarios\n- S1: a\n- S2: b\n- S3: c\n\n## Requirements\n1. One\n2. Two\n\n## Acceptance Criteria\n- [ ] ${criterion}\n`;

test.each<[string, string, string[], string[]]>([
  ['The exit code is 0. (S1, R2)', 'The exit code is 0.', ['1'], ['2']],
  ['The exit code is 0 [S1–S3; REQ-1]', 'The exit code is 0', ['1', '2', '3'], ['1']],
  ['(S1) The exit code is 0.', 'The exit code is 0.', ['1'], []],
  ['S1, R1: the exit code is 0', 'the exit code is 0', ['1'], ['1']],
  ['AC4 – the exit code is 0 – S2', 'the exit code is 0', ['2'], []],
  ['AC-4: the exit code is 0. Covers: S1, 2 and R1.', 'the exit code is 0', ['1', '2'], ['1']],
  ['The exit code is 0 (S01, S-2 / R 1)', 'The exit code is 0', ['1', '2'], ['1']],
  ['The exit code is 0 (for scenario 1 and requirements 1 to 2)', 'The exit code is 0', ['1'], ['1', '2']],
  ['For scenario 2 the exit code is 0', 'For scenario 2 the exit code is 0', ['2'], []],
  ['It uploads 3 files to S3.', 'It uploads 3 files to S3.', [], []],
  ['It waits (5 s at most).', 'It waits (5 s at most).', [], []],
  ['Nothing is named', 'Nothing is named', [], []],
])('%s', (given, text, scenarios, requirements) => {
  expect(readIssueDocument(issue(given)).criteria).toMatchObject([{ text, scenarios, requirements }]);
});

test('FR-1 and NFR-1 of an issue are two requirements', () => {
  const text = '# X\n\n## Requirements\n- FR-1: a\n- NFR-1: b\n\n## Acceptance Criteria\n- [ ] Exit code 0. (NFR-1)\n';
  const { requirements, criteria } = readIssueDocument(text);
  expect(requirements.map(({ id }) => id)).toEqual(['FR-1', 'NFR-1']);
  expect(criteria[0]?.requirements).toEqual(['NFR-1']);
});

test('the steps below a scenario’s heading are no scenarios of their own', () => {
  const text = '# X\n\n## Scenarios\n### Scenario 1: Open\n1. Click\n2. Look\n\n### Scenario 2: Close\n1. Click\n';
  expect(readIssueDocument(text).scenarios.map(({ id }) => id)).toEqual(['1', '2']);
  const grouped = '# X\n\n## Scenarios\n### Opening\n1. Click\n\n### Closing\n2. Leave\n';
  expect(readIssueDocument(grouped).scenarios.map(({ id }) => id)).toEqual(['1', '2']);
});
