import { describe, expect, test } from 'vitest';
import { isTrustworthy, readReview } from './reader.ts';

const HEAD = '# LLD Review: 42 - X\n\n## Pre-Flight Gate\nPASSED\n\n';

function legend(approved: string, revise: string, discuss: string): string {
  return `## Verdict\n[${approved}] **APPROVED** - Ready for implementation\n[${revise}] **REVISE** - Fix Tier 1/2 issues first\n[${discuss}] **DISCUSS** - Needs Orchestrator decision\n`;
}

const NONE = /No verdict box is ticked|It states no verdict/;
const TWO = /more than one verdict/;
const CONDITION = /in a sentence with more in it/;

describe('spellings of a verdict', () => {
  test.each([
    ['a capital X', legend('X', ' ', ' '), 'APPROVED'],
    ['lower case in a list', '## Verdict\n- [x] approved\n- [ ] revise\n', 'APPROVED'],
    ['a discussion', legend(' ', ' ', 'x'), 'DISCUSS'],
    ['BLOCKED in a box', '## Verdict\n[x] **BLOCKED** - Test plan needs revision\n', 'REVISE'],
    ['a heading with its value', '## Verdict: APPROVED\n', 'APPROVED'],
    ['a dash in the heading', '### Final Verdict — APPROVED\n', 'APPROVED'],
    ['comments beside the approval', '## Verdict: APPROVED WITH COMMENTS\n', 'APPROVED'],
    ['a labelled line', 'Verdict: APPROVED\n', 'APPROVED'],
    ['a bold label', '**Verdict:** REVISE\n', 'REVISE'],
    ['all of it bold', '**Verdict: REJECTED - LLD must be revised before review can proceed.**\n', 'REVISE'],
    ['code after the label', '**Verdict:** `REVISE`\n', 'REVISE'],
    ['a bare word', '## Verdict\n\n**REVISE**\n', 'REVISE'],
    ['NOT APPROVED', '## Verdict\nNOT APPROVED\n', 'REVISE'],
    ['ballot boxes', '## Verdict\n☐ APPROVED\n☑ REVISE\n☐ DISCUSS\n', 'REVISE'],
    ['crossed ballot boxes', '## Verdict\n☐ APPROVED\n☒ REVISE\n☐ DISCUSS\n', 'REVISE'],
    ['a check mark', '## Verdict\n✅ APPROVED\n', 'APPROVED'],
    ['a cross as a sign of rejection', '## Verdict\n❌ REVISE\n', 'REVISE'],
    ['boxes in one line', '## Verdict\n[ ] APPROVED [x] REVISE [ ] DISCUSS\n', 'REVISE'],
    ['boxes behind a label', 'Verdict: [ ] APPROVED [x] REVISE [ ] DISCUSS\n', 'REVISE'],
    ['boxes in a table', '## Verdict\n| | Verdict |\n|---|---|\n| [ ] | APPROVED |\n| [x] | REVISE |\n', 'REVISE'],
    ['an emoji in the box', '## Verdict\n- [ ] APPROVED\n- [✔️] REVISE\n', 'REVISE'],
    ['a block in the box', '## Verdict\n[ ] APPROVED\n[■] REVISE\n', 'REVISE'],
    ['approval for its purpose', '## Verdict\nApproved for implementation.\n', 'APPROVED'],
    ['JSON in its section', '## Verdict\n```json\n{"verdict": "REVISE"}\n```\n', 'REVISE'],
    ['a label after a sentence', '## Review Summary\nNot yet there. **Verdict:** REVISE\n', 'REVISE'],
    ['spaces in the box', '## Verdict\n[ x ] REVISE\n[   ] APPROVED\n', 'REVISE'],
    ['no space behind the box', '## Verdict\n- [ ]**APPROVED**\n- [x]**REVISE**\n', 'REVISE'],
    ['escaped brackets', '## Verdict\n\\[ \\] APPROVED\n\\[x\\] REVISE\n', 'REVISE'],
    ['a list that goes on without markers', '## Verdict\n- [ ] **APPROVED** - Ready\n[x] **REVISE** - Fix\n', 'REVISE'],
    ['a struck-out alternative', '## Verdict\n~~APPROVED~~ **REVISE**\n', 'REVISE'],
    ['a ticked and struck-out box', '## Verdict\n- [x] ~~APPROVED~~\n- [x] REVISE\n', 'REVISE'],
    ['a rule right below the boxes', `${legend(' ', 'x', ' ')}---\n*Reviewed today*\n`, 'REVISE'],
    ['a rule below an approval', `${legend('x', ' ', ' ')}---\n`, 'APPROVED'],
    ['a heading without its space', '##Verdict\n[ ] **APPROVED** - Ready\n[x] **REVISE** - Fix\n', 'REVISE'],
    ['a bold line as heading', '**Verdict**\n\n[ ] **APPROVED** - Ready\n[x] **REVISE** - Fix\n', 'REVISE'],
    ['boxes without a heading', '[ ] **APPROVED** - Ready\n[x] **REVISE** - Fix\n', 'REVISE'],
    ['a number before the heading', '## 9. Verdict\n[x] **REVISE**\n', 'REVISE'],
    [
      'REJECTED at the end of a sentence',
      '## Review Summary\nThe design cannot proceed like this and is therefore REJECTED.\n',
      'REVISE',
    ],
    ['a rejection in the past tense', 'The design was REJECTED because section 3 lists no requirement.\n', 'REVISE'],
    ['a reviewer that rejects', '## Verdict\nI have REJECTED this LLD.\n', 'REVISE'],
    ['REJECTED in prose', '## Review Summary\nThis LLD is REJECTED because it has no test plan.\n', 'REVISE'],
  ])('%s', (_, body, verdict) => {
    const review = readReview(HEAD + body);
    expect(review.verdict).toBe(verdict);
    expect(isTrustworthy(review)).toBe(true);
  });

  test('the verdict may be the title', () => {
    const review = readReview(
      '# Governance Verdict: BLOCK\n\nThe design is sound. However, the retry loop has no bound.',
    );
    expect(review.verdict).toBe('REVISE');
    expect(review.findings).toEqual([
      { tier: 1, area: '', text: 'The design is sound. However, the retry loop has no bound.' },
    ]);
  });

  test('a title that names a verdict parser states none', () => {
    expect(readReview(`# LLD Review: 7-Verdict: Block Parser\n\n${legend('x', ' ', ' ')}`).verdict).toBe('APPROVED');
  });
});

describe('what is no verdict', () => {
  test.each([
    ['no box ticked', legend(' ', ' ', ' '), NONE],
    ['two boxes ticked', legend('x', 'x', ' '), TWO],
    ['a label against the box', `**Verdict:** REVISE\n\n${legend('x', ' ', ' ')}`, TWO],
    ['a loud rejection against the box', `## Review Summary\nThis LLD is REJECTED.\n\n${legend('x', ' ', ' ')}`, TWO],
    [
      'a label inside the summary against the box',
      `## Review Summary\nSolid. **Verdict:** REVISE\n\n${legend('x', ' ', ' ')}`,
      TWO,
    ],
    ['an alternative that is REJECTED', '## Review Summary\nThe alternative is REJECTED for good reasons.\n', NONE],
    ['a statement against unticked boxes', `## Verdict: APPROVED\n\n${legend(' ', ' ', ' ')}`, NONE],
    ['a template of both', '## Verdict\n[x] **APPROVED** - ready\n\nOR\n\n[x] **BLOCKED** - revise\n', TWO],
    ['a choice', '**Verdict:** [APPROVED | REVISE | DISCUSS]\n', NONE],
    ['a choice in the section', '## Verdict\nAPPROVED / REVISE / DISCUSS\n', NONE],
    ['a legend without boxes', '## Verdict\nAPPROVED - Ready\nREVISE - Fix\nDISCUSS - Talk\n', TWO],
    ['a tick in a code block', '## Verdict\n```\n[x] **APPROVED**\n```\n', NONE],
    ['a tick in a quotation', '## Verdict\n> [x] **APPROVED**\n', NONE],
    ['a tick in a comment', '## Verdict\n<!-- [x] **APPROVED** -->\n', NONE],
    ['a tick in inline code', '## Verdict\n`[x] **APPROVED**`\n', NONE],
    ['a wish', '## Verdict\nThis would be APPROVED if the loop were bounded.\n', NONE],
    ['a wish behind the label', '**Verdict:** would be APPROVED if the loop were bounded\n', NONE],
    ['a condition', '**Verdict:** APPROVED once the loop is bounded\n', CONDITION],
    ['a crossed-out approval', '## Verdict\n❌ APPROVED\n', NONE],
    ['boxes behind the words', '## Verdict\n**APPROVED** [ ]\n**REVISE** [x]\n', CONDITION],
    ['prose that does not approve', '## Verdict\nThis LLD cannot be APPROVED until the loop is bounded.\n', NONE],
    ['PASS', '## Verdict\nPASS\n', NONE],
    [
      'the words of Tier 1',
      '## Tier 1: BLOCKING Issues\nNo blocking issues found. LLD is approved for implementation.\n',
      NONE,
    ],
    ['a cut-off box', '## Verdict\n[ ] **APPROVED** - Ready\n[x] **REV', NONE],
    ['the verdict of the coverage section', '## Requirement Coverage Analysis\n\n**Verdict:** BLOCK (<95%)\n', NONE],
    ['an earlier verdict', '## Previous Review\n**Verdict:** APPROVED\n', NONE],
  ])('%s', (_, body, problem) => {
    const review = readReview(HEAD + body);
    expect(review.verdict).toBeNull();
    expect(review.problems.join('\n')).toMatch(problem);
    expect(isTrustworthy(review)).toBe(false);
  });

  test.each([
    ['in its section', '## Requirement Coverage Analysis (MANDATORY)\n\n**Verdict:** BLOCK\n\n'],
    ['below a heading of its own', '## Requirement Coverage Analysis\n\n### Verdict\nBLOCK\n\n'],
  ])('the coverage verdict %s does not count against the box', (_, coverage) => {
    expect(readReview(`${HEAD}${coverage}## Tier 1: BLOCKING Issues\nNone.\n\n${legend('x', ' ', ' ')}`).verdict).toBe(
      'APPROVED',
    );
  });

  test('the decisions on alternatives are none', () => {
    const table =
      '| Option | Cons | Decision |\n|---|---|---|\n| Class | State | **Rejected** |\n| Function | | **Selected** |\n';
    const review = readReview(`${HEAD}## Review Summary\nFine.\n\n${table}\n${legend('x', ' ', ' ')}`);
    expect(review).toMatchObject({ verdict: 'APPROVED', problems: [] });
    expect(readReview(`# 42 - Feature: X\n\n## 4. Alternatives Considered\n${table}`).verdict).toBeNull();
  });

  test('a ticked box in a quotation does not count beside the real one', () => {
    expect(
      readReview(`${HEAD}> [x] **APPROVED**\n\n\`\`\`\n[x] **APPROVED**\n\`\`\`\n\n${legend(' ', 'x', ' ')}`).verdict,
    ).toBe('REVISE');
  });
});

describe('what contradicts a verdict', () => {
  test('an approval with an open Tier 1 finding stays as stated and is not trustworthy', () => {
    const review = readReview(
      `${HEAD}## Tier 1: BLOCKING Issues\n### Safety\n- [ ] **Scope:** writes to home\n\n${legend('x', ' ', ' ')}`,
    );
    expect(review.verdict).toBe('APPROVED');
    expect(review.problems).toEqual(['It is APPROVED with an open Tier 1 finding: Scope: writes to home']);
    expect(isTrustworthy(review)).toBe(false);
  });

  test('a settled Tier 1 finding does not', () => {
    const body =
      '## Tier 1: BLOCKING Issues\n### Safety\n- [x] **Scope:** ~~writes to home~~ RESOLVED\n- [x] **Hygiene:** tests use a folder of their own\n\n';
    const review = readReview(HEAD + body + legend('x', ' ', ' '));
    expect(review.findings).toEqual([]);
    expect(isTrustworthy(review)).toBe(true);
  });

  test('an approval after a failed gate does', () => {
    const review = readReview(`# LLD Review: 1\n\n## Pre-Flight Gate\nFAILED\n\n${legend('x', ' ', ' ')}`);
    expect(review.problems).toContain('It is APPROVED although the Pre-Flight gate FAILED.');
  });

  test('a ticked approval on a condition is stated and not trustworthy', () => {
    const review = readReview(`${HEAD}## Verdict\n[x] **APPROVED** - once the loop is bounded\n[ ] **REVISE**\n`);
    expect(review.verdict).toBe('APPROVED');
    expect(isTrustworthy(review)).toBe(false);
  });
});

describe('a gate that failed', () => {
  test('with the rest missing means REVISE, and what is missing is the finding', () => {
    const review = readReview(
      '# LLD Review: 1\n\n## Pre-Flight Gate: FAILED\n\nThe LLD does not meet the structural requirements.\n\n### Missing Required Elements:\n- [ ] GitHub issue link\n- [x] Context\n- [ ] Proposed Changes\n',
    );
    expect(review.verdict).toBe('REVISE');
    expect(review.preFlight).toBe('FAILED');
    expect(isTrustworthy(review)).toBe(true);
    expect(review.findings).toEqual([
      { tier: 1, area: 'Pre-Flight', text: 'GitHub issue link' },
      { tier: 1, area: 'Pre-Flight', text: 'Proposed Changes' },
    ]);
  });

  test('may say why in a sentence', () => {
    const review = readReview('## Pre-Flight Gate\n**FAILED**\n\nThere is no issue link.\n');
    expect(review.verdict).toBe('REVISE');
    expect(review.findings).toEqual([{ tier: 1, area: 'Pre-Flight', text: 'There is no issue link.' }]);
  });
});

describe('damage', () => {
  const tierOne = '## Tier 1: BLOCKING Issues\n### Safety\n- [ ] **Scope:** writes to home\n\n';

  test('a fence that swallows the rest is closed before the next section', () => {
    const review = readReview(
      `${HEAD}${tierOne}\`\`\`python\nx = 1\n\n## Tier 2: HIGH PRIORITY Issues\n### Quality\n- [ ] **Tests:** one is missing\n\n${legend(' ', 'x', ' ')}`,
    );
    expect(review.verdict).toBe('REVISE');
    expect(review.findings.map(({ area }) => area)).toEqual(['Safety', 'Quality']);
    expect(review).toMatchObject({ problems: [], notes: ['A code fence is never closed.'] });
  });

  test('an approval that a fence swallowed is not taken', () => {
    const review = readReview(
      `${HEAD}## Tier 1: BLOCKING Issues\nNone.\n\n\`\`\`\n\n## Tier 2: HIGH PRIORITY Issues\n\n${legend('x', ' ', ' ')}`,
    );
    expect(review.verdict).toBeNull();
    expect(review.problems).toContain('A code fence is never closed.');
  });

  test('a fence that swallows a tier up to a later block hides no finding', () => {
    const review = readReview(`${HEAD}\`\`\`\n${tierOne}\`\`\`json\n{}\n\`\`\`\n\n${legend('x', ' ', ' ')}`);
    expect(review.findings.map(({ area }) => area)).toEqual(['Safety']);
    expect(review.problems.join('\n')).toContain('an open Tier 1 finding');
  });

  test('a stray fence behind the verdict is only noted', () => {
    const review = readReview(`${HEAD}${legend('x', ' ', ' ')}\n\`\`\`\n`);
    expect(review.verdict).toBe('APPROVED');
    expect(review).toMatchObject({ problems: [], notes: ['A code fence is never closed.'] });
  });

  test.each(['Here is my review.\n\n', '---\n\n', '**Review:**\n'])(
    '%j may stand above the title in a wrapper',
    (above) => {
      expect(readReview(`\`\`\`markdown\n${above}${HEAD}${legend('x', ' ', ' ')}\`\`\`\n`).verdict).toBe('APPROVED');
    },
  );

  test('a code block inside a wrapped review does not end it', () => {
    const review = readReview(
      `\`\`\`markdown\n${HEAD}${tierOne}\`\`\`python\nx = 1\n\`\`\`\n\n${legend(' ', 'x', ' ')}\`\`\`\n`,
    );
    expect(review.verdict).toBe('REVISE');
    expect(review.findings).toHaveLength(1);
  });

  test('a review that starts in the middle has its verdict, and the areas tell the tier', () => {
    const review = readReview(
      `ssues found.\n\n### Security\n- [ ] Keys are logged.\n\n## Tier 2: HIGH PRIORITY Issues\n### Quality\n- [ ] A test is missing.\n\n${legend(' ', 'x', ' ')}`,
    );
    expect(review.verdict).toBe('REVISE');
    expect(review.findings.map(({ tier, area }) => `${tier} ${area}`)).toEqual(['1 Security', '2 Quality']);
    expect(isTrustworthy(review)).toBe(true);
  });

  test('an approval that lost its Tier 1 is not trustworthy', () => {
    const review = readReview(
      `### Observability\n- [ ] No issues found.\n\n## Tier 3: SUGGESTIONS\n- Rename it.\n\n${legend('x', ' ', ' ')}`,
    );
    expect(review.verdict).toBe('APPROVED');
    expect(isTrustworthy(review)).toBe(false);
  });

  test('an approval that lost a part of its Tier 1 is not trustworthy', () => {
    const review = readReview(
      `must be bounded.\n\n### Legal\n- [ ] No issues found.\n\n## Tier 2: HIGH PRIORITY Issues\nNone.\n\n${legend('x', ' ', ' ')}`,
    );
    expect(review.verdict).toBe('APPROVED');
    expect(isTrustworthy(review)).toBe(false);
  });

  test('mojibake is repaired and noted', () => {
    const review = readReview(`ï»¿${HEAD}## Review Summary\nItâ€™s a cafÃ© â€“ really.\n\n## Verdict\nâ˜‘ APPROVED\n`);
    expect(review.verdict).toBe('APPROVED');
    expect(review.summary).toBe('It’s a café – really.');
    expect(review.notes).toEqual(['Text was decoded with the wrong character set.']);
  });

  test('accents and typographic quotes are no mojibake', () => {
    const review = readReview(`${HEAD}## Review Summary\n„Übergröße“ – “naïve”… déjà vu.\n\n${legend('x', ' ', ' ')}`);
    expect(review).toMatchObject({ problems: [], notes: [] });
  });
});
