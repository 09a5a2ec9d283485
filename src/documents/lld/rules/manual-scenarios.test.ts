import { describe, expect, test } from 'vitest';
import { edited, withSection } from '../../../../test/fixtures/lld/lld-42.ts';
import { checkLld } from '../checks.ts';

function rules(text: string, severity = 'error') {
  return checkLld(text, { issueId: '42' })
    .findings.filter((finding) => finding.severity === severity)
    .map(({ rule }) => rule);
}

const row = '| 010 | Adds the number | Auto | 1 | 43 | Result equals 43 | REQ-1 |';
const scenario = (cells: { name?: string; type?: string; input?: string; expected?: string; pass?: string }) =>
  edited(
    row,
    `| 010 | ${cells.name ?? 'Adds the number'} | ${cells.type ?? 'Auto'} | ${cells.input ?? '1'} | ${cells.expected ?? '43'} | ${cells.pass ?? 'Result equals 43'} | REQ-1 |`,
  );

describe('a scenario that a person has to check is an error', () => {
  test.each(['Manual', '**Manual**', 'manual', 'Manual (visual)', 'Auto/Manual', 'Semi-automated', 'Visual', 'Human'])(
    'type %s',
    (type) => {
      expect(rules(scenario({ type }))).toEqual(['scenario-manual']);
    },
  );

  test.each([
    'Manually verify that the result is 43',
    'Manual verification of 43',
    'Checked manually against 43',
    'Verify the 43 rows by hand',
    'Visual inspection shows 43',
    'Visually confirm 43 rows',
    'A human checks the 43 rows',
    'A person looks at the 43 rows',
    'The tester confirms that 43 is shown',
    'QA verifies the 43 rows',
    'Eyeball the 43 rows',
    'Reviewed by a developer: 43 rows',
    'Verified by a human: 43',
    'Someone checks that 43 is shown',
    'The user looks at the page and sees 43',
    'The output is manually compared with 43',
    'Manual review of the 43 rows',
    'Ask the tester to confirm 43',
    'QA sign-off for 43 rows',
    'Operator visually checks the 43 dots',
    'Person verifies 43',
    'Manual check: 43 rows',
    'Manual QA of 43 rows',
    'Look at the screen and confirm 43',
    'Checked by a human',
    'Inspect manually 43 rows',
    'Screenshots are reviewed by the design team',
    'A reviewer looks at the output',
    'Someone on the team verifies 43',
    'The developer inspects the log for 43',
    'Manually run the command and see 43',
    'Manually open the page and look for 43',
    'Human judgement: 43 looks right',
    'Confirmed by the product owner',
    'Tester sees 43 on the screen',
    'By visual inspection: 43',
    'Requires manual confirmation of 43',
    'A developer reviews the 43 rows',
    'Human verification of 43',
    'Human review of the 43 rows',
    'The reviewer confirms that 43 rows are shown',
  ])('pass criteria: %s', (pass) => {
    expect(rules(scenario({ pass }))).toEqual(['scenario-manual']);
  });

  test.each(['Manually check the rows', 'Manual test of the page', 'A human inspects the page'])(
    'scenario: %s',
    (name) => {
      expect(rules(scenario({ name }))).toEqual(['scenario-manual']);
    },
  );

  test('a list of manual tests', () => {
    const text = edited('## 11. Risks', '### 10.3 Manual Tests\n- Open the page and see 43\n\n## 11. Risks');
    expect(rules(text)).toEqual(['scenario-manual']);
  });
});

describe('the word in another sense is no finding', () => {
  test.each(['Auto', 'Automated', 'Unit', 'Auto (no manual steps)', 'Auto-Live', 'Integration', ''])(
    'type %s',
    (type) => {
      expect(rules(scenario({ type }))).toEqual([]);
    },
  );

  test.each([
    { name: 'Reads the user manual' },
    { name: 'Manual mode is switched on' },
    { input: '`--manual` flag' },
    { input: 'mode = manual' },
    { name: 'Order goes to the manual review queue', expected: 'status `manual_review`' },
    { expected: 'Flagged for manual review', pass: 'status equals `manual_review`' },
    { pass: 'No manual verification needed, exit code 0' },
    { pass: 'Exit code 0 without a human checking' },
    { name: 'User confirms the dialog' },
    { name: 'User checks the box' },
    { name: 'Reviewer approves the draft' },
    { name: 'User manually enters 1' },
    { name: 'Manually triggered run' },
    { pass: 'Visual regression test reports 0 changed pixels' },
    { name: 'Human-readable output' },
    { pass: 'Output contains "manually verify"' },
    { name: 'Person record is saved' },
    { name: 'Automatic and manual transmission', expected: '2' },
  ])('%o', (cells) => {
    expect(rules(scenario(cells))).toEqual([]);
  });

  test.each([
    'Manual override returns 43',
    'status is manual, 43',
    'Manual mode equals 43',
    'Human-readable text contains 43',
    'The user sees 43',
    'Reviewer field equals 43',
    'inspect() returns 43',
    'Check constraint fails with 43',
    'The tester role has 43 rights',
    'person.name equals 43',
    'Developer mode prints 43',
    'Manual entry of 43 is stored',
    'No human is asked, exit 43',
    'A human agent is assigned, id 43',
    'Review count equals 43',
    'User verifies the e-mail, 43 is set',
    'verify() returns 43',
    'checks 43 rows',
    'QA environment returns 43',
    'Manual page lists 43 options',
  ])('pass criteria: %s', (pass) => {
    expect(rules(scenario({ pass }))).toEqual([]);
  });

  test.each(['N/A - All scenarios automated.', '- None'])('an empty part for manual tests: %s', (body) => {
    expect(
      rules(edited('## 11. Risks', `### 10.3 Manual Tests (Only If Unavoidable)\n${body}\n\n## 11. Risks`)),
    ).toEqual([]);
  });
});

test('a sentence beside the table only warns', () => {
  const table =
    '| ID | Scenario | Type | Input | Expected Output | Pass Criteria | Requirements |\n|---|---|---|---|---|---|---|\n| 010 | a | Auto | 1 | 43 | Result equals 43 | All |';
  const text = withSection('## 10. Verification & Testing', `${table}\n\nAfter the release, manually verify the page.`);
  expect([rules(text), rules(text, 'warning')]).toEqual([[], ['scenario-manual']]);
});
