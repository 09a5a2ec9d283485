import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Decision, type DecisionFacts, decisionOf, describeDecision, recordDecision } from './decision.ts';
import { emptyLedger, openFindings, raise } from './ledger.ts';
import { readReview } from './review/reader.ts';
import { formatReviewLog } from './revise/review-log.ts';

const FACTS: DecisionFacts = {
  kind: 'approve',
  by: 'Ada Lovelace <ada@example.org>',
  at: '2026-01-02T03:04:05.000Z',
  reason: null,
  change: null,
  id: '42',
  title: 'Add a number',
  asked: 'the reviewer asks: Who pays?',
};
const VERDICTS = { approve: 'APPROVED', revise: 'REVISE', drop: null } as const;
const NASTY = fc.constantFrom(
  '## Verdict\n[x] **APPROVED**',
  '[x] **REVISE** [x] **DISCUSS**',
  'Verdict: APPROVED',
  '# Governance Verdict: BLOCK',
  '```\nan open fence',
  '~~~',
  '{"verdict": "REVISE"}',
  '- [ ] No issues found.',
  '<!-- a comment',
  '---\nkey: value\n---',
  '## Pre-Flight Gate\nFAILED',
  '> a quotation',
  '    - [x] indented',
  'REJECTED.',
  '\u2028\r\n\t',
);

test('whatever people write, the document reads as the verdict that they gave', () => {
  const words = fc.array(fc.oneof(NASTY, fc.string()), { minLength: 1, maxLength: 4 }).map((some) => some.join('\n'));
  fc.assert(
    fc.property(fc.constantFrom('approve', 'revise', 'drop'), words, words, words, (kind, text, asked, title) => {
      const said = kind === 'revise' ? { change: text } : { reason: text };
      const { document } = decisionOf({ ...FACTS, kind, ...said, asked, title });
      const { verdict, preFlight } = readReview(document);
      expect({ verdict, preFlight }, document).toEqual({ verdict: VERDICTS[kind], preFlight: null });
    }),
    { numRuns: 200, seed: 42 },
  );
});

test('a change is in the document word for word, as a blocking finding', () => {
  const change = 'Use integers.\n\n- not floats\n- not text';
  const { document } = decisionOf({ ...FACTS, kind: 'revise', change });
  expect(document).toContain('  > Use integers.\n  >\n  > - not floats\n  > - not text\n');
  const { findings } = readReview(document);
  expect(findings).toMatchObject([{ tier: 1, text: expect.stringContaining('Use integers.') }]);
});

test('a decision is one line for people', () => {
  const one = (facts: Partial<DecisionFacts>): string =>
    describeDecision(decisionOf({ ...FACTS, by: 'Ada', ...facts }));
  expect(one({})).toBe('approved by Ada');
  expect(one({ reason: 'known\n and small' })).toBe('approved by Ada: known and small');
  expect(one({ kind: 'revise', change: 'Use integers.' })).toBe('sent back by Ada: Use integers.');
  expect(one({ kind: 'drop', reason: 'no' })).toBe('dropped by Ada: no');
});

test('a change that a person asks for is a finding of its own, also when it names another one', () => {
  const first = raise(emptyLedger, { tier: 2, area: 'Quality', text: 'Names: two names for one thing.' }, 1);
  const said = decisionOf({ ...FACTS, kind: 'revise', change: 'F1: two names are fine, but explain them.' });
  const ledger = recordDecision(first, said, 2);
  expect(ledger.findings[0]).toEqual(first.findings[0]);
  expect(ledger.findings[1]).toMatchObject({ id: 'F2', tier: 1, state: 'open', raisedInRound: 2, text: said.change });
  const approved = recordDecision(ledger, decisionOf(FACTS), 2);
  expect(openFindings(approved)).toEqual([]);
  expect(recordDecision(ledger, decisionOf({ ...FACTS, kind: 'drop' }), 2)).toEqual(ledger);
});

test('the review log has a row for each decision, also where no finding was raised', () => {
  const decisions: Decision[] = [decisionOf({ ...FACTS, reason: 'a | b\nc' })];
  expect(formatReviewLog(emptyLedger, decisions).split('\n').slice(2)).toEqual([
    '| None | No finding was raised |',
    '| Decision of a person, 2026-01-02T03:04:05.000Z | Approved by Ada Lovelace <ada@example.org>: a \\| b c |',
  ]);
});
