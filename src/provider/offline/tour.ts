import { foldResolvedQuestions } from '../../governance/lld/fold-questions.ts';
import { reviseDraft } from '../../governance/lld/revision.ts';
import type { Material } from '../../governance/material.ts';
import { readReview } from '../../governance/review/reader.ts';
import { recordedCodeReview } from './code-review.ts';
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
  /** What the drafter answered to the review of the same index. */
  revisions: string[];
}

/** By the hash of the issue as the sample repository has it: an edited issue is another issue, and is not in here. */
const RECORDINGS: Record<string, Recording> = {
  '740761bbf4b550aa0c8e240537ba2e3006e17ab1ad11b8385c660c3f416ba0c5': {
    draft: draft7,
    reviews: [firstReview7, secondReview7],
    revisions: [revision7],
  },
  b4bfae72789866f99d0bcb0971ec12a97ed9005b1111bf727d6f4000956e9100: {
    draft: draft12,
    reviews: [review12],
    revisions: [],
  },
  '299c82bc4d92bd5c56cc7dd21bc94d599cc7d2204faa67bc35787fa295c5ba32': {
    draft: draft21,
    reviews: [review21],
    revisions: [],
  },
};

/**
 * The recorded reply for the sample repository, or null. A review or revision is replayed only for the very draft that it
 * was recorded for, so that nobody's own design is approved with words about another one.
 */
export function recordedReply(material: Material): string | null {
  if (material.task === 'code-review') return recordedCodeReview(material);
  if ('brief' in material) return null;
  const recording = RECORDINGS[material.issue.hash];
  if (!recording || material.task === 'repair') return null;
  if (material.task === 'draft') return recording.draft;
  const index = material.round - 1;
  const reviewed = draftOfRound(recording, index);
  if (reviewed === null) return null;
  if (material.task === 'review') return same(material.draft, reviewed) ? (recording.reviews[index] ?? null) : null;
  const folded = withAnswers(reviewed, recording.reviews[index]);
  return same(material.draft, folded) ? (recording.revisions[index] ?? null) : null;
}

/** The draft as the rounds before have left it. */
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
  return review === undefined ? draft : foldResolvedQuestions(draft, readReview(review).openQuestions).text;
}

function same(left: string, right: string): boolean {
  return left.trimEnd() === right.trimEnd();
}
