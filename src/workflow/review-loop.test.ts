import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LLD_42 } from '../../test/fixtures/lld/lld-42.ts';
import { review } from '../../test/support/models.ts';
import { checkLld } from '../governance/lld/checks.ts';
import { isTrustworthy, readReview } from '../governance/review/reader.ts';
import { type LoopOutcome, reviewLoop } from './review-loop.ts';

const CLEAN = LLD_42;
const BROKEN = CLEAN.replace('| REQ-2 |', '| REQ-9 |');
const ASKING = CLEAN.replace('### Open Questions\n', '### Open Questions\n- [ ] Who rounds?\n');
const SHRUNK = CLEAN.slice(0, CLEAN.indexOf('## 7.'));

const REVIEWS = [
  review({ verdict: 'APPROVED' }),
  review({ verdict: 'APPROVED', tier1: ['**Data loss:** the file goes before it is copied.'] }),
  review({ verdict: 'APPROVED', resolved: ['~~Who rounds?~~ **RESOLVED: the caller.**'] }),
  review({ verdict: 'REVISE', tier1: ['**Unbounded cache:** Section 2.6 keeps every value.'] }),
  review({ verdict: 'REVISE', tier2: ['**Names:** Section 2.4 has two names for one thing.'] }),
  review({ verdict: 'DISCUSS', questions: ['Who pays?'] }),
  'I could not make up my mind.',
  '{"verdict": "REVISE", "findings": []}',
];
const DRAFTS = [
  CLEAN,
  BROKEN,
  ASKING,
  SHRUNK,
  CLEAN.replace('no state.', 'no state at all.'),
  'No changes are needed.',
];

interface Played {
  outcome: LoopOutcome;
  calls: { repair: number; review: number; reviewAgain: number; revise: number; reviseAgain: number };
  lastReview: string;
}

/** Plays the loop with models that answer whatever the two lists say, over and over. */
async function play(drafts: string[], reviews: string[], maxRounds: number): Promise<Played> {
  const calls = { repair: 0, review: 0, reviewAgain: 0, revise: 0, reviseAgain: 0 };
  let drafted = 0;
  let reviewed = 0;
  let lastReview = '';
  const nextDraft = (): string => drafts[drafted++ % drafts.length] ?? CLEAN;
  const nextReview = (): string => {
    lastReview = reviews[reviewed++ % reviews.length] ?? '';
    return lastReview;
  };
  const count = (name: keyof typeof calls, answer: () => string) => (): Promise<string> => {
    calls[name] += 1;
    return Promise.resolve(answer());
  };
  const outcome = await reviewLoop(nextDraft(), {
    ask: {
      repair: count('repair', nextDraft),
      review: count('review', nextReview),
      reviewAgain: count('reviewAgain', nextReview),
      revise: count('revise', nextDraft),
      reviseAgain: count('reviseAgain', nextDraft),
    },
    check: (draft) => ({ findings: checkLld(draft, { issueId: '42' }).findings, coverage: '' }),
    lineage: { add: () => Promise.resolve() },
    emit: () => undefined,
    maxRounds,
  });
  return { outcome, calls, lastReview };
}

test('whatever the models answer, the loop ends within its bounds and approves only what a readable review approved', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...DRAFTS), { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom(...REVIEWS), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      async (drafts, reviews, maxRounds) => {
        const { outcome, calls, lastReview } = await play(drafts, reviews, maxRounds);
        expect(outcome.rounds).toBeLessThanOrEqual(maxRounds);
        expect(calls.review).toBeLessThanOrEqual(maxRounds);
        expect(calls.reviewAgain).toBeLessThanOrEqual(maxRounds);
        expect(calls.repair).toBeLessThanOrEqual(2 * maxRounds);
        expect(calls.revise).toBeLessThan(maxRounds + 1);
        expect(calls.reviseAgain).toBeLessThanOrEqual(calls.revise);
        if (outcome.verdict !== 'APPROVED') return;
        const last = readReview(lastReview);
        expect(last.verdict).toBe('APPROVED');
        expect(isTrustworthy(last)).toBe(true);
        expect(
          checkLld(outcome.text, { issueId: '42' }).findings.filter(({ severity }) => severity === 'error'),
        ).toEqual([]);
        expect(outcome.text).not.toContain('- [ ] Who rounds?');
      },
    ),
    { numRuns: 60 },
  );
});

test('a REVISE that names no finding still leads to a revision', async () => {
  const { outcome, calls } = await play(
    [CLEAN, CLEAN.replace('no state.', 'no state at all.')],
    [REVIEWS[7] ?? '', REVIEWS[0] ?? ''],
    3,
  );
  expect(outcome.verdict).toBe('APPROVED');
  expect(calls).toMatchObject({ review: 2, revise: 1 });
});
