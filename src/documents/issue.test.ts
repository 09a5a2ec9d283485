import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editedIssue, issueWithSection, SAMPLE_ISSUE } from '../../test/support/sample-issue.ts';
import { checkIssue, readIssueDocument } from './issue.ts';
import template from './issue-template.md';

function found(text: string): string[] {
  return checkIssue(text).findings.map(({ rule, severity }) => `${severity} ${rule}`);
}

function withoutSection(title: string): string {
  return issueWithSection(title, '').replace(`## ${title}\n\n`, '');
}

function numbered(count: number, line: (number: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index + 1)).join('\n');
}

test('the sample passes, with every requirement covered', () => {
  const { findings, coverage } = checkIssue(SAMPLE_ISSUE);
  expect(findings).toEqual([]);
  expect(coverage).toMatchObject({ covered: 2, total: 2, percent: 100 });
  expect(coverage.rows[1]).toMatchObject({ requirement: '2', scenarios: ['AC2'] });
});

test('front matter, CRLF and a byte-order mark change nothing', () => {
  expect(found(`\uFEFF---\nbrief: quota\n---\n\n${SAMPLE_ISSUE}`.replaceAll('\n', '\r\n'))).toEqual([]);
});

describe('one thing broken gives exactly its finding', () => {
  test.each<[string, string, string[]]>([
    ['no title', editedIssue('# Retry calls that met a quota\n', ''), ['error title']],
    ['no user story', withoutSection('User Story'), ['error section-missing']],
    ['no objective', withoutSection('Objective'), ['error section-missing']],
    ['no definition of done', withoutSection('Definition of Done'), ['error section-missing']],
    ['nothing out of scope', withoutSection('Out of Scope'), ['error section-missing']],
    ['an empty objective', issueWithSection('Objective', ''), ['error section-empty']],
    ['an objective of comments', issueWithSection('Objective', '<!-- later -->'), ['error section-empty']],
    ['empty scenarios', issueWithSection('Scenarios of Use', ''), ['error section-empty']],
    ['a section twice', `${SAMPLE_ISSUE}\n## Objective\nAgain.\n`, ['warning section-repeated']],
    [
      'sections out of order',
      `${withoutSection('Objective')}\n## Objective\nThe batch ends.\n`,
      ['warning section-order'],
    ],
    [
      'scenarios without numbers',
      issueWithSection('Scenarios of Use', '- Quota comes back.\n- It stays away.'),
      ['error scenario-none'],
    ],
    [
      'a scenario number twice',
      editedIssue('**S2 –', '**S1 –'),
      ['error scenario-duplicate', 'error criterion-unknown-reference'],
    ],
    ['a scenario without a criterion', editedIssue('(S2, R2)', '(R2)'), ['error scenario-uncovered']],
    ['a requirement without a criterion', editedIssue('(S2, R2)', '(S2)'), ['error requirement-uncovered']],
    [
      'a criterion for a scenario that is not there',
      editedIssue('(S2, R2)', '(S2, S7, R2)'),
      ['error criterion-unknown-reference'],
    ],
    [
      'a criterion that settles nothing',
      editedIssue('(S2, R2)', '(S2, R2)\n- [ ] The log has 1 line.'),
      ['warning criterion-unlinked'],
    ],
    [
      'requirements without numbers',
      issueWithSection('Requirements', '- Calls are made again.'),
      ['error requirement-none'],
    ],
    ['criteria that are prose', issueWithSection('Acceptance Criteria', 'It is tested.'), ['error criterion-none']],
    [
      'a vague criterion',
      editedIssue('With 429 for ever, the vendor sees 6 calls and the exit code is 75.', 'It works as expected.'),
      ['error criterion-vague'],
    ],
    [
      'a criterion that says nothing but its references',
      editedIssue('With 429 for ever, the vendor sees 6 calls and the exit code is 75.', ''),
      ['error criterion-vague'],
    ],
    [
      'text of the template',
      editedIssue('Calls', '{{a statement}}', SAMPLE_ISSUE.replace('Retry calls', 'Calls')),
      ['error template-text'],
    ],
    [
      'a hint of the template',
      editedIssue(
        '## Requirements\n',
        '## Requirements\n<!-- Numbered in one sequence: what must hold, not how it is built. -->\n',
      ),
      ['warning template-text'],
    ],
    ['TBD alone', issueWithSection('Objective', 'TBD'), ['error template-text']],
    ['criteria that name no requirement, once', SAMPLE_ISSUE.replaceAll(/, R\d\)/g, ')'), ['error criterion-unlinked']],
    [
      'numbers that begin again, once',
      editedIssue('\n## Acceptance', '\n### More\n1. Calls wait.\n2. They end.\n\n## Acceptance'),
      ['error requirement-duplicate'],
    ],
    ['an open question', issueWithSection('Open Questions', '- [ ] Is TBD a number?'), ['warning open-question']],
    ['many requirements', manyRequirements(20), []],
    ['too many requirements', manyRequirements(21), ['warning issue-size']],
  ])('%s', (_, text, expected) => {
    expect(text).not.toBe(SAMPLE_ISSUE);
    expect(found(text)).toEqual(expected);
  });
});

function manyRequirements(count: number): string {
  const requirements = issueWithSection(
    'Requirements',
    numbered(count, (number) => `${number}. Call ${number} waits.`),
  );
  return editedIssue('(S2, R2)', `(S2, R1-R${count})`, requirements);
}

describe('other ways to write the same', () => {
  test.each<[string, string]>([
    ['no open questions', withoutSection('Open Questions')],
    ['all headings on one level', SAMPLE_ISSUE.replaceAll('## ', '# ')],
    ['scenarios as a numbered list', SAMPLE_ISSUE.replaceAll(/- \*\*S(\d) – /g, '$1. **')],
    ['scenarios as headings', SAMPLE_ISSUE.replaceAll(/- \*\*S(\d) – ([^:]+):\*\*/g, '### Scenario $1: $2\n\n')],
    [
      'a table of scenarios',
      issueWithSection('Scenarios of Use', '| ID | Scenario |\n|---|---|\n| S1 | Quota back |\n| S2 | Quota away |'),
    ],
    [
      'references in front',
      issueWithSection(
        'Acceptance Criteria',
        '- [ ] **AC1 (S1, R1):** The vendor sees 2 calls.\n- [ ] (S2, R2) The vendor sees 6 calls.',
      ),
    ],
    [
      'other names of sections',
      SAMPLE_ISSUE.replace('Scenarios of Use', 'Usage Scenarios').replace('## Out of Scope', '## 6. Non-Goals'),
    ],
  ])('%s', (_, text) => {
    expect(text).not.toBe(SAMPLE_ISSUE);
    expect(found(text)).toEqual([]);
  });
});

test('an issue that is called like one of its sections keeps its title', () => {
  expect(found(editedIssue('# Retry calls that met a quota', '# Requirements'))).toEqual([]);
});

test('the template itself is held back', () => {
  expect(new Set(found(template))).toContain('error template-text');
});

test('findings are in document order, on one line each, and say what to do', () => {
  const broken = editedIssue('(S2, R2)', '(R9)', issueWithSection('Objective', ''));
  const { findings } = checkIssue(broken);
  expect(findings.map(({ rule }) => rule)).toEqual([
    'section-empty',
    'scenario-uncovered',
    'requirement-uncovered',
    'criterion-unknown-reference',
  ]);
  for (const { message } of findings) expect(message).toMatch(/^[^\n]+: [^\n]+\.$/);
});

test('damaged documents are checked without an exception', () => {
  const lines = SAMPLE_ISSUE.split('\n');
  fc.assert(
    fc.property(
      fc.array(fc.nat(lines.length - 1), { maxLength: 20 }),
      fc.nat(SAMPLE_ISSUE.length),
      fc.string(),
      (dropped, at, noise) => {
        const kept = lines.filter((_, index) => !dropped.includes(index)).join('\n');
        const text = `${kept.slice(0, at)}${noise}${kept.slice(at)}`;
        const { findings } = checkIssue(text);
        expect(findings.every(({ line }) => line >= 1 && line <= text.split('\n').length + 1)).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

const withCriterion = (criterion: string): string =>
  `# X\n\n## Scenarios\n- S1: a\n- S2: b\n- S3: c\n\n## Requirements\n1. One\n2. Two\n\n## Acceptance Criteria\n- [ ] ${criterion}\n`;

test.each<[string, string, string[], string[]]>([
  ['The exit code is 0. (S1, R2)', 'The exit code is 0.', ['1'], ['2']],
  ['The exit code is 0 [S1–S3; REQ-1]', 'The exit code is 0', ['1', '2', '3'], ['1']],
  ['(S1) The exit code is 0.', 'The exit code is 0.', ['1'], []],
  ['AC-4: the exit code is 0 (covers S1, 2 and R1)', 'the exit code is 0', ['1', '2'], ['1']],
  ['The exit code is 0 (S01, S-2 / R 1)', 'The exit code is 0', ['1', '2'], ['1']],
  ['The exit code is 0 (for scenario 1 and requirements 1 to 2)', 'The exit code is 0', ['1'], ['1', '2']],
  ['It uploads 3 files to S3.', 'It uploads 3 files to S3.', [], []],
  ['It waits (5 s at most).', 'It waits (5 s at most).', [], []],
  ['Nothing is named', 'Nothing is named', [], []],
])('%s', (given, text, scenarios, requirements) => {
  expect(readIssueDocument(withCriterion(given)).criteria).toMatchObject([{ text, scenarios, requirements }]);
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
