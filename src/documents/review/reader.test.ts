import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isReview, isTrustworthy, readReview, unusableReview } from './reader.ts';

function seed(number: number): string {
  return readFileSync(new URL(`../../../test/fixtures/review/seed-00${number}.md`, import.meta.url), 'utf8');
}

function places(text: string): string[] {
  return readReview(text).findings.map(({ tier, area }) => `${tier} ${area}`);
}

describe('the five reviews of the description', () => {
  test.each([
    [0, 'REVISE', ['1 Safety', '2 Observability', '2 Quality', '3 Suggestions', '3 Suggestions']],
    [1, 'REVISE', ['1 Cost', '2 Architecture', '2 Quality', '3 Suggestions', '3 Suggestions']],
    [2, 'APPROVED', ['2 Quality', '3 Suggestions', '3 Suggestions', '3 Suggestions']],
    [3, 'REVISE', ['2 Architecture', '2 Quality', '3 Suggestions', '3 Suggestions']],
    [4, 'APPROVED', ['2 Architecture', '2 Architecture', '2 Quality', '3 Suggestions', '3 Suggestions']],
  ])('seed %i is %s with its findings per tier', (number, verdict, expected) => {
    const review = readReview(seed(number));
    expect(review.verdict).toBe(verdict);
    expect(review.problems).toEqual([]);
    expect(isTrustworthy(review)).toBe(true);
    expect(review.preFlight).toBe('PASSED');
    expect(review.findings.map(({ tier, area }) => `${tier} ${area}`)).toEqual(expected);
    expect(isReview(seed(number))).toBe(true);
  });

  test('a finding keeps its nested points and its code', () => {
    const [finding] = readReview(seed(0)).findings;
    expect(finding?.text).toMatch(/^CRITICAL - Worktree Scope Violation: The design explicitly states/);
    expect(finding?.text).toContain('\n- Test Data Hygiene: Scenario 100');
    expect(finding?.text).toContain('\n- Recommendation: Change defaults');
    expect(finding?.text).toContain('`~/.agentos/checkpoints/`');
  });

  test('open questions, coverage, questions, title and summary are read', () => {
    const review = readReview(seed(3));
    expect(review.openQuestions).toEqual([
      {
        question: 'What is the default parallelism level if `--parallel` flag is provided without a number?',
        answer:
          'The tool must require an integer value (e.g., `argparse` type=int) or raise an ArgumentError, consistent with Test Scenario 020.',
      },
      {
        question: 'Should there be a maximum limit on parallel workers to prevent resource exhaustion?',
        answer:
          'Yes. A hard cap (e.g., 10 workers) must be enforced in the `WorkerPool` initialization to prevent system resource exhaustion, as noted in Section 7.2.',
      },
    ]);
    expect(review.coverage).toEqual({ covered: 8, total: 8, percent: 100 });
    expect(review.questionsForOrchestrator).toEqual([]);
    expect(review.title).toBe('LLD Review: 137-Feature: Integrate parallel execution module into workflow CLI tools');
    expect(review.summary).toMatch(/^The LLD provides a clear plan/);
    expect(readReview(seed(0)).questionsForOrchestrator).toHaveLength(1);
    expect(readReview(seed(2)).coverage).toBeNull();
  });

  test.each([0, 1, 2, 3, 4])('seed %i reads the same with a byte-order mark and CRLF', (number) => {
    expect(readReview(`\uFEFF${seed(number).replace(/\n/g, '\r\n')}`)).toEqual(readReview(seed(number)));
  });

  test.each([0, 1, 2, 3, 4])('seed %i reads the same inside a fence around the whole of it', (number) => {
    const expected = readReview(seed(number));
    expect(readReview(`\`\`\`markdown\n${seed(number)}\n\`\`\`\n`)).toEqual(expected);
    expect(readReview(`Here is my review:\n\n\`\`\`md\n${seed(number)}\n\`\`\`\n\nTell me if you need more.`)).toEqual(
      expected,
    );
  });
});

describe('coverage', () => {
  const table =
    '| # | Requirement | Test(s) | Status |\n|---|---|---|---|\n| 1 | a | T010 | ✓ Covered |\n| 2 | b | - | ✗ Missing |\n| 3 | c | - | **GAP** |\n| 4 | d | T020 | ✅ |\n';
  const review = (body: string): string =>
    `# LLD Review: 1\n\n## Requirement Coverage Analysis (MANDATORY)\n\n${body}\n\n## Verdict\n[x] **REVISE**\n`;

  test('is counted from the table when no calculation is printed', () => {
    expect(readReview(review(table)).coverage).toEqual({ covered: 2, total: 4, percent: 50 });
  });

  test.each([
    [
      '**Coverage Calculation:** 13 requirements covered / 14 total = **92.8%**',
      { covered: 13, total: 14, percent: 92.8 },
    ],
    ['- Requirements covered: 7/7 (100%)', { covered: 7, total: 7, percent: 100 }],
    ['**Coverage: 11/12 requirements (91.6%)**', { covered: 11, total: 12, percent: 91.6 }],
    [
      '**Coverage Calculation:** 4 functional requirements covered / 4 total functional requirements = **100%**',
      { covered: 4, total: 4, percent: 100 },
    ],
    ['Coverage: 3 of 4 requirements', { covered: 3, total: 4, percent: 75 }],
  ])('is read from "%s"', (line, expected) => {
    expect(readReview(review(line)).coverage).toEqual(expected);
  });
});

describe('open questions', () => {
  test('one left to a person is a question for the orchestrator, not an answer', () => {
    const review = readReview(
      '# LLD Review: 1\n\n## Open Questions Resolved\n- [x] ~~REST or GraphQL?~~ **RESOLVED: Use REST.** It is simple.\n- [ ] Who pays? - **HUMAN REQUIRED**: a business decision.\n- **Q:** What cap? **A:** 10.\n\n## Verdict\n[X] **DISCUSS**\n',
    );
    expect(review.openQuestions).toEqual([
      { question: 'REST or GraphQL?', answer: 'Use REST. It is simple.' },
      { question: 'What cap?', answer: '10.' },
    ]);
    expect(review.questionsForOrchestrator).toEqual(['Who pays?']);
  });

  test('a question in an empty box is not answered, unless the answer is marked', () => {
    const review = readReview(
      '# LLD Review: 1\n\n## Open Questions Resolved\n- [ ] Which format? Somebody has to decide.\n- [ ] What cap? **RESOLVED: 10.**\n\n[ ] Who owns it? Not clear.\n\n## Verdict\n[X] **APPROVED**\n',
    );
    expect(review.openQuestions).toEqual([{ question: 'What cap?', answer: '10.' }]);
  });

  test.each(['1. None.', 'None.', '- None. The draft is self-contained.', 'No questions at this time.', 'N/A'])(
    '"%s" asks nothing',
    (text) => {
      expect(
        readReview(`## Questions for Orchestrator\n${text}\n\n## Verdict\n[x] **APPROVED**\n`).questionsForOrchestrator,
      ).toEqual([]);
    },
  );
});

describe('what is a review', () => {
  test.each([
    ['a review cut off before its verdict', seed(0).slice(0, 2500), true],
    ['a review that lost its first half', seed(1).slice(2000), true],
    ['a review without ticks', seed(4).replace('[x]', '[ ]'), true],
    ['a JSON review', '{"verdict": "REVISE", "findings": []}', true],
    ['a truncated JSON review', '{"verdict": "REVISE", "findings": [{"tier"', true],
    ['a bare governance verdict', '# Governance Verdict: BLOCK\n\nThe LLD lacks a bound.', true],
    ['a failed gate', '## Pre-Flight Gate: FAILED\n\nNo issue link.', true],
    ['an empty file', ' \n', false],
    ['a README', '# tool\n\nReviews code.\n\n## Usage\n\nRun `tool review`.\n\n## License\n\nMIT', false],
    ['an error in place of a review', '{"error": {"type": "overloaded_error"}}', false],
    ['another JSON file', '{"name": "tool", "version": "1.0.0"}', false],
    [
      'an LLD with its review log',
      '# 42 - Feature: X\n\n## 1. Context & Goal\n\n## 2. Proposed Changes\n\n## 3. Requirements\n1. A\n\n## 12. Definition of Done\n\n## Appendix: Review Log\n\n### Review 1\n**Verdict:** APPROVED\n',
      false,
    ],
  ])('%s', (_, text, expected) => {
    expect(isReview(text)).toBe(expected);
  });
});

describe('what is no review but a failure', () => {
  test.each([
    '',
    '   \n',
    '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head></html>',
    '{"error":{"message":"Overloaded","type":"overloaded_error"}}',
    '{"type":"error","error":{"type":"rate_limit_error"}}',
    'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    "You've hit your usage limit. Try again at 5 pm.",
    'You’ve hit your usage limit.',
    'Rate limit exceeded',
    'Internal Server Error',
    "I'm sorry, I can't help with reviewing this document.",
    'API Error: 500\n\nVerdict: APPROVED',
  ])('%j', (text) => {
    const review = readReview(text);
    expect(review.verdict).toBeNull();
    expect(isTrustworthy(review)).toBe(false);
    expect(unusableReview(text)).not.toBeNull();
  });

  test('a review that talks about rate limits and errors is one', () => {
    const text = seed(1).replace(
      '## Review Summary\n',
      '## Review Summary\nAPI Error: 529 and rate limit exceeded are not handled. ',
    );
    expect(readReview(text).verdict).toBe('REVISE');
    expect(unusableReview(text)).toBeNull();
    expect(readReview('Verdict: REVISE. The rate limit is not handled.').verdict).toBe('REVISE');
  });
});

describe('properties', () => {
  const fragment = fc.constantFrom(
    '# ',
    '## Verdict\n',
    '## Tier 1\n',
    '### Safety\n',
    '- [x] ',
    '[ ] ',
    '**APPROVED**',
    'REVISE',
    '```',
    '```json\n',
    '{"verdict":',
    '> ',
    '| a |',
    '|---|',
    '\n',
    '\n\n',
    '~~',
    '<!--',
    '-->',
    'No issues found.',
    '\uFEFF',
    'â€™',
    '    ',
    '---\n',
  );
  const text = fc.array(fc.oneof(fragment, fc.string()), { maxLength: 40 }).map((parts) => parts.join(''));

  test('any text is read without throwing, and recognised without throwing', () => {
    fc.assert(
      fc.property(text, (source) => {
        const review = readReview(source);
        expect(isTrustworthy(review)).toBe(review.verdict !== null && review.problems.length === 0);
        expect(typeof isReview(source)).toBe('boolean');
      }),
      { numRuns: 300 },
    );
  });

  test('an approved review whose box is unticked is never APPROVED, whatever is put into it', () => {
    const paragraphs = seed(4).replace('[x] **APPROVED**', '[ ] **APPROVED**').split('\n\n');
    const noise = fc.constantFrom(
      'Looks good.',
      'Verdict: APPROVED',
      'LLD is APPROVED.',
      '```',
      '> [x] **APPROVED**',
      '**APPROVED**',
      '<!-- [x] APPROVED -->',
      '---',
      '`[x] **APPROVED**`',
    );
    fc.assert(
      fc.property(noise, fc.nat({ max: paragraphs.length }), (inserted, at) => {
        const mutated = [...paragraphs.slice(0, at), inserted, ...paragraphs.slice(at)].join('\n\n');
        expect(readReview(mutated).verdict).not.toBe('APPROVED');
      }),
      { numRuns: 200 },
    );
  });

  test('a review cut off anywhere before its ticked box has no verdict', () => {
    const whole = seed(2);
    const box = whole.indexOf('[x] **APPROVED**');
    fc.assert(
      fc.property(fc.nat({ max: box }), (end) => {
        expect(readReview(whole.slice(0, end)).verdict).toBeNull();
      }),
      { numRuns: 100 },
    );
  });
});

test('areas and tiers survive other headings', () => {
  expect(
    places(
      '#### TIER 1\n##### 1. Safety Issues\n- [ ] writes to home\n#### 🟡 Tier 2 - High\n##### Performance\n- [ ] slow\n\n## Verdict\nREVISE',
    ),
  ).toEqual(['1 Safety', '2 Performance']);
});
