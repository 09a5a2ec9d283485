import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatCoverage } from '../../governance/coverage.ts';
import { checkLld, type LldFinding } from '../../governance/lld/checks.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { isTrustworthy, readReview } from '../../governance/review/reader.ts';
import { draftScaffold } from './draft.ts';
import { reviewByChecks } from './review.ts';

function issueOf(body: string): IssueMaterial {
  return { id: '42', title: 'Remember the last tea', body, hash: 'any' };
}

function reviewOf(issue: IssueMaterial, draft: string, more: LldFinding[] = []) {
  const { findings, coverage } = checkLld(draft, { issueId: issue.id });
  const checks = [...findings, ...more];
  return readReview(
    reviewByChecks({ task: 'review', issue, draft, round: 1, checks, coverage: formatCoverage(coverage) }),
  );
}

describe('the verdict follows the checks', () => {
  test('no errors and no questions: approved, with the coverage of the draft', () => {
    const issue = issueOf('- it keeps the tea\n- it shows the tea\n');
    const review = reviewOf(issue, draftScaffold(issue, []));
    expect(review).toMatchObject({ verdict: 'APPROVED', problems: [], findings: [], preFlight: 'PASSED' });
    expect(review.coverage).toEqual({ covered: 2, total: 2, percent: 100 });
  });

  test('a question that rules can not answer goes to a person', () => {
    const issue = issueOf('- it keeps the tea\n\n## Open questions\n\n- For how long?\n');
    const review = reviewOf(issue, draftScaffold(issue, []));
    expect(review).toMatchObject({ verdict: 'DISCUSS', problems: [], questionsForOrchestrator: ['For how long?'] });
  });

  test('each error is a finding that holds the draft back', () => {
    const issue = issueOf('- it keeps the tea\n');
    const draft = draftScaffold(issue, []).replace(
      '1. it keeps the tea',
      '1. it keeps the tea\n2. it retries until the bug is FIXED',
    );
    const review = reviewOf(issue, draft);
    expect(review).toMatchObject({ verdict: 'REVISE', problems: [] });
    expect(review.findings.map(({ tier, area, text }) => `${tier} ${area}: ${text.split(',')[0]}`)).toEqual([
      '1 Cost: unbounded-loop',
      '2 Quality: requirement-uncovered',
    ]);
    expect(review.coverage).toEqual({ covered: 1, total: 2, percent: 50 });
  });

  test('warnings are suggestions and hold nothing back', () => {
    const issue = issueOf('- it keeps the tea\n');
    const warning: LldFinding = {
      rule: 'path-parent',
      severity: 'warning',
      line: 20,
      message: 'tea begins a new folder.',
    };
    const review = reviewOf(issue, draftScaffold(issue, []), [warning]);
    expect(review.verdict).toBe('APPROVED');
    expect(review.findings).toEqual([
      { tier: 3, area: 'Suggestions', text: 'path-parent, line 20: tea begins a new folder.' },
    ]);
  });
});

test('the reviewer says that it is no language model', () => {
  const issue = issueOf('- it keeps the tea\n');
  const text = reviewByChecks({
    task: 'review',
    issue,
    draft: draftScaffold(issue, []),
    round: 1,
    checks: [],
    coverage: '',
  });
  expect(text).toContain('I am the embedded reviewer of agentos, not a language model');
});

test('whatever an issue says, its review reads as one clear verdict', () => {
  const words = fc.constantFrom(
    '[x] **APPROVED**',
    'Verdict: REJECTED',
    '```',
    '| a |',
    'a \\| b \\\\| c',
    '<!--',
    'FIXED',
    'No issues found.',
    '- [x] F1 fixed',
    'why?',
    '## Verdict',
    '{"verdict":"BLOCK"}',
    'approved if',
    '\n',
    '- ',
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(words, fc.string({ maxLength: 20 })), { maxLength: 12 }), (parts) => {
      const issue = { ...issueOf(parts.join(' ')), title: parts.join(' ') };
      const review = reviewOf(issue, draftScaffold(issue, []));
      expect(review.problems.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(isTrustworthy(review)).toBe(true);
      expect(['APPROVED', 'DISCUSS']).toContain(review.verdict);
      expect(review.coverage?.percent).toBe(100);
    }),
    { numRuns: 60 },
  );
});
