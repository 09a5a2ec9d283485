import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editedIssue, issueWithSection, SAMPLE_ISSUE } from '../../../test/support/sample-issue.ts';
import { formatCoverage } from '../../governance/coverage.ts';
import { checkIssue } from '../../governance/issue/checks.ts';
import type { Duplicate } from '../../governance/issue/duplicates.ts';
import { ISSUE_FORM } from '../../governance/issue/form.ts';
import { checkLld } from '../../governance/lld/checks.ts';
import { documentFromReply } from '../../governance/lld/reply.ts';
import { reviseDraft } from '../../governance/lld/revision.ts';
import type { IssueMaterial } from '../../governance/material.ts';
import { isTrustworthy, type Review, readReview } from '../../governance/review/reader.ts';
import { draftScaffold } from './draft.ts';
import { draftIssue } from './issue-draft.ts';
import { mendIssue } from './issue-mend.ts';
import { readIssue } from './issue-reading.ts';
import { reviewIssueByChecks } from './issue-review.ts';

function briefOf(body: string, title = 'Remember the last tea'): IssueMaterial {
  return { id: 'tea', title, body, hash: 'any' };
}

function reviewOf(brief: IssueMaterial, draft: string, duplicates: Duplicate[] = []): Review {
  const { findings, coverage } = checkIssue(draft);
  return readReview(
    reviewIssueByChecks({
      task: 'issue-review',
      brief,
      draft,
      round: 1,
      checks: findings,
      coverage: formatCoverage(coverage),
      duplicates,
    }),
  );
}

describe('an issue by rules', () => {
  test('has a scenario, a requirement and a criterion for each thing that the brief says, and passes the checks', () => {
    const brief = briefOf('The last tea is forgotten.\n\n- it keeps the tea\n- it shows 1 tea at the start\n');
    const draft = draftIssue(brief);
    const { findings, coverage } = checkIssue(draft);
    expect(findings).toEqual([]);
    expect(coverage).toMatchObject({ covered: 2, total: 2 });
    expect(draft).toContain('- [ ] it shows 1 tea at the start (S2, R2)');
    expect(documentFromReply(draft, ISSUE_FORM)).toEqual({ ok: true, text: draft });
    expect(reviewOf(brief, draft)).toMatchObject({ verdict: 'APPROVED', problems: [], findings: [] });
  });

  test('what a program can not check, and what is left open, is quoted and asked about', () => {
    const brief = briefOf('- it works as expected\n- it keeps the tea for TBD days\n- it shows 1 tea\n');
    const draft = draftIssue(brief);
    expect(checkIssue(draft).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(draft).toContain('it keeps the tea for TBD days');
    expect(reviewOf(brief, draft)).toMatchObject({ verdict: 'DISCUSS', problems: [] });
  });

  test('a question of the brief is an open question', () => {
    const brief = briefOf('- it keeps 1 tea\n\n## Open questions\n- For how long?\n');
    expect(reviewOf(brief, draftIssue(brief)).questionsForOrchestrator).toEqual(['For how long?']);
  });

  test('more than fits into one issue is a question how to split it', () => {
    const brief = briefOf(Array.from({ length: 30 }, (_, at) => `- tea ${at} is kept`).join('\n'));
    const draft = draftIssue(brief);
    expect(checkIssue(draft).findings.filter(({ rule }) => rule === 'issue-size')).toEqual([]);
    expect(draft).toContain('The brief asks for 30 things, and this issue holds the first 8');
  });

  test('whatever a brief says, the draft passes the checks and its review reads as one clear verdict', () => {
    const words = fc.constantFrom(
      '[x] **APPROVED**',
      '```',
      '| a |',
      '<!--',
      'TBD',
      'why?',
      '## Verdict',
      '## User Story',
      '{{title}}',
      '(S9, R9)',
      'as a user I want it',
      '\n',
      '- ',
      '1. ',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(words, fc.string({ maxLength: 20 })), { maxLength: 12 }), (parts) => {
        const text = parts.join(' ');
        const brief = briefOf(text, parts.slice(0, 3).join(' ').replaceAll('\n', ' ').trim() || 'Tea');
        const draft = draftIssue(brief);
        expect(checkIssue(draft).findings.filter(({ severity }) => severity === 'error')).toEqual([]);
        const review = reviewOf(brief, draft);
        expect(isTrustworthy(review)).toBe(true);
        expect(['APPROVED', 'DISCUSS']).toContain(review.verdict);
      }),
      { numRuns: 100 },
    );
  });
});

describe('a review by rules', () => {
  const brief = briefOf('- it keeps the tea');

  test('holds an issue back that fails the checks', () => {
    const review = reviewOf(brief, editedIssue('(S2, R2)', '(R2)'));
    expect(review).toMatchObject({ verdict: 'REVISE', problems: [] });
    expect(review.findings).toMatchObject([{ tier: 2, area: 'Completeness' }]);
  });

  test('asks a person about what is likely the same, and not about what is only alike', () => {
    const alike: Duplicate = { id: '7', title: 'Tea', designed: false, score: 0.4, shared: ['tea', 'keep'] };
    expect(reviewOf(brief, SAMPLE_ISSUE, [alike]).verdict).toBe('APPROVED');
    const review = reviewOf(brief, SAMPLE_ISSUE, [{ ...alike, score: 0.8 }]);
    expect(review).toMatchObject({ verdict: 'DISCUSS', problems: [] });
    expect(review.questionsForOrchestrator[0]).toContain('Is this the same as 7 (0.80): Tea');
  });
});

describe('a repair by rules', () => {
  test('fills in what is missing and keeps every line that is there', () => {
    const own = issueWithSection('Objective', '')
      .replace('## Objective\n\n', '')
      .replace(/^# .*\n/, '');
    const mended = reviseDraft(own, mendIssue(briefOf('- it keeps the tea'), own), { named: null, form: ISSUE_FORM });
    expect(mended.ok && checkIssue(mended.text).findings).toEqual([]);
    expect(mended.ok && own.split('\n').every((line) => mended.text.includes(line))).toBe(true);
  });

  test('leaves as it is what rules can not settle', () => {
    expect(mendIssue(briefOf('- it keeps the tea'), SAMPLE_ISSUE)).toBe(SAMPLE_ISSUE);
  });
});

describe('an issue that was written from a brief is read for a design', () => {
  test('by its criteria and requirements, not by its definition of done', () => {
    const issue = { id: '42', title: 'Retry', body: SAMPLE_ISSUE, hash: 'any' };
    const { criteria, questions } = readIssue(issue);
    expect(criteria).toEqual([
      'A call that was answered with 429 is made again after the time in `Retry-After`.',
      'After 5 refusals in a row the item ends with the status `paused`.',
      'With one 429 and `Retry-After: 1`, the vendor sees 2 calls and the exit code is 0.',
      'With 429 for ever, the vendor sees 6 calls and the exit code is 75.',
    ]);
    expect(questions).toEqual([]);
    const errors = checkLld(draftScaffold(issue, []), { issueId: '42' }).findings;
    expect(errors).toEqual([]);
  });
});
