import { describe, expect, test } from 'vitest';
import { isTrustworthy, readReview } from './reader.ts';

describe('a review in JSON', () => {
  test.each([
    ['verdict', '{"verdict": "APPROVED"}', 'APPROVED'],
    ['decision', '{"decision": "REVISE"}', 'REVISE'],
    ['status', '{"status": "blocked"}', 'REVISE'],
    ['result', '{"result": "DISCUSS"}', 'DISCUSS'],
    ['a status beside the verdict', '{"verdict": "REVISE", "status": "completed"}', 'REVISE'],
    ['an object inside', '{"review": {"verdict": "REJECTED"}}', 'REVISE'],
    ['an array of one', '[{"verdict": "APPROVED"}]', 'APPROVED'],
    ['a fence', '```json\n{"verdict": "APPROVED"}\n```', 'APPROVED'],
    ['a fence after a sentence', 'Here is my review:\n\n```json\n{"verdict": "REVISE"}\n```\n', 'REVISE'],
    ['a sentence before it', 'My review: {"verdict": "REVISE"}', 'REVISE'],
    ['a title before it', '# LLD Review\n\n```json\n{"verdict": "REVISE"}\n```\n', 'REVISE'],
    ['a sentence after it', '{"verdict": "REVISE"}\n\nLet me know!', 'REVISE'],
    ['a longer key', '{"governance_verdict": "BLOCK"}', 'REVISE'],
    ['an object as its value', '{"verdict": {"status": "REVISE", "reason": "a loop"}}', 'REVISE'],
    ['a coverage verdict beside it', '{"coverage_verdict": "PASS", "verdict": "APPROVED"}', 'APPROVED'],
    ['the same thing twice', '{"verdict": "REVISE", "decision": "BLOCKED"}', 'REVISE'],
  ])('%s', (_, text, verdict) => {
    const review = readReview(text);
    expect(review.verdict).toBe(verdict);
    expect(isTrustworthy(review)).toBe(true);
  });

  test.each([
    ['contradicting keys', '{"verdict": "REVISE", "decision": "APPROVED"}', /more than one verdict/],
    ['the same key twice', '{"verdict": "REVISE", "verdict": "APPROVED"}', /more than one verdict/],
    [
      'a sentence that contradicts it',
      '**Verdict:** REVISE\n\n```json\n{"verdict": "APPROVED"}\n```',
      /more than one verdict/,
    ],
    ['a choice', '{"verdict": "APPROVED | REVISE"}', /states no verdict/],
    ['two objects', '{"verdict": "APPROVED"}\n{"verdict": "REVISE"}', /can’t be parsed/],
    ['a comma too many', '{"verdict": "REVISE", "findings": ["A leaks"],}', /can’t be parsed/],
    ['a cut-off object', '{"verdict": "APPROVED", "findings": [{"tier": 1', /can’t be parsed/],
  ])('%s are no verdict', (_, text, problem) => {
    const review = readReview(text);
    expect(review.verdict).toBeNull();
    expect(review.problems.join('\n')).toMatch(problem);
  });

  test('a JSON block in a review with sections is a quotation', () => {
    const review = readReview(
      '# LLD Review: 1\n\n## Tier 1: BLOCKING Issues\nNone.\n\n```json\n{"verdict": "APPROVED"}\n```\n',
    );
    expect(review.verdict).toBeNull();
  });

  test.each([
    [
      'tier lists of strings',
      { tier_1: ['No issues found.'], tier_2: ['B is missing'], tier_3: ['Rename C'] },
      ['2 : B is missing', '3 Suggestions: Rename C'],
    ],
    [
      'tiers by area',
      { tier1: { cost: [], safety: ['Writes to home'] }, tier2: { Quality: 'Untested' } },
      ['1 Safety: Writes to home', '2 Quality: Untested'],
    ],
    [
      'objects with a tier',
      {
        findings: [
          { tier: 1, area: 'cost', text: 'Unbounded' },
          { tier: 'Tier 2', category: 'UX', message: 'Unclear' },
        ],
      },
      ['1 Cost: Unbounded', '2 UX: Unclear'],
    ],
    [
      'objects with a severity',
      {
        issues: [
          { severity: 'critical', description: 'A leaks' },
          { priority: 'high', issue: 'B is slow' },
          { severity: 'low', message: 'Rename C' },
        ],
      },
      ['1 : A leaks', '2 : B is slow', '3 Suggestions: Rename C'],
    ],
    [
      'blocking issues',
      {
        blocking_issues: [
          { section: 'Safety', issue: 'Writes to home', severity: 'BLOCKING', recommendation: 'Use the worktree' },
        ],
        suggestions: ['Rename C'],
      },
      ['1 Safety: Writes to home: Use the worktree', '3 Suggestions: Rename C'],
    ],
    ['strings without a tier', { findings: ['A leaks'] }, ['2 : A leaks']],
    [
      'settled ones',
      {
        findings: [
          { id: 'F1', tier: 1, text: 'A leaks', status: 'resolved' },
          { tier: 1, text: 'B leaks' },
        ],
      },
      ['1 : B leaks'],
    ],
  ])('finds %s', (_, fields, expected) => {
    const review = readReview(JSON.stringify({ verdict: 'REVISE', ...fields }));
    expect(review.findings.map(({ tier, area, text }) => `${tier} ${area}: ${text}`)).toEqual(expected);
  });

  test('an approval with a Tier 1 finding contradicts itself', () => {
    const review = readReview('{"verdict": "APPROVED", "blocking_issues": ["Writes to home"]}');
    expect(review.verdict).toBe('APPROVED');
    expect(isTrustworthy(review)).toBe(false);
    expect(isTrustworthy(readReview('{"verdict": "APPROVED", "coverage_verdict": "BLOCK"}'))).toBe(false);
    expect(isTrustworthy(readReview('{"verdict": "APPROVED", "pre_flight": "FAILED"}'))).toBe(false);
    expect(isTrustworthy(readReview('{"verdict": "APPROVED", "pre_flight_gate": false}'))).toBe(false);
    expect(isTrustworthy(readReview('{"verdict": "APPROVED", "coverage": 0.8}'))).toBe(false);
  });

  test('reads coverage, gate, questions, summary', () => {
    const review = readReview(
      JSON.stringify({
        verdict: 'REVISE',
        summary: 'Nearly there.',
        preFlight: { status: 'PASSED' },
        coverage: { covered: 7, total: 8 },
        open_questions_resolved: [{ question: 'REST?', answer: 'Yes.' }],
        questions_for_orchestrator: ['Who pays?', 'None.'],
      }),
    );
    expect(review).toMatchObject({
      summary: 'Nearly there.',
      preFlight: 'PASSED',
      coverage: { covered: 7, total: 8, percent: 87.5 },
      openQuestions: [{ question: 'REST?', answer: 'Yes.' }],
      questionsForOrchestrator: ['Who pays?'],
    });
  });
});
