import type { ItemEvent } from '../core/events.ts';
import { emptyLedger, type Ledger, openFindings, recordReview, stuck } from '../governance/ledger.ts';
import type { LldFinding } from '../governance/lld/checks.ts';
import { foldResolvedQuestions, openQuestions } from '../governance/lld/fold-questions.ts';
import { reviseDraft } from '../governance/lld/revision.ts';
import { isTrustworthy, type Review, readReview } from '../governance/review/reader.ts';
import type { Lineage } from './lineage.ts';

const MAX_REPAIRS_PER_ROUND = 2;

export interface CheckResult {
  findings: LldFinding[];
  coverage: string;
}

/** The paid questions of the loop. Each is one durable step; `round` and `attempt` are part of its name. */
export interface LoopQuestions {
  repair(draft: string, findings: LldFinding[], round: number, attempt: number): Promise<string>;
  review(input: ReviewInput): Promise<string>;
  reviewAgain(input: ReviewInput, earlier: string, problems: string[]): Promise<string>;
  revise(draft: string, review: string, ledger: Ledger, round: number): Promise<string>;
  reviseAgain(
    draft: string,
    review: string,
    ledger: Ledger,
    round: number,
    reply: string,
    reason: string,
  ): Promise<string>;
}

export interface ReviewInput {
  draft: string;
  previous: string | null;
  ledger: Ledger;
  round: number;
  checks: LldFinding[];
  coverage: string;
}

export interface LoopOptions {
  ask: LoopQuestions;
  check: (draft: string) => CheckResult;
  lineage: Lineage;
  emit: (event: ItemEvent) => void;
  maxRounds: number;
}

export type LoopOutcome = { text: string; rounds: number; ledger: Ledger } & (
  | { verdict: 'APPROVED' }
  | { verdict: 'DISCUSS'; reason: string }
);

/**
 * Draft → check → review → revise, until it ends. Each way round costs one of `maxRounds`, and each has at most two
 * repairs, one repeated review and one repeated revision, so the number of calls is bounded whatever the models answer:
 *
 *   checking  – errors → repair (at most twice) → checking; still errors → DISCUSS; none → reviewing
 *   reviewing – not readable, or it contradicts itself → asked once more; still so → DISCUSS
 *               APPROVED, no open question → APPROVED;  DISCUSS → DISCUSS
 *               REVISE: the same finding twice on an unchanged draft, or the last round → DISCUSS; else revising
 *   revising  – the reply drops or shrinks text that no finding names → asked once more; still so → DISCUSS; else checking
 */
export async function reviewLoop(firstDraft: string, options: LoopOptions): Promise<LoopOutcome> {
  const { lineage, maxRounds } = options;
  let draft = firstDraft;
  let previous: string | null = null;
  let ledger = emptyLedger;
  await lineage.add('draft', draft);

  for (let round = 1; ; round++) {
    const discuss = (reason: string): LoopOutcome => ({
      verdict: 'DISCUSS',
      reason,
      text: draft,
      rounds: round,
      ledger,
    });

    const checked = await repairUntilClean(draft, round, options);
    draft = checked.draft;
    const errors = checked.findings.filter((finding) => finding.severity === 'error');
    if (errors.length > 0) {
      return discuss(`the draft still fails the mechanical checks: ${errors.map(describeFinding).join('; ')}`);
    }

    const input: ReviewInput = { draft, previous, ledger, round, checks: checked.findings, coverage: checked.coverage };
    const { review, text: reviewText, objections, ...read } = await readableReview(input, options);
    draft = read.draft;
    if (objections.length > 0) return discuss(`the review can't be acted on: ${objections.join('; ')}`);

    ledger = read.ledger;
    if (review.verdict === 'APPROVED') return { verdict: 'APPROVED', text: draft, rounds: round, ledger };
    if (review.verdict === 'DISCUSS') return discuss(reasonToDiscuss(review));

    const repeated = stuck(ledger);
    if (repeated.length > 0) return discuss(`${repeated.join(', ')} stayed open although nothing was changed for it`);
    if (round >= maxRounds) {
      return discuss(`${openFindings(ledger).length} finding(s) still open after ${round} review round(s)`);
    }

    const revised = await revise(draft, reviewText, ledger, round, options);
    if (!revised.ok) return discuss(`the revision was not acceptable: ${revised.reason}`);
    previous = input.draft;
    draft = revised.text;
    await lineage.add('draft', draft);
  }
}

async function repairUntilClean(
  start: string,
  round: number,
  { ask, check, lineage, emit }: LoopOptions,
): Promise<{ draft: string } & CheckResult> {
  let draft = start;
  for (let attempt = 1; ; attempt++) {
    const result = check(draft);
    const errors = result.findings.filter((finding) => finding.severity === 'error');
    const warnings = result.findings.filter((finding) => finding.severity === 'warning');
    emit({
      type: 'draft-checked',
      round,
      errors: errors.map(describeFinding),
      warnings: warnings.map(describeFinding),
      coverage: result.coverage,
    });
    if (errors.length === 0 || attempt > MAX_REPAIRS_PER_ROUND) return { draft, ...result };
    const reply = await ask.repair(draft, errors, round, attempt);
    // What the checks found may be anywhere, so no section is protected from a repair; a lost one is found by the checks.
    const repaired = reviseDraft(draft, reply, { named: null });
    if (repaired.ok) draft = repaired.text;
    else emit({ type: 'reply-rejected', step: `repair-${round}-${attempt}`, reason: repaired.reason });
    await lineage.add('draft', draft);
  }
}

/** A review as it was read, with what it makes of the draft and of the ledger. */
interface ReadReview {
  review: Review;
  text: string;
  /** With the answers to its open questions folded in. */
  draft: string;
  ledger: Ledger;
  /** Why it can't be acted on. */
  objections: string[];
}

async function readableReview(input: ReviewInput, { ask, lineage, emit }: LoopOptions): Promise<ReadReview> {
  const read = async (text: string, draft: string): Promise<ReadReview> => {
    await lineage.add('verdict', text);
    const result = judge(text, draft, input);
    const count = (tier: number): number => result.review.findings.filter((finding) => finding.tier === tier).length;
    const tiers: [number, number, number] = [count(1), count(2), count(3)];
    const { verdict } = result.review;
    emit({ type: 'review-read', round: input.round, verdict, tiers, problems: result.objections });
    return result;
  };
  const first = await read(await ask.review(input), input.draft);
  if (first.objections.length === 0) return first;
  // What the first one answered is answered, also if the second doesn't repeat it.
  return read(await ask.reviewAgain(input, first.text, first.objections), first.draft);
}

/** An approval is contradicted by an open question that nobody answered, and by a blocking finding that is still open. */
function judge(
  text: string,
  before: string,
  { ledger: earlier, previous, draft: reviewed, round }: ReviewInput,
): ReadReview {
  const review = readReview(text);
  const draft = foldResolvedQuestions(before, review.openQuestions).text;
  const ledger = recordReview(earlier, review, { round, draftChanged: previous === null || previous !== reviewed });
  const objections = isTrustworthy(review) ? [] : review.problems.map((problem) => problem.message);
  if (review.verdict === 'APPROVED') {
    const blocking = openFindings(ledger).filter((finding) => finding.tier === 1);
    objections.push(
      ...openQuestions(draft).map((question) => `APPROVED, but nobody answered the open question "${question}"`),
      ...blocking.map(({ id, text: finding }) => `APPROVED, but ${id} is still open: ${finding.split('\n')[0]}`),
    );
  }
  return { review, text, draft, ledger, objections };
}

function reasonToDiscuss(review: Review): string {
  const questions = review.questionsForOrchestrator;
  return questions.length > 0
    ? `the reviewer asks: ${questions.join(' / ')}`
    : 'the reviewer asks for a person’s decision';
}

type Revised = { ok: true; text: string } | { ok: false; reason: string };

async function revise(
  draft: string,
  review: string,
  ledger: Ledger,
  round: number,
  { ask, emit }: LoopOptions,
): Promise<Revised> {
  // Suggestions may be taken up too. A REVISE that names nothing leaves the drafter free.
  const named = openFindings(ledger).length === 0 ? null : ledger.findings.map((finding) => finding.text);
  const reply = await ask.revise(draft, review, ledger, round);
  const first = reviseDraft(draft, reply, { named });
  if (first.ok) return first;
  emit({ type: 'reply-rejected', step: `revise-${round}`, reason: first.reason });
  const second = reviseDraft(draft, await ask.reviseAgain(draft, review, ledger, round, reply, first.reason), {
    named,
  });
  if (!second.ok) emit({ type: 'reply-rejected', step: `revise-${round}-again`, reason: second.reason });
  return second;
}

export function describeFinding({ rule, line, message }: LldFinding): string {
  return `${rule} (line ${line}): ${message}`;
}
