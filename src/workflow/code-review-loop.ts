import type { ItemEvent } from '../core/events.ts';
import type { Decision } from '../documents/decision.ts';
import { emptyLedger, type Ledger } from '../documents/ledger.ts';
import { type AskPerson, discuss, type LoopEnding } from './discussing.ts';
import { endingOf, type ReviewEnding, readableReview } from './reviewing.ts';

export interface CodeReviewInput {
  round: number;
  ledger: Ledger;
  diff: string;
  /** Null in the first round. */
  previousDiff: string | null;
  /** The last round that there may be, as far as is known in this one. */
  maxRounds: number;
}

export interface CodeReviewOptions {
  review(input: CodeReviewInput): Promise<string>;
  reviewAgain(input: CodeReviewInput, earlier: string, problems: string[]): Promise<string>;
  /**
   * Makes the change that the review asks for, and proves it again by the gates. Rejects with `gate-failed` when that
   * can't be done. Returns the new diff.
   */
  revise(review: string, ledger: Ledger, round: number): Promise<string>;
  emit: (event: ItemEvent) => void;
  maxRounds: number;
  /** The review that counts in a round. */
  onReview?: (text: string, round: number) => Promise<void>;
}

/** One that asks a person; without it, what can't be decided ends in DISCUSS at once. */
export interface DecidedCodeReviewOptions extends CodeReviewOptions {
  decide: AskPerson;
}

export type CodeReviewOutcome<Ending = LoopEnding> = {
  rounds: number;
  ledger: Ledger;
  diff: string;
  /** What people decided on the way. */
  decisions: Decision[];
} & Ending;

/**
 * Review → revise, until it ends. Each way round costs one of `maxRounds`, with at most one repeated review, so the number
 * of calls is bounded whatever the models answer:
 *
 *   reviewing – not readable, or it contradicts itself → asked once more; still so → asking
 *               APPROVED → APPROVED;  DISCUSS → asking
 *               REVISE: the same finding twice on an unchanged diff, or the last round → asking; else revising
 *   revising  – the gates don't hold any more → it rejects; else reviewing
 *   asking    – nobody has decided → DISCUSS;  a person approves → APPROVED;  drops → DROPPED
 *               a person asks for a change → revising, with as many further rounds as there were in the beginning
 */
export function codeReviewLoop(firstDiff: string, options: DecidedCodeReviewOptions): Promise<CodeReviewOutcome>;
export function codeReviewLoop(firstDiff: string, options: CodeReviewOptions): Promise<CodeReviewOutcome<ReviewEnding>>;
export async function codeReviewLoop(
  firstDiff: string,
  options: CodeReviewOptions & Partial<DecidedCodeReviewOptions>,
): Promise<CodeReviewOutcome> {
  const { emit, onReview, decide: ask } = options;
  const decisions: Decision[] = [];
  let { maxRounds } = options;
  let diff = firstDiff;
  let previousDiff: string | null = null;
  let ledger = emptyLedger;

  for (let round = 1; ; round++) {
    const input: CodeReviewInput = { round, ledger, diff, previousDiff, maxRounds };
    const read = await readableReview({
      round,
      ledger,
      changed: previousDiff !== diff,
      ask: () => options.review(input),
      askAgain: (earlier, problems) => options.reviewAgain(input, earlier, problems),
      onReview: async (text) => onReview?.(text, round),
      emit,
    });
    ledger = read.ledger;
    let review = read.text;
    const ending = endingOf(read, { round, maxRounds });
    if (ending?.verdict === 'APPROVED') return { ...ending, rounds: round, ledger, diff, decisions };
    if (ending !== null) {
      const openQuestions = read.review.questionsForOrchestrator;
      const point = { reason: ending.reason, text: diff, review, obstacle: null, openQuestions };
      const discussed = await discuss(point, { ledger, round, ask });
      ({ ledger } = discussed);
      const { decision } = discussed;
      if (decision !== null) decisions.push(decision);
      if (discussed.ending !== null) return { ...discussed.ending, rounds: round, ledger, diff, decisions };
      maxRounds = round + options.maxRounds;
      review = decision?.document ?? review;
    }

    previousDiff = diff;
    diff = await options.revise(review, ledger, round);
  }
}
