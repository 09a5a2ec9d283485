import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LLD_42 } from '../../test/fixtures/lld/lld-42.ts';
import { review } from '../../test/support/models.ts';
import { type Decision, type DecisionKind, decisionOf } from '../documents/decision.ts';
import { openFindings } from '../documents/ledger.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { isTrustworthy, readReview } from '../documents/review/reader.ts';
import { type DocumentForm, LLD_FORM } from '../documents/revise/reply.ts';
import { formatReviewLog } from '../documents/revise/review-log.ts';
import type { OpenPoint } from './decide.ts';
import { reviewDocument } from './document-review.ts';
import type { ReviewInput, ReviewOutcome } from './review.ts';

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
  outcome: ReviewOutcome;
  calls: { repair: number; review: number; reviewAgain: number; revise: number; reviseAgain: number };
  lastReview: string;
  points: OpenPoint[];
  inputs: ReviewInput[];
  /** What each revision was asked for with. */
  reviseReviews: string[];
  /** The lineage. */
  versions: { kind: string; text: string }[];
}

/** Plays the loop with models that answer whatever the two lists say, over and over, and a person who answers once each. */
async function play(
  drafts: string[],
  reviews: string[],
  maxRounds: number,
  decisions: readonly Decision[] = [],
): Promise<Played> {
  const points: OpenPoint[] = [];
  const inputs: ReviewInput[] = [];
  const reviseReviews: string[] = [];
  const versions: Played['versions'] = [];
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
  const outcome = await reviewDocument(nextDraft(), {
    form: LLD_FORM,
    questions: {
      repair: count('repair', nextDraft),
      review: (input, _checked, again) => {
        if (again !== undefined) return count('reviewAgain', nextReview)();
        inputs.push(input);
        return count('review', nextReview)();
      },
      revise: (_draft, text, _ledger, _round, refused) => {
        if (refused !== undefined) return count('reviseAgain', nextDraft)();
        reviseReviews.push(text);
        return count('revise', nextDraft)();
      },
    },
    check: (draft) => ({ findings: checkLld(draft, { issueId: '42' }).findings, coverage: '' }),
    lineage: { add: async (kind, text) => void versions.push({ kind, text }) },
    emit: () => undefined,
    maxRounds,
    decider: {
      ask: async (point) => decisions[points.push(point) - 1] ?? null,
      decidedBefore: () => null,
    },
  });
  return { outcome, calls, lastReview, points, inputs, reviseReviews, versions };
}

function decision(kind: DecisionKind, text: string | null = null): Decision {
  const said = kind === 'revise' ? { reason: null, change: text ?? 'Use integers.' } : { reason: text, change: null };
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

test('whatever models and people answer, the loop ends within its bounds and approves only what passes the checks and was approved', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...DRAFTS), { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom(...REVIEWS), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.constantFrom('approve', 'revise', 'revise', 'drop'), { maxLength: 3 }),
      async (drafts, reviews, maxRounds, kinds) => {
        const said = kinds.map((kind) => decision(kind));
        const { outcome, calls, lastReview, points, inputs, versions } = await play(drafts, reviews, maxRounds, said);
        // Each change that a person asks for grants as many rounds again, and one more where a revision was refused.
        const changes = outcome.decisions.filter(({ kind }) => kind === 'revise').length;
        const bound = (1 + changes) * maxRounds;
        expect(outcome.rounds).toBeLessThanOrEqual(bound + changes);
        expect(calls.review).toBeLessThanOrEqual(bound);
        expect(calls.reviewAgain).toBeLessThanOrEqual(bound);
        expect(calls.repair).toBeLessThanOrEqual(2 * (bound + 1));
        expect(calls.revise).toBeLessThanOrEqual(bound + changes);
        expect(calls.reviseAgain).toBeLessThanOrEqual(calls.revise);
        for (const { round, maxRounds: announced } of inputs) expect(round).toBeLessThanOrEqual(announced);
        // One verdict of each round, right behind the draft that it is about.
        const reviewed = versions.flatMap(({ kind }, at) => (kind === 'verdict' ? [versions[at - 1]?.text] : []));
        expect(reviewed).toEqual(inputs.map(({ text }) => text));
        expect(versions.length - reviewed.length).toBeLessThanOrEqual(outcome.rounds);
        expect(points.length).toBeLessThanOrEqual(outcome.decisions.length + 1);
        const lastWord = outcome.decisions.at(-1)?.kind;
        expect(outcome.verdict === 'DROPPED').toBe(lastWord === 'drop');
        if (outcome.verdict !== 'APPROVED') return;
        if (lastWord !== 'approve') {
          const last = readReview(lastReview);
          expect(last.verdict).toBe('APPROVED');
          expect(isTrustworthy(last)).toBe(true);
        }
        expect(openFindings(outcome.ledger).filter(({ tier }) => tier === 1)).toEqual([]);
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

const DISCUSSES = REVIEWS[5] ?? '';
const OBJECTS = REVIEWS[3] ?? '';
const APPROVES = REVIEWS[0] ?? '';
const REVISED = CLEAN.replace('no state.', 'no state at all.');

test('where nobody has decided the person is asked once, with all there is to know, and it ends in DISCUSS', async () => {
  const { outcome, points } = await play([CLEAN], [DISCUSSES], 3);
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', reason: 'the reviewer asks: Who pays?', decisions: [] });
  expect(points).toEqual([
    {
      reason: 'the reviewer asks: Who pays?',
      text: CLEAN,
      obstacle: null,
      openQuestions: ['Who pays?'],
    },
  ]);
});

test('an approval by a person withdraws what is open, in the person’s name', async () => {
  const { outcome, calls } = await play([CLEAN], [OBJECTS], 1, [decision('approve', 'Known and small.')]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 1, text: CLEAN });
  expect(outcome.ledger.findings[0]).toMatchObject({
    tier: 1,
    state: 'withdrawn',
    reason: 'approved by Ada: Known and small.',
  });
  expect(calls).toMatchObject({ review: 1, revise: 0 });
});

test('an approval of a draft that fails the checks is not taken', async () => {
  const { outcome, points } = await play([BROKEN], [APPROVES], 2, [decision('approve')]);
  expect(points[0]?.obstacle).toContain('requirement-uncovered');
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', decisions: [] });
});

test('what a person asks for goes to the drafter as the review, beside what was open, and the rounds start over', async () => {
  const said = decision('revise', 'Use integers.');
  const { outcome, inputs, reviseReviews } = await play([CLEAN, REVISED], [OBJECTS, APPROVES], 1, [said]);
  expect(reviseReviews).toEqual([said.document]);
  expect(inputs.map(({ round, maxRounds }) => [round, maxRounds])).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(inputs[1]).toMatchObject({ text: REVISED, previous: CLEAN });
  expect(openFindings(inputs[1]?.ledger ?? { findings: [] }).map(({ text }) => text)).toEqual([
    expect.stringContaining('Unbounded cache'),
    'Use integers.',
  ]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 2, text: REVISED, decisions: [said] });
});

test('a draft that never passed the checks is no version that a reviewer has seen', async () => {
  const { inputs } = await play([BROKEN, BROKEN, BROKEN, CLEAN], [APPROVES], 2, [decision('revise')]);
  expect(inputs).toMatchObject([{ text: CLEAN, previous: null, round: 2, maxRounds: 3 }]);
});

test('a person whose change is refused is asked again, and the next change has a round of its own', async () => {
  const said = [decision('revise', 'First.'), decision('revise', 'Second.')];
  const drafts = [CLEAN, SHRUNK, SHRUNK, REVISED];
  const { outcome, points, inputs, reviseReviews } = await play(drafts, [DISCUSSES, APPROVES], 3, said);
  expect(points.map(({ reason }) => reason)).toEqual([
    'the reviewer asks: Who pays?',
    expect.stringContaining('the revision was not acceptable'),
  ]);
  expect(reviseReviews).toEqual(said.map(({ document }) => document));
  expect(inputs.map(({ round }) => round)).toEqual([1, 3]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 3, text: REVISED });
});

test('a dispute reaches the reviewer, who lets the finding go or keeps it, and stays in the log', async () => {
  const disputes = 'F1 disputed: section 8 bounds it.';
  const first = await play([CLEAN, disputes], [OBJECTS, APPROVES], 3);
  expect(first.inputs[1]?.ledger.findings[0]).toMatchObject({ state: 'disputed', reason: 'section 8 bounds it.' });
  expect(first.outcome).toMatchObject({ verdict: 'APPROVED', text: CLEAN });
  expect(formatReviewLog(first.outcome.ledger)).toContain('Withdrawn: disputed: section 8 bounds it.');
  const kept = await play([CLEAN, disputes], [OBJECTS], 3);
  expect(kept.outcome).toMatchObject({ verdict: 'DISCUSS' });
  expect(formatReviewLog(kept.outcome.ledger)).toContain('the drafter disputed it: section 8 bounds it.');
});

test('a dropped document ends as dropped, whatever it is like', async () => {
  const said = decision('drop', 'Not now.');
  expect((await play([BROKEN], [APPROVES], 1, [said])).outcome).toMatchObject({ verdict: 'DROPPED', decision: said });
});

const NOTE_FORM: DocumentForm = {
  name: 'a note',
  keys: new Set(['wish', 'criteria']),
  title: /^# Note/,
};
const NOTE = '# Note: tea\n\n## Wish\nTea at five, in the blue cups, every day.\n\n## Criteria\n- Hot\n- In a cup\n';

/** A document of another form, whose first revision is one reply and whose second another. */
async function playNote(replies: [string, string]): Promise<{ outcome: ReviewOutcome; rejected: string[] }> {
  const reviews = [review({ verdict: 'REVISE', tier2: ['**Vague:** the criteria name no temperature.'] }), REVIEWS[0]];
  const rejected: string[] = [];
  const next = async (): Promise<string> => reviews.shift() ?? '';
  const outcome = await reviewDocument(NOTE, {
    form: NOTE_FORM,
    questions: {
      repair: next,
      review: next,
      revise: async (_draft, _review, _ledger, _round, refused) => replies[refused === undefined ? 0 : 1],
    },
    check: () => ({ findings: [], coverage: '' }),
    lineage: { add: () => Promise.resolve() },
    emit: (event) => void (event.type === 'reply-rejected' && rejected.push(event.reason)),
    maxRounds: 3,
  });
  return { outcome, rejected };
}

test('a document of another form goes the same way, and its own sections are what a revision may not lose', async () => {
  const better = NOTE.replace('- Hot', '- 80 degrees or more');
  const { outcome, rejected } = await playNote([
    `Here you are:\n\n${better.replace(/## Wish\n.*\n\n/, '')}`,
    `Here you are:\n\n${better}\nLet me know what you think.`,
  ]);
  expect(rejected).toEqual([expect.stringContaining('drops the section "Wish"')]);
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 2, text: better });
});

test('a reply that holds no heading of the document is no revision of it', async () => {
  const { outcome, rejected } = await playNote(['## Proposed Changes\nNothing of a note.', 'Sorry.']);
  expect(rejected[0]).toContain('no heading of a note');
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', text: NOTE });
});
