import { type Decision, describeDecision, recordDecision } from '../documents/decision.ts';
import { emptyLedger, type Ledger, openFindings, recordReview, stuck } from '../documents/ledger.ts';
import { withGuards } from '../documents/lld/document.ts';
import { foldResolvedQuestions, openQuestions } from '../documents/questions.ts';
import { type Review, readReview } from '../documents/review/reader.ts';
import { isAlreadyDone } from '../documents/revise/reply.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import type { Decider } from './decide.ts';
import type { ItemContext } from './item.ts';

/** What is reviewed: a document, or a change to code. Each question to a model is one durable step. */
export interface ReviewSubject {
  /** Only for a document: checks a draft, and has its errors repaired. Its open questions block an approval. */
  check?(draft: string, round: number): Promise<CheckedText>;
  /** Only for a document: marks findings without evidence. */
  weigh?: Weigh | undefined;
  /** `again`: the earlier reply can't be acted on. */
  review(input: ReviewInput, again?: ReviewAgain): Promise<string>;
  /** Called with the review that counts in a round. */
  onReview(review: string, round: number): Promise<void>;
  /** Makes the change that a review asks for. A result that can't be accepted goes to a person. */
  revise(text: string, review: string, ledger: Ledger, round: number): Promise<Revised>;
  /** Why a person has to look at it although the reviewer approves; null: no need. */
  needsPerson?(): Promise<string | null>;
}

/** `wrong`: findings that cite what is not there. */
export type Weigh = (review: Review, draft: string) => Promise<{ review: Review; wrong: string[] }>;

export interface CheckedText {
  text: string;
  /** Why it can't be reviewed or approved; null: it can. */
  obstacle: string | null;
}

export interface ReviewInput {
  round: number;
  /** The last possible round, as far as is known in this one. */
  maxRounds: number;
  /** The draft, or the diff. */
  text: string;
  /** The text of the last review; null in the first round. */
  previous: string | null;
  ledger: Ledger;
}

export interface ReviewAgain {
  earlier: string;
  problems: string[];
}

/** The step of a review. */
export function reviewStep(round: number, again?: ReviewAgain): string {
  return `review-${round}${again === undefined ? '' : '-again'}`;
}

/** The last parts of the prompt for a review that is asked for again. */
export function askedAgain(prompts: Prompts, again: ReviewAgain | undefined): string[] {
  if (again === undefined) return [];
  const problems = taggedList('problems', again.problems) ?? '';
  return [tagged('your-review', again.earlier), prompts.fill('review-again', { problems })];
}

/** `ledger`: with what the author of the revision says about the findings. */
export type Revised = { ok: true; text: string; ledger: Ledger } | { ok: false; reason: string };

type ReviewEnding = { verdict: 'APPROVED' } | { verdict: 'DISCUSS'; reason: string };

/** How a review loop ended. `text`: with everything in it that reviews and people answered. */
export type ReviewOutcome = {
  text: string;
  rounds: number;
  ledger: Ledger;
  /** What people decided, in order. */
  decisions: Decision[];
} & (ReviewEnding | { verdict: 'DROPPED'; decision: Decision });

export interface LoopOptions extends Pick<ItemContext, 'emit' | 'maxRounds'> {
  /** Absent: no person can be asked, and the loop ends in DISCUSS instead. */
  decider?: Pick<Decider, 'ask' | 'decidedBefore'>;
}

/**
 * Check → review → revise, until it ends; code has no check. Each round costs one of `maxRounds` and has at most two
 * repairs, one repeated review and one repeated revision: the number of calls is bounded whatever the models answer.
 *
 *   checking  – errors → repair (at most twice) → checking; still errors → asking; none → reviewing
 *   reviewing – unreadable, or it contradicts itself → asked once more; still so → asking
 *               APPROVED, no open question, no need for a person → APPROVED;  DISCUSS → asking
 *               REVISE: the same finding twice on an unchanged text, or the last round → asking; else revising
 *   revising  – not acceptable → asking; else checking. Code whose gates fail rejects the loop
 *   asking    – not decided yet → DISCUSS;  a person approves → APPROVED, unless the checks fail;  drops → DROPPED
 *               a person asks for a change → revising, with `maxRounds` further rounds
 */
export async function reviewLoop(first: string, subject: ReviewSubject, options: LoopOptions): Promise<ReviewOutcome> {
  const { decider, emit } = options;
  const isDocument = subject.check !== undefined;
  const decisions: Decision[] = [];
  let { maxRounds } = options;
  let round = 1;
  let text = first;
  let previous: string | null = null;
  let ledger = emptyLedger;
  const update = (next: Ledger): void => {
    if (next.findings.length > 0 && next !== ledger) emitLedger(next, round, emit);
    ledger = next;
  };
  const end = <Ending>(ending: Ending) => ({ ...ending, text, rounds: round, ledger, decisions });

  for (; ; round++) {
    const { text: reviewed, obstacle } = (await subject.check?.(text, round)) ?? { text, obstacle: null };
    text = reviewed;
    let review = '';
    let asked: string[] = [];
    let ending: ReviewEnding | null = obstacle === null ? null : discuss(obstacle);
    if (obstacle === null) {
      const read = await usableReview({ round, maxRounds, text, previous, ledger }, subject, emit);
      ({ text, reply: review } = read);
      update(read.ledger);
      asked = read.review.questionsForOrchestrator;
      ending = endingOf(read, { round, maxRounds });
      const reason = ending?.verdict === 'APPROVED' ? await subject.needsPerson?.() : null;
      if (reason) ending = discuss(reason);
      // A run with more rounds than the one that asked must not drop what a person answered.
      const answered = ending === null ? (decider?.decidedBefore(text) ?? null) : null;
      if (answered !== null) ending = discuss(answered);
    }

    for (let isRefused = false; ; isRefused = true) {
      if (ending?.verdict === 'APPROVED') return end(ending);
      if (ending !== null) {
        const { reason } = ending;
        const open = isDocument ? openQuestions(text) : [];
        const point = { reason, text, obstacle, openQuestions: [...new Set([...asked, ...open])] };
        const decision = (await decider?.ask(point)) ?? null;
        // A draft that fails the checks can't be approved, by a person either.
        if (decision === null || (decision.kind === 'approve' && obstacle !== null)) return end(ending);
        decisions.push(decision);
        update(recordDecision(ledger, decision, round));
        if (decision.kind === 'drop') return end({ verdict: 'DROPPED', decision });
        if (decision.kind === 'approve') {
          // The approval answers the draft's open questions.
          const answer = describeDecision(decision);
          const answers = open.map((question) => ({ question, answer }));
          if (isDocument) text = foldResolvedQuestions(text, answers);
          return end({ verdict: 'APPROVED' });
        }
        // A revision that was refused has used up its round.
        if (isRefused) round += 1;
        maxRounds = round + options.maxRounds;
        review = decision.document;
      }
      const revised = await subject.revise(text, review, ledger, round);
      if (revised.ok) {
        // A draft that failed the checks was never shown to the reviewer.
        if (obstacle === null) previous = reviewed;
        ({ text } = revised);
        update(revised.ledger);
        break;
      }
      ending = discuss(`the revision was not acceptable: ${revised.reason}`);
    }
  }
}

function discuss(reason: string): ReviewEnding & { verdict: 'DISCUSS' } {
  return { verdict: 'DISCUSS', reason };
}

function emitLedger({ findings }: Ledger, round: number, emit: LoopOptions['emit']): void {
  const entries = findings.map(({ id, tier, area, text, state, raisedInRound, updatedInRound, reason }) => {
    return { id, tier, area, text, state, raisedInRound, updatedInRound, reason };
  });
  emit({ type: 'ledger-updated', round, findings: entries });
}

interface ReadReview {
  review: Review;
  reply: string;
  /** With the answers of the review in it. */
  text: string;
  /** With this review in it; unchanged if the review can't be acted on. */
  ledger: Ledger;
  /** Why it can't be acted on. */
  objections: string[];
  /** Findings that cite what is not there. */
  wrong: string[];
}

/** One review. A reply that can't be read or contradicts itself is asked for once more; the second one counts in any case. */
async function usableReview(
  input: ReviewInput,
  subject: ReviewSubject,
  emit: LoopOptions['emit'],
): Promise<ReadReview> {
  const { round } = input;
  const read = async (reply: string, text: string): Promise<ReadReview> => {
    const stated = readReview(reply);
    const { review, wrong } = (await subject.weigh?.(stated, text)) ?? { review: stated, wrong: [] };
    const result = { review, wrong, reply, ...judge(review, input, text, subject.check !== undefined) };
    const { verdict, findings } = review;
    const count = (tier: number): number => findings.filter((finding) => finding.tier === tier).length;
    const tiers: [number, number, number] = [count(1), count(2), count(3)];
    emit({ type: 'review-read', round, verdict, tiers, problems: [...result.objections, ...wrong] });
    for (const { text: unproven } of findings.filter(({ isUnproven }) => isUnproven)) {
      emit({ type: 'notice', text: `without evidence, so a suggestion: ${unproven.split('\n')[0]}` });
    }
    return result;
  };
  let result = await read(await subject.review(input), input.text);
  const problems = [...result.objections, ...result.wrong];
  if (problems.length > 0) {
    const { reply: earlier } = result;
    // Questions that the first reply answered stay answered, even if the second doesn't repeat it.
    const again = await read(await subject.review(input, { earlier, problems }), result.text);
    // A review with a wrong citation is better than an unusable one.
    const isBetter = again.objections.length === 0 || result.objections.length > 0;
    emit({ type: 'set-aside', what: 'verdict', round, text: isBetter ? earlier : again.reply });
    if (isBetter) result = again;
  }
  await subject.onReview(result.reply, round);
  return result;
}

/** An open question in the text, or a blocking finding that is still open, contradicts an approval. `before`: with earlier answers. */
function judge(
  review: Review,
  { round, ledger: earlier, previous, text: reviewed }: ReviewInput,
  before: string,
  isDocument: boolean,
): Pick<ReadReview, 'text' | 'ledger' | 'objections'> {
  const ledger = recordReview(earlier, review, { round, draftChanged: previous !== reviewed });
  const objections = [...review.problems];
  const text = isDocument ? withGuards(foldResolvedQuestions(before, review.openQuestions), review) : before;
  if (review.verdict === 'APPROVED') {
    const questions = isDocument ? openQuestions(text) : [];
    // A design can be improved later, a claim that it is already done is true or false.
    const most = isDocument && isAlreadyDone(text) ? 2 : 1;
    const blocking = openFindings(ledger).filter((finding) => finding.tier <= most && !finding.isUnproven);
    // What the review itself contradicts is said once.
    const unsaid = blocking
      .map(({ id, text: finding }) => ({ id, line: finding.split('\n', 1)[0] ?? '' }))
      .filter(({ line }) => !objections.some((objection) => objection.includes(`: ${line.slice(0, 80)}`)));
    objections.push(
      ...questions.map((question) => `APPROVED, but without an answer to the open question "${question}"`),
      ...unsaid.map(({ id, line }) => `APPROVED, but ${id} is still open: ${line}`),
    );
  }
  return { text, ledger: objections.length === 0 ? ledger : earlier, objections };
}

/** How a review ends the loop; null: the text is revised, and a round is left to review it again. */
function endingOf(
  { review, ledger, objections }: ReadReview,
  { round, maxRounds }: { round: number; maxRounds: number },
): ReviewEnding | null {
  const { verdict, questionsForOrchestrator: questions } = review;
  if (objections.length > 0) return discuss(`the review can't be acted on: ${objections.join('; ')}`);
  if (verdict === 'APPROVED') return { verdict };
  if (verdict === 'DISCUSS')
    return discuss(
      questions.length > 0
        ? `the reviewer asks: ${questions.join(' / ')}`
        : 'the reviewer asks for a person’s decision',
    );
  const repeated = stuck(ledger);
  if (repeated.length > 0) return discuss(`${repeated.join(', ')} stayed open although nothing was changed for it`);
  if (round < maxRounds) return null;
  return discuss(`${openFindings(ledger).length} finding(s) still open after ${round} review round(s)`);
}
