import { describe, expect, test } from 'vitest';
import { readReview } from './reader.ts';

function findings(body: string, ticked: 'APPROVED' | 'REVISE' = 'REVISE'): string[] {
  const review = readReview(`# LLD Review: 42\n\n${body}\n\n## Verdict\n- [x] **${ticked}**\n`);
  return review.findings.map(({ tier, area, text }) => `${tier} ${area}: ${text}`);
}

describe('no finding', () => {
  test.each([
    'No issues found.',
    'No blocking issues found.',
    'No high-priority issues found. Context is complete.',
    'No issues found. API usage remains 1:1 with sequential execution; backoff strategies prevent waste.',
    'No blocking issues found in Cost, Safety, Security, or Legal categories.',
    'There are no concerns here.',
    '*None*',
    'None.',
    'N/A',
    '✅ No issues',
    'Nothing to report.',
    'Looks good',
    'Well designed, with clear boundaries.',
    'Excellent separation of concerns.',
    'Nice separation of concerns.',
    'Great job on the fail-closed defaults.',
    'Well done: API usage remains 1:1 with sequential execution.',
    'The approach is sound. The budget is clearly defined.',
    'The TDD plan is correctly set to "RED" status, adhering to the testing protocol.',
    '**Requirement Coverage:** PASS (100%). Previous gaps have been explicitly addressed.',
    'No blocking issues found, but see Tier 2.',
    'None identified at this time.',
    'I found no issues here.',
    'Input validation is thorough. No concerns.',
    'License compliance is confirmed (MIT).',
    'Dependencies are all MIT licensed.',
    'The design follows existing patterns and is clean.',
    'Cost controls are in place: retries are capped at 3 and a budget limit is enforced.',
    'Path traversal is prevented by the id regex.',
    'Secrets are never logged and keys are masked.',
    'No personal data is collected.',
    'No external API calls are made, so no cost impact.',
    '**Permissions:** No elevated permissions required.',
    '**Loop Bounds:** All loops have explicit limits.',
    '**Naming:** ✓ Consistent with the repository.',
    'Confirmed that the fail mode is fail-closed.',
  ])('%s', (text) => {
    expect(findings(`## Tier 1: BLOCKING Issues\n### Cost\n- [ ] ${text}`)).toEqual([]);
    expect(findings(`## Tier 2: HIGH PRIORITY Issues\n### Quality\n- ${text}`)).toEqual([]);
    expect(findings(`## Tier 1: BLOCKING Issues\n${text}`)).toEqual([]);
  });
});

describe('a finding after all', () => {
  test.each([
    'No issues found, except that retries are unbounded.',
    'Good approach, but the retry loop has no bound.',
    'Great idea, but the retry loop has no bound.',
    'Nice to have: a cache.',
    'Good job queue: retries never end.',
    'No timeout on the worker.',
    'No error handling for 429.',
    'No issues directory is created.',
    'The design is clearly writing outside the worktree.',
    'The coordinator is properly isolated; the worker writes to ~.',
    'Requirement Coverage: BLOCK. 50% coverage is below the threshold.',
    'Unresolved Open Questions: please mark them as resolved.',
    'State: must be in a `DONE` state before work starts.',
    'Fixed timeouts are used everywhere.',
    'No blocking issues found, though the retry loop has no bound.',
    'As noted above, tests write to the home directory.',
    'Safe mode is disabled by default.',
    'Correct the path in section 2.1.',
    'Complete the table of files.',
    'Fine-grained locking deadlocks when two workers swap.',
    'Handled exceptions hide the cause.',
    'Documented behaviour and code disagree.',
    'Explicitly uses eval on the config.',
    'Resolved paths are followed through symlinks.',
    'No licence is stated for the fixture.',
    'No external API calls are mocked in the tests.',
  ])('%s', (text) => {
    expect(findings(`## Tier 1: BLOCKING Issues\n### Cost\n- [ ] ${text}`)).toEqual([`1 Cost: ${text}`]);
  });
});

describe('the forms of a finding', () => {
  test.each([
    ['plain bullets', '## Tier 1 - Blocking\n- Writes to home.\n- Loops.', ['1 : Writes to home.', '1 : Loops.']],
    ['numbers', '## TIER 1\n1. **Scope:** writes to home.\n2. Loops.', ['1 : Scope: writes to home.', '1 : Loops.']],
    [
      'a paragraph and its recommendation',
      '## 🔴 Tier 1: BLOCKING\n### Safety\nThe design writes\nto the home directory.\n\n**Recommendation:** use the worktree.',
      ['1 Safety: The design writes to the home directory.\nRecommendation: use the worktree.'],
    ],
    [
      'paragraphs with bold leads',
      '## Blocking Issues\n### Safety\n**Scope:** writes to home.\n\n**Hygiene:** tests write to home.',
      ['1 Safety: Scope: writes to home.', '1 Safety: Hygiene: tests write to home.'],
    ],
    [
      'continuation paragraphs, points and code',
      '## Tier 1\n### Safety\n- [ ] **A:** wrong\n    - **Recommendation:** fix\n\n  Another paragraph.\n\n  ```ts\n  code\n  ```\n- [ ] **B:** x',
      ['1 Safety: A: wrong\n- Recommendation: fix\nAnother paragraph.\n```ts\ncode\n```', '1 Safety: B: x'],
    ],
    [
      'an unindented recommendation',
      '## Tier 1\n### Safety\n- [ ] **A:** wrong\n\n**Recommendation:** fix it.\n\n### Cost\nNone.',
      ['1 Safety: A: wrong\nRecommendation: fix it.'],
    ],
    [
      'boxes without list markers',
      '## Tier 1\n### Safety\n[ ] **A:** writes\nto home\n[ ] **B:** loops\n[ ] No issues found.',
      ['1 Safety: A: writes to home', '1 Safety: B: loops'],
    ],
    [
      'areas as leads',
      '## Tier 1\n- **Cost:** No issues found.\n- **Safety:** Writes to home.',
      ['1 Safety: Writes to home.'],
    ],
    [
      'bold lines as headings',
      '**Tier 1: BLOCKING Issues**\n\n**Safety**\n- [ ] Writes to home.\n\n**Tier 2: HIGH PRIORITY Issues**\n\n**Architecture:**\n- [ ] Duplication.',
      ['1 Safety: Writes to home.', '2 Architecture: Duplication.'],
    ],
    ['an area of its own', '## Tier 2\n### Performance & Scale\n- [ ] Slow.', ['2 Performance & Scale: Slow.']],
    ['a name as area', '## Tier 2\n### test_t110\n- [ ] It asserts nothing.', ['2 test_t110: It asserts nothing.']],
    [
      'the area in the tier heading',
      '## Tier 1: BLOCKING Issues (Security)\n- [ ] Leaks a key.',
      ['1 Security: Leaks a key.'],
    ],
    [
      'numbered headings',
      '## Tier 1\n### 1. Scope violation\nWrites to home.\n### 2. Unbounded retry\nLoops.',
      ['1 Scope violation: Writes to home.', '1 Unbounded retry: Loops.'],
    ],
    [
      'headings below an area',
      '## Tier 1\n### Safety\n#### Scope\nWrites to home.\n#### Hygiene\nTests too.\n### Cost\nNo issues found.',
      ['1 Scope: Writes to home.', '1 Hygiene: Tests too.'],
    ],
    [
      'headings of one depth',
      '## Tier 1\n## Cost\n- None\n## Safety\n- [ ] Writes to home.\n## Tier 2\n## Quality\n- [ ] Untested.',
      ['1 Safety: Writes to home.', '2 Quality: Untested.'],
    ],
    [
      'a table',
      '## Tier 1\n| # | Area | Issue | Recommendation |\n|---|---|---|---|\n| 1 | Safety | Writes to home | Use the worktree |\n| 2 | Cost | No issues found | - |',
      ['1 Safety: Writes to home – Use the worktree'],
    ],
    ['a list without tiers', '## Findings\n- **A:** bad\n- **Safety:** B leaks', ['2 : A: bad', '2 Safety: B leaks']],
    [
      'required changes',
      '## Required Changes (if BLOCKED)\n1. **Fix the table:** conflicting ids.',
      ['1 : Fix the table: conflicting ids.'],
    ],
    [
      'headings without a tier number',
      '## Non-Blocking Issues\n- Rename x\n## Blockers\n- [ ] Writes to home',
      ['3 Suggestions: Rename x', '1 : Writes to home'],
    ],
    [
      'an introduction',
      '## Tier 1\nThe following issues must be fixed:\n\n- [ ] Writes to home',
      ['1 : Writes to home'],
    ],
    [
      'a rule below a paragraph',
      '## Tier 1\nNo blocking issues found.\n---\n## Tier 2\n### Quality\nRequirement 4 is untested.\n---',
      ['2 Quality: Requirement 4 is untested.'],
    ],
    [
      'numbered sections',
      '## 4. Tier 1: BLOCKING Issues\n### 4.1 Cost\n- [ ] None.\n### 4.2 Safety\n- [ ] Writes to home.',
      ['1 Safety: Writes to home.'],
    ],
    [
      'earlier findings beside new ones',
      '## Previous Findings\n- [x] F1: fixed\n- [ ] F2: still open\n## Tier 1\n### Cost\n- [ ] **F2:** retry loop',
      ['1 Cost: F2: retry loop'],
    ],
    [
      'bold lines in one paragraph as headings',
      '**Tier 1: BLOCKING Issues**\n**Safety**\n- [ ] Writes to home.\n\n**Tier 2: HIGH PRIORITY Issues**\n**Quality**\n- [ ] Untested.',
      ['1 Safety: Writes to home.', '2 Quality: Untested.'],
    ],
    ['both tiers under one heading', '## Tier 1 & Tier 2 Issues\n- [ ] Writes to home.', ['2 : Writes to home.']],
    [
      'a verdict without a heading below the last tier',
      '## Tier 2\n### Quality\n- [ ] Untested.\n\n**Verdict:** REVISE\n\nHappy to look again.',
      ['2 Quality: Untested.'],
    ],
    ['a sign-off', '## Tier 2\n### Quality\n- [ ] None.\n\nLet me know if you need more.', []],
    ['a note after nothing', '## Tier 1\n### Safety\n- [ ] No issues found.\n\n*Note: nice use of atomic writes.*', []],
  ])('%s', (_, body, expected) => {
    expect(findings(body)).toEqual(expected);
  });
});

describe('settled findings', () => {
  test('struck out, RESOLVED, FIXED, or ticked beside open ones', () => {
    const body =
      '## Tier 1\n### Safety\n- [x] ~~**A:** writes to home~~ **RESOLVED**\n- [x] **B:** FIXED in this revision\n- [ ] **C:** unbounded\n- [ ] ~~**D**~~ resolved in round 2\n- [x] **E:** tests use temporary folders\n- [ ] F1: settled';
    expect(findings(body)).toEqual(['1 Safety: C: unbounded']);
  });

  test.each([
    'Leak: the handle is never closed.',
    'The socket is still open when the loop is done.',
    'Two writers can hold the lock, and the first one is not closed',
  ])('"%s" names a fault, and no settlement', (text) => {
    expect(findings(`## Tier 1\n### Safety\n- [ ] ${text}`)).toEqual([`1 Safety: ${text}`]);
    expect(findings(`## Tier 1\n### Safety\n- [ ] **A:** unbounded\n- [ ] ${text} CLOSED`)).toEqual([
      '1 Safety: A: unbounded',
    ]);
  });
});
