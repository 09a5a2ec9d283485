import fc from 'fast-check';
import { expect, test } from 'vitest';
import { review } from '../../test/support/models.ts';
import { AgentosError } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import { type Decision, type DecisionKind, decisionOf } from '../documents/decision.ts';
import { openFindings } from '../documents/ledger.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import type { OpenPoint } from './decide.ts';
import { type ReviewInput, type ReviewOutcome, reviewLoop } from './review.ts';

const LEAK = '**Handle leak:** `openAll` never closes a file when the second one is missing.';
const NAMES = '**Two names:** `load` and `read` do the same thing.';
const APPROVED = review({ verdict: 'APPROVED' });
const REVIEWS = [
  APPROVED,
  review({ verdict: 'APPROVED', tier1: [LEAK] }),
  review({ verdict: 'APPROVED', tier2: [NAMES] }),
  review({ verdict: 'REVISE', tier1: [LEAK] }),
  review({ verdict: 'REVISE', tier2: [NAMES] }),
  review({ verdict: 'DISCUSS', questions: ['Who pays?'] }),
  'I could not make up my mind.',
  '{"verdict": "REVISE", "findings": []}',
  '',
];
const DIFFS = ['+one\n', '+two\n', '+three\n'];

interface Played {
  outcome: ReviewOutcome;
  calls: { review: number; reviewAgain: number; revise: number };
  points: OpenPoint[];
  /** What each revision was asked for with. */
  reviseReviews: string[];
  inputs: ReviewInput[];
  problems: string[][];
  reviews: { text: string; round: number }[];
  events: ItemEvent[];
}

/** Plays the loop with models that answer whatever the two lists say, over and over, and a person who answers once each. */
async function play(
  diffs: string[],
  answers: string[],
  maxRounds: number,
  decisions: readonly Decision[] = [],
): Promise<Played> {
  const points: OpenPoint[] = [];
  const reviseReviews: string[] = [];
  const calls = { review: 0, reviewAgain: 0, revise: 0 };
  const inputs: ReviewInput[] = [];
  const problems: string[][] = [];
  const reviews: { text: string; round: number }[] = [];
  const events: ItemEvent[] = [];
  let reviewed = 0;
  let revised = 0;
  const nextReview = (): Promise<string> => Promise.resolve(answers[reviewed++ % answers.length] ?? '');
  const outcome = await reviewLoop(
    diffs[0] ?? '',
    {
      review: (input, again) => {
        if (again === undefined) {
          calls.review += 1;
          inputs.push(input);
        } else {
          calls.reviewAgain += 1;
          problems.push(again.problems);
        }
        return nextReview();
      },
      revise: async (_diff, text, ledger) => {
        reviseReviews.push(text);
        calls.revise += 1;
        revised += 1;
        return { ok: true, text: diffs[revised % diffs.length] ?? '', ledger };
      },
      onReview: async (text, round) => void reviews.push({ text, round }),
    },
    {
      emit: (event) => void events.push(event),
      maxRounds,
      decider: {
        ask: async (point) => decisions[points.push(point) - 1] ?? null,
        decidedBefore: () => null,
      },
    },
  );
  return { outcome, calls, inputs, problems, reviews, events, points, reviseReviews };
}

function decision(kind: DecisionKind, text: string | null = null): Decision {
  const said = kind === 'revise' ? { reason: null, change: text ?? 'Close it.' } : { reason: text, change: null };
  return decisionOf({
    kind,
    ...said,
    by: 'Ada',
    at: '2026-01-02T03:04:05.000Z',
    id: '42',
    title: 'Add',
    asked: 'Why?',
  });
}

test('whatever models and people answer, the loop ends within its bounds and approves only what one of them approved', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...DIFFS), { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom(...REVIEWS), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('approve', 'revise', 'revise', 'drop'), { maxLength: 3 }),
      async (diffs, answers, maxRounds, kinds) => {
        const said = kinds.map((kind) => decision(kind));
        const { outcome, calls, inputs, reviews, events } = await play(diffs, answers, maxRounds, said);
        const changes = outcome.decisions.filter(({ kind }) => kind === 'revise').length;
        expect(outcome.rounds).toBeLessThanOrEqual((1 + changes) * maxRounds);
        for (const { round, maxRounds: announced } of inputs) expect(round).toBeLessThanOrEqual(announced);
        expect(calls.review).toBe(outcome.rounds);
        expect(calls.reviewAgain).toBeLessThanOrEqual(calls.review);
        expect(calls.revise).toBe(outcome.rounds - 1);
        expect(inputs.map(({ round }) => round)).toEqual(inputs.map((_, index) => index + 1));
        expect(outcome.text).toBe(diffs[calls.revise % diffs.length]);
        expect(reviews.map(({ round }) => round)).toEqual(inputs.map(({ round }) => round));
        expect(events.filter(({ type }) => type === 'review-read')).toHaveLength(calls.review + calls.reviewAgain);
        expect(events.filter(({ type }) => type === 'set-aside')).toHaveLength(calls.reviewAgain);
        const lastWord = outcome.decisions.at(-1)?.kind;
        expect(outcome.verdict === 'DROPPED').toBe(lastWord === 'drop');
        if (outcome.verdict === 'DROPPED') return;
        if (outcome.verdict === 'DISCUSS') {
          expect(outcome.reason).not.toBe('');
          return;
        }
        if (lastWord === 'approve') return;
        const last = readReview(reviews.at(-1)?.text ?? '');
        expect(last.verdict).toBe('APPROVED');
        expect(isTrustworthy(last)).toBe(true);
        expect(openFindings(outcome.ledger).filter(({ tier }) => tier === 1)).toEqual([]);
      },
    ),
    { numRuns: 80 },
  );
});

test('a finding is revised, shown with the earlier diff, and settled by the approval', async () => {
  const { outcome, inputs } = await play(DIFFS, [REVIEWS[3] ?? '', APPROVED], 3);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 2, text: '+two\n' });
  expect(outcome.ledger.findings[0]).toMatchObject({ id: 'F1', tier: 1, state: 'fixed' });
  expect(inputs[0]).toMatchObject({ round: 1, text: '+one\n', previous: null, ledger: { findings: [] } });
  expect(inputs[1]).toMatchObject({ round: 2, text: '+two\n', previous: '+one\n' });
  expect(inputs[1]?.ledger.findings[0]).toMatchObject({ id: 'F1', state: 'open' });
});

test('an approval that names an open Tier 1 finding is asked for again, and is never taken', async () => {
  const { outcome, calls, problems } = await play(DIFFS, [REVIEWS[1] ?? ''], 3);
  expect(calls).toEqual({ review: 1, reviewAgain: 1, revise: 0 });
  expect(problems).toEqual([[expect.stringContaining('Tier 1')]]);
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', rounds: 1 });
  expect(outcome.verdict === 'DISCUSS' && outcome.reason).toContain("can't be acted on");
  expect(outcome.ledger.findings).toEqual([]);
});

test('an approval that rules an earlier blocking finding still open contradicts itself', async () => {
  const insisting = APPROVED.replace('Read with care.', 'F1 is still open.');
  const { outcome, problems } = await play(DIFFS, [REVIEWS[3] ?? '', insisting, insisting], 3);
  expect(problems).toEqual([[expect.stringContaining('APPROVED, but F1 is still open')]]);
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', rounds: 2 });
});

test('the same finding on an unchanged diff ends in DISCUSS before the rounds are used up', async () => {
  const { outcome, calls } = await play(['+one\n'], [REVIEWS[3] ?? ''], 4);
  expect(calls).toEqual({ review: 2, reviewAgain: 0, revise: 1 });
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', rounds: 2 });
  expect(outcome.verdict === 'DISCUSS' && outcome.reason).toContain('F1 stayed open');
});

test('the last round ends in DISCUSS without another revision', async () => {
  const { outcome, calls } = await play(DIFFS, [REVIEWS[3] ?? ''], 2);
  expect(calls).toEqual({ review: 2, reviewAgain: 0, revise: 1 });
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', rounds: 2 });
  expect(outcome.verdict === 'DISCUSS' && outcome.reason).toContain('1 finding(s) still open after 2 review round(s)');
});

test('an approval by a person withdraws what is open; the person has seen the diff and the review', async () => {
  const { outcome, points } = await play(DIFFS, [REVIEWS[3] ?? ''], 1, [decision('approve', 'Known.')]);
  expect(points).toMatchObject([{ text: '+one\n', obstacle: null, openQuestions: [] }]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 1, text: '+one\n' });
  expect(outcome.ledger.findings[0]).toMatchObject({ state: 'withdrawn', reason: 'approved by Ada: Known.' });
});

test('what a person asks for goes to the writer as the review, beside what was open, and the rounds start over', async () => {
  const said = decision('revise', 'Use `using`.');
  const { outcome, inputs, reviseReviews } = await play(DIFFS, [REVIEWS[3] ?? '', APPROVED], 1, [said]);
  expect(reviseReviews).toEqual([said.document]);
  expect(inputs[1]).toMatchObject({ round: 2, maxRounds: 2, text: '+two\n', previous: '+one\n' });
  expect(inputs[1]?.ledger.findings.map(({ state, text }) => [state, text.split(':')[0]])).toContainEqual([
    'open',
    'Use `using`.',
  ]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 2, decisions: [said] });
});

test('dropped by a person, it ends there', async () => {
  const said = decision('drop');
  const { outcome, calls } = await play(DIFFS, [REVIEWS[5] ?? ''], 3, [said]);
  expect(outcome).toMatchObject({ verdict: 'DROPPED', decision: said, decisions: [said] });
  expect(calls).toMatchObject({ review: 1, revise: 0 });
});

test('a revision whose gates fail ends the loop with that failure', async () => {
  const failure = new AgentosError({ code: 'gate-failed', gate: 'green', problems: ['x'], worktree: 'w', branch: 'b' });
  const subject = {
    review: async () => REVIEWS[3] ?? '',
    revise: () => Promise.reject(failure),
    onReview: async () => undefined,
  };
  const loop = reviewLoop('+one\n', subject, { emit: () => undefined, maxRounds: 3 });
  await expect(loop).rejects.toBe(failure);
});
