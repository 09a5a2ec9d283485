import type { ItemEvent } from '../core/events.ts';
import { type Decision, describeDecision } from '../documents/decision.ts';
import type { DocumentFinding } from '../documents/document-finding.ts';
import type { DocumentForm } from '../documents/document-form.ts';
import { emptyLedger, type Ledger, openFindings } from '../documents/ledger.ts';
import { foldResolvedQuestions, openQuestions } from '../documents/lld/fold-questions.ts';
import { withGuards } from '../documents/lld/guards.ts';
import { reviseDraft } from '../documents/lld/revision.ts';
import { type AskPerson, discuss, type LoopEnding } from './discussing.ts';
import type { Lineage } from './lineage.ts';
import { endingOf, type ReadReview, type ReviewEnding, readableReview } from './reviewing.ts';

const MAX_REPAIRS_PER_ROUND = 2;

export interface CheckResult {
  findings: DocumentFinding[];
  /** What covers what, as the reviewer is shown it; empty where the document has nothing of the kind. */
  coverage: string;
}

/** The paid questions of the loop. Each is one durable step; `round` and `attempt` are part of its name. */
export interface LoopQuestions {
  repair(draft: string, findings: DocumentFinding[], round: number, attempt: number): Promise<string>;
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
  checks: DocumentFinding[];
  coverage: string;
  /** The last round that there may be, as far as is known in this one. */
  maxRounds: number;
}

export interface LoopOptions {
  form: DocumentForm;
  ask: LoopQuestions;
  check: (draft: string) => CheckResult;
  lineage: Lineage;
  emit: (event: ItemEvent) => void;
  maxRounds: number;
  /** Without it nobody is asked, and what can't be decided ends in DISCUSS at once. */
  decide?: AskPerson;
}

export type LoopOutcome = {
  text: string;
  rounds: number;
  ledger: Ledger;
  /** What people decided on the way. */
  decisions: Decision[];
} & LoopEnding;

/**
 * A Markdown document of any form: draft → check → review → revise, until it ends. Each way round costs one of
 * `maxRounds`, and each has at most two repairs, one repeated review and one repeated revision, so the number of calls is
 * bounded whatever the models answer. The lineage gets one draft and one verdict of each round, and a person's decisions:
 *
 *   checking  – errors → repair (at most twice) → checking; still errors → asking; none → reviewing
 *   reviewing – not readable, or it contradicts itself → asked once more; still so → asking
 *               APPROVED, no open question → APPROVED;  DISCUSS → asking
 *               REVISE: the same finding twice on an unchanged draft, or the last round → asking; else revising
 *   revising  – the reply drops or shrinks text that no finding names → asked once more; still so → asking; else checking
 *   asking    – nobody has decided → DISCUSS;  a person approves → APPROVED, unless the checks fail;  drops → DROPPED
 *               a person asks for a change → revising, with as many further rounds as there were in the beginning
 */
export async function reviewLoop(firstDraft: string, options: LoopOptions): Promise<LoopOutcome> {
  const { lineage, decide: ask } = options;
  const decisions: Decision[] = [];
  let { maxRounds } = options;
  let draft = firstDraft;
  let previous: string | null = null;
  let ledger = emptyLedger;

  for (let round = 1; ; round++) {
    const checked = await repairUntilClean(draft, round, options);
    const { findings: checks, coverage } = checked;
    draft = checked.draft;
    await lineage.add('draft', draft);
    const obstacle = obstacleOf(checks);
    let review = '';
    let asked: string[] = [];
    let ending: ReviewEnding | null = obstacle === null ? null : { verdict: 'DISCUSS', reason: obstacle };
    const reviewed = draft;
    if (obstacle === null) {
      const read = await reviewDraft({ draft, previous, ledger, round, checks, coverage, maxRounds }, options);
      ({ draft, ledger, text: review } = read);
      asked = read.review.questionsForOrchestrator;
      ending = endingOf(read, { round, maxRounds });
    }

    for (let isRevised = false; ; isRevised = true) {
      if (ending?.verdict === 'APPROVED') return { ...ending, text: draft, rounds: round, ledger, decisions };
      if (ending !== null) {
        const { reason } = ending;
        const open = [...new Set([...asked, ...openQuestions(draft)])];
        const point = { reason, text: draft, review, obstacle, openQuestions: open };
        const discussed = await discuss(point, { ledger, round, ask });
        ({ ledger } = discussed);
        const { decision } = discussed;
        if (decision !== null) decisions.push(decision);
        if (decision?.kind === 'approve') draft = withAnswers(draft, decision);
        if (discussed.ending !== null) return { ...discussed.ending, text: draft, rounds: round, ledger, decisions };
        // A revision that was refused has used up its round.
        if (isRevised) round += 1;
        maxRounds = round + options.maxRounds;
        review = decision?.document ?? review;
      }
      const revised = await revise(draft, review, ledger, round, options);
      if (revised.ok) {
        // What failed the checks, no reviewer has seen.
        if (obstacle === null) previous = reviewed;
        draft = revised.text;
        break;
      }
      ending = { verdict: 'DISCUSS', reason: `the revision was not acceptable: ${revised.reason}` };
    }
  }
}

/** Whoever approves a text with open questions has answered them. */
function withAnswers(draft: string, decision: Decision): string {
  const answer = describeDecision(decision);
  return foldResolvedQuestions(
    draft,
    openQuestions(draft).map((question) => ({ question, answer })),
  ).text;
}

function obstacleOf(checks: readonly DocumentFinding[]): string | null {
  const errors = checks.filter((finding) => finding.severity === 'error');
  return errors.length === 0
    ? null
    : `the draft still fails the mechanical checks: ${errors.map(describeFinding).join('; ')}`;
}

async function repairUntilClean(
  start: string,
  round: number,
  { form, ask, check, emit }: LoopOptions,
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
    const repaired = reviseDraft(draft, reply, { named: null, form });
    if (repaired.ok) {
      emit({ type: 'set-aside', what: 'draft', round, text: draft });
      draft = repaired.text;
    } else emit({ type: 'reply-rejected', step: `repair-${round}-${attempt}`, reason: repaired.reason });
  }
}

/** One review, and the draft with what it settles: answers to open questions, and scenarios that are guards. */
async function reviewDraft(
  input: ReviewInput,
  { ask, lineage, emit }: LoopOptions,
): Promise<ReadReview & { draft: string }> {
  // What a review answered is answered, also if the one that is asked for again doesn't repeat it.
  let draft = input.draft;
  const read = await readableReview({
    round: input.round,
    ledger: input.ledger,
    changed: input.previous !== input.draft,
    ask: () => ask.review(input),
    askAgain: (earlier, problems) => ask.reviewAgain(input, earlier, problems),
    take: (review) => {
      draft = withGuards(foldResolvedQuestions(draft, review.openQuestions).text, review);
      return openQuestions(draft).map((question) => `APPROVED, but nobody answered the open question "${question}"`);
    },
    onReview: (text) => lineage.add('verdict', text),
    emit,
  });
  return { ...read, draft };
}

type Revised = { ok: true; text: string } | { ok: false; reason: string };

async function revise(
  draft: string,
  review: string,
  ledger: Ledger,
  round: number,
  { form, ask, emit }: LoopOptions,
): Promise<Revised> {
  // Suggestions may be taken up too. A REVISE that names nothing leaves the drafter free.
  const named = openFindings(ledger).length === 0 ? null : ledger.findings.map((finding) => finding.text);
  const reply = await ask.revise(draft, review, ledger, round);
  const first = reviseDraft(draft, reply, { named, form });
  if (first.ok) return first;
  emit({ type: 'reply-rejected', step: `revise-${round}`, reason: first.reason });
  const again = await ask.reviseAgain(draft, review, ledger, round, reply, first.reason);
  const second = reviseDraft(draft, again, { named, form });
  if (!second.ok) emit({ type: 'reply-rejected', step: `revise-${round}-again`, reason: second.reason });
  return second;
}

export function describeFinding({ rule, line, message }: DocumentFinding): string {
  return `${rule} (line ${line}): ${message}`;
}
