import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Material } from '../../governance/material.ts';
import { isTrustworthy, readReview } from '../../governance/review/reader.ts';
import { reviewCodeByRules } from './code-review.ts';
import { draftScaffold } from './draft.ts';

const issue = { id: '42', title: 'Remember the last tea', body: '- it keeps the tea\n', hash: 'any' };
const lld = draftScaffold(issue, ['src/index.js']);

type CodeReviewMaterial = Extract<Material, { task: 'code-review' }>;

function gate(name: string, problem: string | null = null): CodeReviewMaterial['evidence'][number] {
  return { gate: name, passed: problem === null, summary: problem ?? '' };
}

const PASSED = [gate('red'), gate('green')];

function added(path: string, ...lines: string[]): string {
  return [
    `diff --git a/${path} b/${path}`,
    'new file mode 100644',
    'index 0000000..1111111',
    '--- /dev/null',
    `+++ b/${path}`,
    `@@ -0,0 +1,${lines.length} @@`,
    ...lines.map((line) => `+${line}`),
    '',
  ].join('\n');
}

const CODE = added('src/remember-last-tea.js', 'export const keep = (tea) => tea;');
const TEST = added('test/remember-last-tea.test.js', "test('010 it keeps the tea', () => {});");

function reviewOf(more: Partial<CodeReviewMaterial>) {
  const material = { task: 'code-review' as const, issue, lld, diff: CODE + TEST, round: 1, evidence: PASSED };
  const review = readReview(reviewCodeByRules({ ...material, ...more }));
  expect(isTrustworthy(review)).toBe(true);
  return review;
}

test('gates that passed and files of the design alone: approved, with the coverage of the design', () => {
  const review = reviewOf({});
  expect(review).toMatchObject({ verdict: 'APPROVED', problems: [], findings: [] });
  expect(review.coverage).toEqual({ covered: 1, total: 1, percent: 100 });
});

test('a gate that did not pass holds the code back, with what it said', () => {
  const review = reviewOf({ evidence: [...PASSED, gate('reverse', '010 still passes')] });
  expect(review.verdict).toBe('REVISE');
  expect(review.findings).toEqual([
    { tier: 2, area: 'Quality', text: expect.stringMatching(/Gate reverse[\s\S]*010 still passes/) },
  ]);
});

test('a file outside of the design holds the code back, also one that was only renamed; a further test does not', () => {
  const renamed = 'diff --git a/src/a.js b/src/b.js\nsimilarity index 100%\nrename from src/a.js\nrename to src/b.js\n';
  const more = added('test/more.test.js', "test('more', () => {});");
  const review = reviewOf({ diff: CODE + TEST + renamed + more });
  expect(review.verdict).toBe('REVISE');
  const texts = review.findings.map(({ tier, text }) => `${tier} ${text.split('\n')[0]}`);
  expect(texts).toEqual([
    expect.stringContaining('2 Outside of the design: src/a.js'),
    expect.stringContaining('2 Outside of the design: src/b.js'),
    expect.stringContaining("3 More tests: section 2.1 doesn't list test/more.test.js"),
  ]);
});

test('a scenario that no test names and a file that was not touched are remarked on', () => {
  const review = reviewOf({ diff: TEST.replace('010', '1010') });
  expect(review.verdict).toBe('APPROVED');
  expect(review.findings.map(({ tier, text }) => `${tier} ${text}`)).toEqual([
    '3 Scenarios: no test in the diff names 010.',
    '3 Not changed: section 2.1 lists src/remember-last-tea.js.',
  ]);
});

test.each([
  ['an empty diff', { diff: '' }, 'REVISE'],
  ['a diff that is none', { diff: 'fatal: bad revision' }, 'DISCUSS'],
  ['a diff that was cut', { diff: CODE.replace('+1,1', '+1,9') }, 'DISCUSS'],
  ['no gate at all', { evidence: [] }, 'DISCUSS'],
])('%s is never approved', (_, more, verdict) => {
  expect(reviewOf(more).verdict).toBe(verdict);
});

test('whatever the diff and the gates say, the review reads as one clear verdict', () => {
  const words = fc.constantFrom(
    '[x] **APPROVED**',
    '## Verdict',
    'REVISE',
    '`',
    '**',
    '|',
    '\n',
    '- [ ] x',
    '<!--',
    'F1 fixed',
    '"',
  );
  const text = fc
    .array(fc.oneof(words, fc.string({ maxLength: 8 })), { maxLength: 12 })
    .map((parts) => parts.join(' '));
  fc.assert(
    fc.property(text, text, text, (title, path, problem) => {
      const clean = path.replace(/[\s"\\]/g, '-') || 'x';
      const review = reviewOf({
        issue: { id: '42', title },
        diff: CODE + added(`src/${clean}`, problem.replace(/[\r\n]/g, ' ')),
        evidence: [gate('green', problem)],
      });
      expect(review.verdict).toBe('REVISE');
    }),
    { numRuns: 100 },
  );
});
