import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isTrustworthy, readReview } from './reader.ts';

const BOXES =
  '## Verdict\n[x] **APPROVED** - Ready for implementation\n[ ] **REVISE** - Fix Tier 1/2 issues first\n[ ] **DISCUSS** - Needs Orchestrator decision\n';
const HEAD = '# LLD Review: 42\n\n## Pre-Flight Gate\nPASSED\n\n';
const summary = (text: string): string => `${HEAD}## Review Summary\n${text}\n\n${BOXES}`;
const under = (heading: string, text: string): string => `${HEAD}## ${heading}\n${text}\n\n${BOXES}`;

describe('a plain approval is trusted', () => {
  test.each([
    ['the boxes', HEAD + BOXES],
    ['a box with another gloss', `${HEAD}## Verdict\n[x] **APPROVED** - words\n[ ] **REVISE** - words\n`],
    ['a longer gloss', `${HEAD}## Verdict\n[x] **APPROVED** - Test plan is ready for implementation\n[ ] **REVISE**\n`],
    ['round boxes', `${HEAD}## Verdict\n(x) **APPROVED**\n( ) **REVISE**\n`],
    ['line breaks between the boxes', HEAD + BOXES.replace(/(?<=tation|first)$/gm, '<br>')],
    ['the bare word', `${HEAD}## Verdict\n**APPROVED**\n`],
    ['the word with its usual gloss', `${HEAD}## Verdict\nAPPROVED. Ready for implementation.\n`],
    ['a heading', `${HEAD}## Verdict: APPROVED\n`],
    ['a rule above it', `---\n\n${HEAD}## Tier 1: BLOCKING Issues\n- [ ] No issues found.\n\n${BOXES}`],
    [
      'rules between its sections',
      `---\n${HEAD}---\n## Tier 1: BLOCKING Issues\n- [ ] No issues found.\n\n---\n${BOXES}`,
    ],
    ['a first line', 'APPROVED\n'],
    ['a first line over the sections', `**APPROVED**\n\n${HEAD}## Review Summary\nA sound design.\n`],
    ['a table', `${HEAD}| Field | Value |\n|---|---|\n| Verdict | APPROVED |\n`],
    ['a column of a table', `${HEAD}| Verdict | Round |\n|---|---|\n| APPROVED | 2 |\n`],
    ['the way of GitHub', `${HEAD}**Review:** Approve\n`],
    ['the way of GitHub below a title', '## Review\n\n**Approve** ✅\n\n### Tier 1\nNone.\n'],
    ['the word of GitHub', `${HEAD}## Verdict\nLGTM\n`],
    [
      'a table with what each means',
      `${HEAD}| Verdict | Meaning |\n|---|---|\n| APPROVED | Ready for implementation |\n`,
    ],
    ['a table with a column of boxes', `${HEAD}| Verdict | |\n|---|---|\n| APPROVED | [x] |\n| REVISE | [ ] |\n`],
    [
      'a table with one mark',
      `${HEAD}| | Verdict | Meaning |\n|---|---|---|\n| ✅ | **APPROVED** | Ready for implementation |\n| | REVISE | Fix it first |\n`,
    ],
    [
      'a list of what is good',
      `**Verdict:** ✅ APPROVED\n\n## What works\n- The loader is reused.\n\n## Tier 1\nNone.\n`,
    ],
    [
      'a sentence about the questions',
      under('Open Questions Resolved', 'All questions of Section 1 were resolved by the author.'),
    ],
    [
      'a sentence above the answers',
      under('Open Questions Resolved', 'The open questions are resolved:\n- [x] ~~Which port?~~ **RESOLVED: 80.**'),
    ],
    ['the last line of a comment', `${HEAD}The design reuses the lock that is there.\n\n**Approve**\n`],
    ['no finding in another language', under('Tier 1: BLOCKING Issues', 'Ninguno.')],
    ['another language', `${HEAD}## Urteil\n**APPROVED**\n`],
    ['a label in another language', `${HEAD}**Veredicto:** APPROVED\n`],
    ['JSON', '{"verdict": "APPROVED", "findings": []}'],
    ['a closing phrase', `${HEAD}${BOXES}\nAll Tier 1 issues have been resolved.\n`],
    ['a signature', `${HEAD}${BOXES}\n---\n*Reviewed by Gemini 3 Pro on 2026-02-01.*\n`],
    ['an offer', `${HEAD}${BOXES}\nLet me know if you need more.\n`],
    ['rulings behind it', `${HEAD}${BOXES}\n## Findings ledger\n- F1: settled\n- F2: withdrawn\n`],
    ['the same in JSON behind it', `${HEAD}${BOXES}\n\`\`\`json\n{"verdict": "APPROVED", "blocking": []}\n\`\`\`\n`],
    ['Tier 2 findings', under('Tier 2: HIGH PRIORITY Issues', '- [ ] **Names:** `foo` says nothing.')],
    ['no question', under('Questions for Orchestrator', '- [ ] None')],
    ['none in brackets', under('Questions for Orchestrator', '(none)')],
    ['an answered question', under('Questions for Orchestrator', '1. ~~Who pays?~~ **RESOLVED: the team.**')],
    ['a labelled line below the questions', `${HEAD}## Questions for Orchestrator\n1. None.\n\nVerdict: APPROVED\n`],
    [
      'full coverage',
      under('Requirement Coverage Analysis', '19 requirements covered / 20 total = 95%\n\n**Verdict:** PASS'),
    ],
    [
      'a summary that says what happens',
      summary(
        'It adds no dependency and does not touch the store. If a call fails, it is repeated when the lock is free.',
      ),
    ],
    [
      'a summary with what does not block',
      summary('Two names could be clearer, but these do not block implementation.'),
    ],
    ['a summary of what is provided', summary('A strict mapping of requirements is provided.')],
    [
      'a summary of what was wrong before',
      summary('The previous blocking issue has been resolved. The retry loop is bounded now.'),
    ],
    [
      'a tier that says so too',
      under('Tier 1: BLOCKING Issues', 'No blocking issues found. LLD is approved for implementation.'),
    ],
  ])('%s', (_, text) => {
    const review = readReview(text);
    expect(review.problems).toEqual([]);
    expect(review.verdict).toBe('APPROVED');
  });

  test.each([2, 4])('seed %i', (number) => {
    const text = readFileSync(new URL(`../../../test/fixtures/review/seed-00${number}.md`, import.meta.url), 'utf8');
    expect(isTrustworthy(readReview(text))).toBe(true);
  });

  test.each(['7-review-2', '21-review-1', '7-code-review-1', '21-code-review-1'])('the recorded review %s', (name) => {
    const text = readFileSync(new URL(`../../offline/tour/${name}.md`, import.meta.url), 'utf8');
    expect(readReview(text)).toMatchObject({ verdict: 'APPROVED', problems: [] });
  });
});

const TAKEN_BACK = [
  'However, do not start until section 7 is fixed.',
  'This holds only if the cache is bounded.',
  'I withdraw this if the licence is not MIT.',
  'Except for section 7.',
  'The rollback plan still needs work.',
  'Section 7 is incomplete.',
  'Please bound the retry loop first.',
  'My approval does not cover the migration.',
  'Provided that the owner agrees.',
  'Implementation can begin after the Tier 2 findings are settled.',
  'Treat the above as a draft.',
  'On second thought, REVISE would be safer.',
  'Wait for legal.',
  'Bitte zuerst Abschnitt 7 korrigieren.',
  '> However, do not start until section 7 is fixed.',
  '```\nNot before section 7 is fixed.\n```',
];

describe('an approval that goes on speaking is in doubt', () => {
  test.each(TAKEN_BACK)('in its section: %s', (sentence) => {
    expect(isTrustworthy(readReview(`${HEAD}${BOXES}\n${sentence}\n`))).toBe(false);
    expect(isTrustworthy(readReview(`${HEAD}## Verdict\n${sentence}\n\n[x] **APPROVED**\n[ ] **REVISE**\n`))).toBe(
      false,
    );
  });

  test.each(TAKEN_BACK)('in a section behind it: %s', (sentence) => {
    expect(isTrustworthy(readReview(`${HEAD}${BOXES}\n## Closing Remarks\n${sentence}\n`))).toBe(false);
    expect(isTrustworthy(readReview(`APPROVED\n\n${sentence}\n`))).toBe(false);
    expect(isTrustworthy(readReview(`{"verdict": "APPROVED"}\n\n${sentence}\n`))).toBe(false);
  });

  test.each([
    'APPROVED, except for section 7',
    'APPROVED. This holds only if the cache is bounded.',
    'APPROVED - ready once the loop is bounded',
    'APPROVED (with the changes below)',
    'APPROVED with conditions',
    'APPROVED, sofern Abschnitt 7 ergänzt wird',
    'APPROVED subject to Tier 2 fixes',
    'APPROVED? Not yet.',
    'APPROVED. Section 7 is incomplete.',
    'APPROVED! The rollback plan is open.',
    'APPROVED but see section 7',
    'APPROVED for sections 1 to 6 only',
    'Approved, pending legal review',
    'APPROVED - sous réserve de la section 7',
    'APPROVED - prêt sauf la partie sur les pannes',
  ])('on its own line: %s', (words) => {
    for (const text of [
      `${HEAD}## Verdict\n${words}\n`,
      `${HEAD}## Verdict\n[x] **${words}**\n[ ] **REVISE**\n`,
      `${HEAD}## Verdict\n[x] ${words}\n[ ] REVISE - fix it first\n`,
      `${HEAD}**Verdict:** ${words}\n`,
      `${HEAD}## Verdict: ${words}\n`,
      JSON.stringify({ verdict: words }),
    ]) {
      expect(isTrustworthy(readReview(text)), text).toBe(false);
    }
  });
});

describe('an approval is in doubt beside', () => {
  test.each([
    ['a coverage verdict in a heading', under('Requirement Coverage Analysis', '### Verdict: BLOCK')],
    ['a coverage verdict in JSON', '{"verdict": "APPROVED", "coverage": {"verdict": "BLOCK", "percent": 50}}'],
    ['a share of coverage in JSON', '{"verdict": "APPROVED", "coverage": 0.8}'],
    ['a percentage of coverage in JSON', '{"verdict": "APPROVED", "coverage": "80%"}'],
    ['conditions in JSON', '{"verdict": "APPROVED", "conditions": ["Bound the loop."]}'],
    ['a struck question for a person', under('Questions for Orchestrator', '1. ~~Who pays?~~ **needs a person**')],
    ['a quotation alone in Tier 1', under('Tier 1: BLOCKING Issues', '> It writes to the home directory.')],
    ['code alone in Tier 1', under('Tier 1: BLOCKING Issues', '```\nrm -rf ~\n```')],
    ['a table in Tier 1', under('Tier 1: BLOCKING Issues', '| # | Issue |\n|---|---|\n| 1 | It writes to home |')],
    ['a Tier 1 finding', under('Tier 1: BLOCKING Issues', '- [ ] **Scope:** it writes to the home directory.')],
    ['a concern in no tier', under('Concerns', '- The retry loop has no bound.')],
    ['major concerns', under('Major Concerns', 'The retry loop has no bound.')],
    ['a heading P0', under('P0', '- The retry loop has no bound.')],
    ['a percentage alone', under('Requirement Coverage Analysis', 'Coverage: 90%')],
    ['a finding in no tier', under('Findings', '1. **Loop:** it has no bound.')],
    ['P0', under('Notes', '- P0: the retry loop has no bound.')],
    ['BLOCKER in Tier 2', under('Tier 2: HIGH PRIORITY Issues', '- [ ] **BLOCKER:** the retry loop has no bound.')],
    ['a red mark', under('Tier 3: SUGGESTIONS', '- 🔴 The retry loop has no bound.')],
    ['a coverage verdict of BLOCK', under('Requirement Coverage Analysis', '**Verdict:** BLOCK')],
    ['a coverage below 95 %', under('Requirement Coverage Analysis', '18 requirements covered / 20 total = 90%')],
    ['a question for a person', under('Questions for Orchestrator', '1. Who pays for it?')],
    ['an open question without an answer', under('Open Questions Resolved', '- [ ] Which port is used?')],
    ['a gate that failed', `# LLD Review: 1\n\n## Pre-Flight Gate\nFAILED\n\n${BOXES}`],
    ['a condition in the summary', summary('A sound design. It is ready once section 7 names a fail mode.')],
    ['a duty under another heading', under('Notes', 'Bound the retry loop first.')],
    ['a note in JSON', '{"verdict": "APPROVED", "notes": "Bound the retry loop first."}'],
    ['a table of findings', under('Findings', '| Tier | Finding |\n|---|---|\n| 1 | The retry loop has no bound |')],
    ['a duty in the summary', summary('A sound design. However, section 7 must name the fail mode.')],
    ['an exception in the summary', summary('A sound design except for the retry loop.')],
    ['a negation in the summary', summary('Good work. The retry loop is not bounded.')],
    ['a comment behind it', `${HEAD}${BOXES}\n<!-- only if the loop is bounded -->\n`],
    ['a condition in a table', `${HEAD}| Verdict | Condition |\n|---|---|\n| APPROVED | Bound the loop |\n`],
    ['a denial in other words', summary('I can’t recommend implementing this as it is.')],
    ['a denial in the summary', summary('It cannot be approved as it stands.')],
    ['a command in the summary', summary('Good work. Do not start before legal has agreed.')],
    [
      'a condition in a tier',
      under(
        'Tier 1: BLOCKING Issues',
        'No blocking issues found. LLD is approved for implementation subject to Tier 2 fixes.',
      ),
    ],
    ['another verdict in JSON', `${HEAD}${BOXES}\n\`\`\`json\n{"verdict": "REVISE"}\n\`\`\`\n`],
    ['blocking ids in JSON', `${HEAD}${BOXES}\n\`\`\`json\n{"verdict": "APPROVED", "blocking": ["F1"]}\n\`\`\`\n`],
  ])('%s', (_, text) => {
    const review = readReview(text);
    expect(isTrustworthy(review)).toBe(false);
    expect(review.problems.length).toBeGreaterThan(0);
  });
});

describe('other spellings of a clear verdict', () => {
  test.each([
    ['a first line', 'REVISE\n\nThe retry loop has no bound.\n', 'REVISE'],
    ['the way of GitHub', `Request changes\n\n## Tier 1\n- [ ] **Loop:** no bound\n`, 'REVISE'],
    ['the last line of a comment', `# Review\n\n## Tier 1\n- **Loop:** no bound\n\n**Request changes**\n`, 'REVISE'],
    ['its state', `${HEAD}## Verdict\nChanges requested\n\n## Tier 1\n- [ ] **Loop:** no bound\n`, 'REVISE'],
    ['a table', `${HEAD}| Field | Value |\n|---|---|\n| Verdict | REVISE |\n`, 'REVISE'],
    ['another language', `${HEAD}## Fazit\n**DISCUSS**\n`, 'DISCUSS'],
  ])('%s', (_, text, verdict) => {
    expect(readReview(text).verdict).toBe(verdict);
  });
});

test('no sentence of these is ever taken for an approval, wherever it stands behind the box', () => {
  const sentence = fc.constantFrom(...TAKEN_BACK);
  const before = fc.constantFrom(
    '',
    'Ready for implementation.\n\n',
    'All findings are resolved. ',
    '---\n\n',
    '## Notes\n',
  );
  fc.assert(
    fc.property(before, sentence, (lead, words) => {
      expect(isTrustworthy(readReview(`${HEAD}${BOXES}\n${lead}${words}\n`))).toBe(false);
    }),
    { numRuns: 80 },
  );
});
