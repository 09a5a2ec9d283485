import { AgentosError } from '../core/errors.ts';
import { sha256 } from '../core/hash.ts';
import { NO_USAGE } from '../core/money.ts';
import { foldResolvedQuestions } from '../documents/questions.ts';
import { readReview } from '../documents/review/reader.ts';
import { reviseDraft } from '../documents/revise/revision.ts';
import type { PromptPart, Provider } from '../models/port.ts';
import { untagged } from '../prompts/tags.ts';
import { recordedCodeReview } from './recorded-code.ts';
import draft7 from './tour/7-draft.md';
import firstReview7 from './tour/7-review-1.md';
import secondReview7 from './tour/7-review-2.md';
import revision7 from './tour/7-revise-1.md';
import draft12 from './tour/12-draft.md';
import review12 from './tour/12-review-1.md';
import draft21 from './tour/21-draft.md';
import review21 from './tour/21-review-1.md';

interface Recording {
  draft: string;
  /** One for each round. */
  reviews: string[];
  /** The drafter's reply to the review of the same index. */
  revisions: string[];
}

/** By the hash of the issue in the drafter's prompt: an edited issue has no recording. */
const RECORDINGS: Record<string, Recording> = {
  a5f186a863d7c847296ee9334f55147c7759f84fb73b9c803caa500f5571a448: {
    draft: draft7,
    reviews: [firstReview7, secondReview7],
    revisions: [revision7],
  },
  '12f27e2cb3a84bf4bceb0b3fe3c1671a5c28af62ad56adeae5cd6c8f90707a7c': {
    draft: draft12,
    reviews: [review12],
    revisions: [],
  },
  d48cef63c92406f8be0762fe6d7b00b9eccdfbd566a633e5374cc8c0bb75506a: {
    draft: draft21,
    reviews: [review21],
    revisions: [],
  },
};

const SPEC = 'offline';

/** Plays the recorded tour: no model, no network, no key. A prompt without a recording is an error. */
export function createOfflineProvider(): Provider {
  return {
    spec: SPEC,
    isModel: false,
    async complete({ parts, stepId, signal, onProgress }) {
      signal.throwIfAborted();
      const step = stepId.split('#')[0] ?? '';
      const text = recordedReply(step, parts);
      if (text === null) throw new AgentosError({ code: 'offline-no-reply', step });
      onProgress?.({ outputChars: text.length });
      return { text, asked: SPEC, answered: SPEC, substituted: false, usage: NO_USAGE, metered: true };
    },
  };
}

/** Whether the tour has a recording of an issue, given as in the drafter's prompt. */
export function isRecordedIssue(text: string): boolean {
  return recordingOf(text) !== null;
}

/**
 * The recorded reply to a prompt, or null, found by the prompt's own tags. A review or revision is replayed only for exactly
 * the draft of its recording, so that no other design is approved.
 */
function recordedReply(step: string, parts: readonly PromptPart[]): string | null {
  const shown = (tag: string): string | null =>
    parts.map(({ text }) => untagged(tag, text)).find((text) => text !== null) ?? null;
  const lld = shown('lld');
  if (lld !== null) return recordedCodeReview(lld, { tests: shown('tests'), change: shown('change') });
  const recording = recordingOf(shown('issue') ?? '');
  const [, task, round] = /^(draft|review|revise)(?:-(\d+))?$/.exec(step) ?? [];
  if (recording === null || task === undefined) return null;
  if (task === 'draft') return recording.draft;
  const index = Number(round) - 1;
  const draft = shown('draft') ?? '';
  const reviewed = draftOfRound(recording, index);
  if (reviewed === null) return null;
  if (task === 'review') return same(draft, reviewed) ? (recording.reviews[index] ?? null) : null;
  const folded = withAnswers(reviewed, recording.reviews[index]);
  return same(draft, folded) ? (recording.revisions[index] ?? null) : null;
}

function recordingOf(issue: string): Recording | null {
  return RECORDINGS[sha256(issue.trim())] ?? null;
}

/** The draft of a round, by the replies before it. */
function draftOfRound(recording: Recording, index: number): string | null {
  let draft = recording.draft;
  for (let round = 0; round < index; round++) {
    const revised = reviseDraft(withAnswers(draft, recording.reviews[round]), recording.revisions[round] ?? '', {
      named: null,
    });
    if (!revised.ok) return null;
    draft = revised.text;
  }
  return draft;
}

function withAnswers(draft: string, review: string | undefined): string {
  return review === undefined ? draft : foldResolvedQuestions(draft, readReview(review).openQuestions);
}

function same(left: string, right: string): boolean {
  return left.trim() === right.trim();
}
