import { describeDecision } from '../documents/decision.ts';
import { dispute, disputesIn, type Ledger, openFindings } from '../documents/ledger.ts';
import { withGuards } from '../documents/lld/guards.ts';
import { foldResolvedQuestions, openQuestions } from '../documents/questions.ts';
import type { DocumentForm } from '../documents/revise/form.ts';
import { reviseDraft } from '../documents/revise/revision.ts';
import { type CheckedDraft, type DocumentQuestions, describeFinding } from './document-questions.ts';
import type { Lineage } from './lineage.ts';
import { type LoopOptions, type ReviewOutcome, type Revised, reviewLoop } from './review.ts';

const MAX_REPAIRS_PER_ROUND = 2;

export type CheckResult = Pick<CheckedDraft, 'findings' | 'coverage'>;

export interface DocumentReview extends LoopOptions {
  form: DocumentForm;
  questions: Omit<DocumentQuestions, 'draft'>;
  check: (draft: string) => CheckResult;
  /** Gets one draft and one verdict of each round. */
  lineage: Pick<Lineage, 'add'>;
}

/** Takes a draft through the review loop, with mechanical checks before each review. */
export function reviewDocument(firstDraft: string, review: DocumentReview): Promise<ReviewOutcome> {
  const { questions, lineage } = review;
  return reviewLoop<CheckedDraft>(
    firstDraft,
    {
      document: {
        async check(draft, round) {
          const checked = await repairUntilClean(draft, round, review);
          await lineage.add('draft', checked.text);
          return checked;
        },
        openQuestions,
        settle: (draft, said) => withGuards(foldResolvedQuestions(draft, said.openQuestions).text, said),
        approve: (draft, decision) => {
          const answer = describeDecision(decision);
          const answers = openQuestions(draft).map((question) => ({ question, answer }));
          return foldResolvedQuestions(draft, answers).text;
        },
      },
      review: (input, again) => questions.review(input, again),
      onReview: (text) => lineage.add('verdict', text),
      revise: (draft, text, ledger, round) => revise(draft, text, ledger, round, review),
    },
    review,
  );
}

async function repairUntilClean(start: string, round: number, review: DocumentReview): Promise<CheckedDraft> {
  const { form, questions, check, emit } = review;
  let text = start;
  for (let attempt = 1; ; attempt++) {
    const { findings, coverage } = check(text);
    const errors = findings.filter((finding) => finding.severity === 'error');
    const described = errors.map(describeFinding);
    const warnings = findings.filter((finding) => finding.severity === 'warning').map(describeFinding);
    emit({ type: 'draft-checked', round, errors: described, warnings, coverage });
    if (errors.length === 0) return { text, findings, coverage, obstacle: null };
    if (attempt > MAX_REPAIRS_PER_ROUND) {
      const obstacle = `the draft still fails the mechanical checks: ${described.join('; ')}`;
      return { text, findings, coverage, obstacle };
    }
    const reply = await questions.repair(text, errors, round, attempt);
    // The errors may be anywhere, so no section is protected from a repair; the checks find a lost one.
    const repaired = reviseDraft(text, reply, { named: null, form });
    if (repaired.ok) {
      emit({ type: 'set-aside', what: 'draft', round, text });
      text = repaired.text;
    } else emit({ type: 'reply-rejected', step: `repair-${round}-${attempt}`, reason: repaired.reason });
  }
}

/** A reply that drops or shrinks text which no finding names is refused once; the second one counts. */
async function revise(
  draft: string,
  text: string,
  ledger: Ledger,
  round: number,
  { form, questions, emit }: DocumentReview,
): Promise<Revised> {
  // Suggestions may be followed too. A REVISE that names nothing leaves the drafter free.
  const named = openFindings(ledger).length === 0 ? null : ledger.findings.map((finding) => finding.text);
  const reply = await questions.revise(draft, text, ledger, round);
  const first = reviseDraft(draft, reply, { named, form });
  if (first.ok) return { ...first, ledger: withDisputes(ledger, reply) };
  emit({ type: 'reply-rejected', step: `revise-${round}`, reason: first.reason });
  const again = await questions.revise(draft, text, ledger, round, { reply, reason: first.reason });
  const second = reviseDraft(draft, again, { named, form });
  if (second.ok) return { ...second, ledger: withDisputes(ledger, again) };
  emit({ type: 'reply-rejected', step: `revise-${round}-again`, reason: second.reason });
  return second;
}

/** What the drafter holds against findings is for the reviewer to settle, and stays in the log. */
function withDisputes(ledger: Ledger, reply: string): Ledger {
  return disputesIn(reply).reduce((left, { id, reason }) => dispute(left, id, reason), ledger);
}
