import type { ItemEvent } from '../core/events.ts';
import { type Ledger, openFindings, recordReview, stuck } from '../documents/ledger.ts';
import { isTrustworthy, type Review, readReview } from '../documents/review/reader.ts';

/** What is reviewed, and how the reviewer is asked. The two questions are paid: each is one durable step. */
export interface Reviewing {
  round: number;
  /** As the reviews before left it. */
  ledger: Ledger;
  /** Whether the reviewed thing is another one than in the last round. */
  changed: boolean;
  ask: () => Promise<string>;
  askAgain: (earlier: string, problems: string[]) => Promise<string>;
  /**
   * What this kind of thing makes of a review: takes up what it answers, and says what of an approval contradicts the
   * thing itself. Called for each reply, also for one that has to be asked for again.
   */
  take?: (review: Review) => string[];
  /** Called with the review that counts. */
  onReview: (text: string) => Promise<void>;
  emit: (event: ItemEvent) => void;
}

/** A review as it was read. */
export interface ReadReview {
  review: Review;
  text: string;
  /** With this review in it; as before if the review can't be acted on. */
  ledger: Ledger;
  /** Why it can't be acted on. */
  objections: string[];
}

/** One review. A reply that can't be read or contradicts itself is asked for once more; the second one counts as it is. */
export async function readableReview(reviewing: Reviewing): Promise<ReadReview> {
  let read = readOne(await reviewing.ask(), reviewing);
  if (read.objections.length > 0) {
    reviewing.emit({ type: 'set-aside', what: 'verdict', round: reviewing.round, text: read.text });
    read = readOne(await reviewing.askAgain(read.text, read.objections), reviewing);
  }
  await reviewing.onReview(read.text);
  return read;
}

function readOne(text: string, reviewing: Reviewing): ReadReview {
  const result = judge(text, reviewing);
  const { verdict, findings } = result.review;
  const count = (tier: number): number => findings.filter((finding) => finding.tier === tier).length;
  const tiers: [number, number, number] = [count(1), count(2), count(3)];
  reviewing.emit({ type: 'review-read', round: reviewing.round, verdict, tiers, problems: result.objections });
  return result;
}

/** An approval is contradicted by what the reviewed thing itself says, and by a blocking finding that is still open. */
function judge(text: string, { round, ledger: earlier, changed, take }: Reviewing): ReadReview {
  const review = readReview(text);
  const ledger = recordReview(earlier, review, { round, draftChanged: changed });
  const objections = isTrustworthy(review) ? [] : review.problems.map((problem) => problem.message);
  const contradictions = take?.(review) ?? [];
  if (review.verdict === 'APPROVED') {
    const blocking = openFindings(ledger).filter((finding) => finding.tier === 1);
    objections.push(
      ...contradictions,
      ...blocking.map(({ id, text: finding }) => `APPROVED, but ${id} is still open: ${finding.split('\n')[0]}`),
    );
  }
  return { review, text, ledger: objections.length === 0 ? ledger : earlier, objections };
}

export type ReviewEnding = { verdict: 'APPROVED' } | { verdict: 'DISCUSS'; reason: string };

/** How a review ends the rounds; null: what it asks for is to be revised, and there is a round left to look at it again. */
export function endingOf(
  { review, ledger, objections }: ReadReview,
  { round, maxRounds }: { round: number; maxRounds: number },
): ReviewEnding | null {
  const discuss = (reason: string): ReviewEnding => ({ verdict: 'DISCUSS', reason });
  if (objections.length > 0) return discuss(`the review can't be acted on: ${objections.join('; ')}`);
  if (review.verdict === 'APPROVED') return { verdict: 'APPROVED' };
  if (review.verdict === 'DISCUSS') return discuss(reasonToDiscuss(review));

  const repeated = stuck(ledger);
  if (repeated.length > 0) return discuss(`${repeated.join(', ')} stayed open although nothing was changed for it`);
  if (round < maxRounds) return null;
  return discuss(`${openFindings(ledger).length} finding(s) still open after ${round} review round(s)`);
}

function reasonToDiscuss(review: Review): string {
  const questions = review.questionsForOrchestrator;
  return questions.length > 0
    ? `the reviewer asks: ${questions.join(' / ')}`
    : 'the reviewer asks for a person’s decision';
}
