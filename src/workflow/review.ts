import { type Decision, recordDecision } from '../documents/decision.ts';
import { emptyLedger, type Ledger, openFindings, recordReview, stuck } from '../documents/ledger.ts';
import type { Weighed } from '../documents/review/evidence.ts';
import { isTrustworthy, type Review, readReview } from '../documents/review/reader.ts';
import type { AskPerson, DecidedBefore, OpenPoint } from './decide.ts';
import type { ItemContext } from './item.ts';

/** What is reviewed: a document, or a change to code. Each question to a model is one durable step. */
export interface ReviewSubject {
  /** Absent for code. */
  document?: DocumentPhase;
  /** `again`: the earlier reply can't be acted on. */
  review(input: ReviewInput, again?: ReviewAgain): Promise<string>;
  /** Called with the review that counts in a round. */
  onReview(review: string, round: number): Promise<void>;
  /** Makes the change that a review asks for. What can't be accepted goes to a person. */
  revise(text: string, review: string, ledger: Ledger, round: number): Promise<Revised>;
  /** Why what a reviewer approves waits for a person all the same; null: it does not. */
  needsPerson?(): Promise<string | null>;
}

/** What only a document has: mechanical checks, and open questions that block its approval. */
export interface DocumentPhase {
  /** Checks a draft, and has its errors repaired. */
  check(draft: string, round: number): Promise<CheckedText>;
  openQuestions(draft: string): string[];
  /** Up to which tier an open finding contradicts an approval: a design can be improved later, a claim holds or not. */
  blockingTier(draft: string): 1 | 2;
  /** Marks findings that prove nothing. Absent for a reviewer that can't look at the code. */
  weigh?: ((review: Review, draft: string) => Promise<Weighed>) | undefined;
  /** The draft with what a review settles. Called for each reply, also for one that has to be asked for again. */
  settle(draft: string, review: Review): string;
  /** The draft as a person approved it: its open questions are answered by that. */
  approve(draft: string, decision: Decision): string;
}

export interface CheckedText {
  text: string;
  /** Why it can't be reviewed or approved as it stands; null: it can. */
  obstacle: string | null;
}

export interface ReviewInput {
  round: number;
  /** The last round that there may be, as far as is known in this one. */
  maxRounds: number;
  /** The draft, or the diff. */
  text: string;
  /** As the last review saw it; null in the first round. */
  previous: string | null;
  ledger: Ledger;
}

export interface ReviewAgain {
  earlier: string;
  problems: string[];
}

/** `ledger`: with what the revision's author says of the findings. */
export type Revised = { ok: true; text: string; ledger: Ledger } | { ok: false; reason: string };

type ReviewEnding = { verdict: 'APPROVED' } | { verdict: 'DISCUSS'; reason: string };
export type LoopEnding = ReviewEnding | { verdict: 'DROPPED'; decision: Decision };

export type ReviewOutcome = {
  text: string;
  rounds: number;
  ledger: Ledger;
  /** What people decided on the way. */
  decisions: Decision[];
} & LoopEnding;

export interface LoopOptions extends Pick<ItemContext, 'emit' | 'maxRounds'> {
  /** Absent: what the loop can't decide ends in DISCUSS at once. */
  decide?: AskPerson;
  decidedBefore?: DecidedBefore;
}

/**
 * Check → review → revise, until it ends; code has no check of its own. Each way round costs one of `maxRounds`, and has at
 * most two repairs, one repeated review and one repeated revision, so the number of calls is bounded whatever the models
 * answer:
 *
 *   checking  – errors → repair (at most twice) → checking; still errors → asking; none → reviewing
 *   reviewing – not readable, or it contradicts itself → asked once more; still so → asking
 *               APPROVED, no open question, nothing that needs a person → APPROVED;  DISCUSS → asking
 *               REVISE: the same finding twice on an unchanged text, or the last round → asking; else revising
 *   revising  – not acceptable → asking; else checking. Code whose gates fail rejects the loop
 *   asking    – not decided yet → DISCUSS;  a person approves → APPROVED, unless the checks fail;  drops → DROPPED
 *               a person asks for a change → revising, with as many further rounds as there were in the beginning
 */
export async function reviewLoop(first: string, subject: ReviewSubject, options: LoopOptions): Promise<ReviewOutcome> {
  const { document } = subject;
  const decisions: Decision[] = [];
  let { maxRounds } = options;
  let text = first;
  let previous: string | null = null;
  let ledger = emptyLedger;
  const update = (next: Ledger, round: number): void => {
    if (next.findings.length > 0 && next !== ledger) emitLedger(next, round, options);
    ledger = next;
  };

  for (let round = 1; ; round++) {
    const checked = document === undefined ? null : await document.check(text, round);
    const obstacle = checked?.obstacle ?? null;
    const reviewed = checked?.text ?? text;
    text = reviewed;
    let review = '';
    let asked: string[] = [];
    let ending: ReviewEnding | null = obstacle === null ? null : { verdict: 'DISCUSS', reason: obstacle };
    if (obstacle === null) {
      const read = await readableReview({ round, maxRounds, text, previous, ledger }, subject, options);
      ({ text, reply: review } = read);
      update(read.ledger, round);
      asked = read.review.questionsForOrchestrator;
      ending = endingOf(read, { round, maxRounds });
      const reason = ending?.verdict === 'APPROVED' ? await subject.needsPerson?.() : null;
      if (reason) ending = { verdict: 'DISCUSS', reason };
      // More rounds than in the run that asked must not take back what a person answered.
      const answered = ending === null ? (options.decidedBefore?.(text) ?? null) : null;
      if (answered !== null) ending = { verdict: 'DISCUSS', reason: answered };
    }

    for (let isRefused = false; ; isRefused = true) {
      if (ending?.verdict === 'APPROVED') return { ...ending, text, rounds: round, ledger, decisions };
      if (ending !== null) {
        const openQuestions = [...new Set([...asked, ...(document?.openQuestions(text) ?? [])])];
        const point = { reason: ending.reason, text, review, obstacle, openQuestions };
        const discussed = await discuss(point, ledger, round, options.decide);
        update(discussed.ledger, round);
        const { decision } = discussed;
        if (decision !== null) decisions.push(decision);
        if (decision?.kind === 'approve') text = document?.approve(text, decision) ?? text;
        if (discussed.ending !== null) return { ...discussed.ending, text, rounds: round, ledger, decisions };
        // A revision that was refused has used up its round.
        if (isRefused) round += 1;
        maxRounds = round + options.maxRounds;
        review = decision?.document ?? review;
      }
      const revised = await subject.revise(text, review, ledger, round);
      if (revised.ok) {
        // A draft that failed the checks was never shown to the reviewer.
        if (obstacle === null) previous = reviewed;
        ({ text } = revised);
        update(revised.ledger, round);
        break;
      }
      ending = { verdict: 'DISCUSS', reason: `the revision was not acceptable: ${revised.reason}` };
    }
  }
}

function emitLedger({ findings }: Ledger, round: number, { emit }: LoopOptions): void {
  const entries = findings.map(({ id, tier, area, text, state, raisedInRound, updatedInRound, reason }) => {
    return { id, tier, area, text, state, raisedInRound, updatedInRound, reason };
  });
  emit({ type: 'ledger-updated', round, findings: entries });
}

interface ReadReview {
  review: Review;
  reply: string;
  /** With what the review settles. */
  text: string;
  /** With this review in it; as before if the review can't be acted on. */
  ledger: Ledger;
  /** Why it can't be acted on. */
  objections: string[];
  /** Findings that cite what is not there. */
  wrong: string[];
}

/** One review. A reply that can't be read or contradicts itself is asked for once more; the second one counts as it is. */
async function readableReview(input: ReviewInput, subject: ReviewSubject, { emit }: LoopOptions): Promise<ReadReview> {
  const { round } = input;
  const read = async (reply: string, text: string): Promise<ReadReview> => {
    const stated = readReview(reply);
    const weighed = (await subject.document?.weigh?.(stated, text)) ?? { review: stated, wrong: [] };
    const draftChanged = input.previous !== input.text;
    const result = { ...weighed, reply, ...judge(weighed.review, { ...input, text }, draftChanged, subject.document) };
    const { verdict, findings } = result.review;
    const count = (tier: number): number => findings.filter((finding) => finding.tier === tier).length;
    const tiers: [number, number, number] = [count(1), count(2), count(3)];
    emit({ type: 'review-read', round, verdict, tiers, problems: [...result.objections, ...result.wrong] });
    for (const { text: unproven } of findings.filter(({ isUnproven }) => isUnproven)) {
      emit({ type: 'notice', text: `without evidence, so a suggestion: ${unproven.split('\n')[0]}` });
    }
    return result;
  };
  let result = await read(await subject.review(input), input.text);
  const problems = [...result.objections, ...result.wrong];
  if (problems.length > 0) {
    const { reply: earlier } = result;
    // What the first reply answered stays answered, even if the second doesn't repeat it.
    const again = await read(await subject.review(input, { earlier, problems }), result.text);
    // A review that only cited something wrong is better than none.
    const isBetter = again.objections.length === 0 || result.objections.length > 0;
    emit({ type: 'set-aside', what: 'verdict', round, text: isBetter ? earlier : again.reply });
    if (isBetter) result = again;
  }
  await subject.onReview(result.reply, round);
  return result;
}

/** An approval is contradicted by an open question in the text itself, and by a blocking finding that is still open. */
function judge(
  review: Review,
  { round, ledger: earlier, text: before }: ReviewInput,
  draftChanged: boolean,
  document: DocumentPhase | undefined,
): Pick<ReadReview, 'text' | 'ledger' | 'objections'> {
  const ledger = recordReview(earlier, review, { round, draftChanged });
  const objections = isTrustworthy(review) ? [] : review.problems.map((problem) => problem.message);
  const text = document?.settle(before, review) ?? before;
  if (review.verdict === 'APPROVED') {
    const questions = document?.openQuestions(text) ?? [];
    const most = document?.blockingTier(text) ?? 1;
    const blocking = openFindings(ledger).filter((finding) => finding.tier <= most && !finding.isUnproven);
    objections.push(
      ...questions.map((question) => `APPROVED, but without an answer to the open question "${question}"`),
      ...blocking.map(({ id, text: finding }) => `APPROVED, but ${id} is still open: ${finding.split('\n')[0]}`),
    );
  }
  return { text, ledger: objections.length === 0 ? ledger : earlier, objections };
}

/** How a review ends the rounds; null: revise, and there is a round left to review the revision. */
function endingOf(
  { review, ledger, objections }: ReadReview,
  { round, maxRounds }: { round: number; maxRounds: number },
): ReviewEnding | null {
  const end = (reason: string): ReviewEnding => ({ verdict: 'DISCUSS', reason });
  if (objections.length > 0) return end(`the review can't be acted on: ${objections.join('; ')}`);
  if (review.verdict === 'APPROVED') return { verdict: 'APPROVED' };
  if (review.verdict === 'DISCUSS') return end(reasonToDiscuss(review));

  const repeated = stuck(ledger);
  if (repeated.length > 0) return end(`${repeated.join(', ')} stayed open although nothing was changed for it`);
  if (round < maxRounds) return null;
  return end(`${openFindings(ledger).length} finding(s) still open after ${round} review round(s)`);
}

function reasonToDiscuss(review: Review): string {
  const questions = review.questionsForOrchestrator;
  return questions.length > 0
    ? `the reviewer asks: ${questions.join(' / ')}`
    : 'the reviewer asks for a person’s decision';
}

interface Discussed {
  /** Null: revise by the decision. */
  ending: LoopEnding | null;
  /** With the decision in it. */
  ledger: Ledger;
  decision: Decision | null;
}

/** An item waits until a person decides, and keeps waiting after an approval of what can't be approved. */
async function discuss(
  point: OpenPoint,
  ledger: Ledger,
  round: number,
  ask: AskPerson | undefined,
): Promise<Discussed> {
  const decision = (await ask?.(point)) ?? null;
  const waiting: Discussed = { ending: { verdict: 'DISCUSS', reason: point.reason }, ledger, decision: null };
  if (decision === null) return waiting;
  const decided = { ledger: recordDecision(ledger, decision, round), decision };
  switch (decision.kind) {
    case 'approve':
      return point.obstacle === null ? { ...decided, ending: { verdict: 'APPROVED' } } : waiting;
    case 'drop':
      return { ...decided, ending: { verdict: 'DROPPED', decision } };
    case 'revise':
      return { ...decided, ending: null };
  }
}
