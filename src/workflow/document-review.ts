import { createTwoFilesPatch } from 'diff';
import type { DocumentFinding } from '../documents/finding.ts';
import { dispute, disputesIn, formatLedger, type Ledger, openFindings } from '../documents/ledger.ts';
import { unusableReview } from '../documents/review/reader.ts';
import { readEdits } from '../documents/revise/edits.ts';
import { type DocumentForm, documentFromReply } from '../documents/revise/reply.ts';
import { reviseDraft, saysNoChange } from '../documents/revise/revision.ts';
import { tagged, taggedList } from '../prompts/tags.ts';
import type { ItemContext } from './item.ts';
import type { Lineage } from './lineage.ts';
import {
  askedAgain,
  type CheckedText,
  type LoopOptions,
  type ReviewAgain,
  type ReviewInput,
  type ReviewOutcome,
  type ReviewSubject,
  type Revised,
  reviewLoop,
  reviewStep,
} from './review.ts';

/** The document to write, and what models are shown for it. */
export interface DocumentSubject {
  id: string;
  title: string;
  form: DocumentForm;
  /** What both roles are shown, and what the drafter alone is shown; the same in every round. */
  shown: string[];
  shownToDrafter: string[];
  /** What only the reviewer is shown for a draft; may be empty. */
  shownToReviewer?: (draft: string) => string;
  /** The prefix of its prompts' names: `issue-draft`, `draft`. */
  prefix: '' | 'issue-';
}

/** The result of the mechanical checks of a draft. */
export interface CheckResult {
  findings: DocumentFinding[];
  /** Which requirements and scenarios are covered, for the reviewer; may be empty. */
  coverage: string;
  /** Only for a claim that the item is already done: the lines that it cites, for the reviewer. */
  evidence?: string;
}

/** An earlier reply, and why it was refused. */
interface Refused {
  reply: string;
  reason: string;
}

/** The paid questions about a document. Each is one durable step; `round` and `attempt` are part of its name. */
export function createDocumentQuestions(
  { id, title, form, shown, shownToDrafter, shownToReviewer, prefix }: DocumentSubject,
  { prompts, ask }: Pick<ItemContext, 'prompts' | 'ask'>,
  commit: string,
) {
  const at = { commit, tree: commit };
  const editFormat = prompts.fill('edit-format');
  const noDocument = (reply: string): string | null => {
    const document = documentFromReply(reply, form);
    return document.ok ? null : document.reason;
  };
  const noRevision = (reply: string): string | null =>
    readEdits(reply) === null && !saysNoChange(reply) ? noDocument(reply) : null;
  const askDrafter = (step: string, parts: string[], unusable = noRevision): Promise<string> => {
    const system = prompts.fill(`${prefix}drafter`);
    return ask({ step, role: 'drafter', system, repeating: [...shown, ...shownToDrafter], parts, at, unusable });
  };

  return {
    /** The document in the drafter's first reply. */
    async draft(): Promise<string> {
      const reply = await askDrafter('draft', [prompts.fill(`${prefix}draft`, { id, title })], noDocument);
      const document = documentFromReply(reply, form);
      // Only a reply with a document is stored.
      return document.ok ? document.text : reply;
    },
    repair(draft: string, errors: readonly DocumentFinding[], round: number, attempt: number): Promise<string> {
      const findings = taggedList('check-findings', errors.map(describeFinding)) ?? '';
      const task = prompts.fill('repair', { id, title, findings, 'edit-format': editFormat });
      return askDrafter(`repair-${round}-${attempt}`, [tagged('draft', draft), task]);
    },
    review(input: ReviewInput, checked: CheckResult, again?: ReviewAgain): Promise<string> {
      const { text, previous, ledger, round, maxRounds } = input;
      const { evidence } = checked;
      const forReviewer = shownToReviewer?.(text) ?? '';
      const task = evidence === undefined ? (`${prefix}review` as const) : 'review-already-done';
      const parts = [
        tagged('draft', text),
        evidence === undefined ? tagged('coverage', checked.coverage) : tagged('evidence', evidence),
        taggedList('check-warnings', checked.findings.map(describeFinding)) ?? '',
        forReviewer,
        round > 1 ? tagged('findings-ledger', formatLedger(ledger)) : '',
        previous === null ? '' : tagged('changes-since-last-round', changes(previous, text)),
        prompts.fill(task, { id, title, round, 'max-rounds': maxRounds }),
        ...askedAgain(prompts, again),
      ];
      return ask({
        step: reviewStep(round, again),
        role: 'reviewer',
        system: prompts.fill(`${prefix}reviewer`),
        repeating: shown,
        parts: parts.filter((part) => part !== ''),
        at,
        withholds: true,
        unusable: unusableReview,
      });
    },
    revise(draft: string, review: string, ledger: Ledger, round: number, refused?: Refused): Promise<string> {
      const parts = [
        tagged('draft', draft),
        tagged('review', review),
        tagged('findings-ledger', formatLedger(ledger)),
        prompts.fill(`${prefix}revise`, { id, title, 'edit-format': editFormat }),
      ];
      if (refused === undefined) return askDrafter(`revise-${round}`, parts);
      const why = tagged('why', refused.reason);
      const again = `Your last reply was not taken:\n\n${why}\n\nReply again with edits or with the whole document.`;
      return askDrafter(`revise-${round}-again`, [...parts, tagged('your-last-reply', refused.reply), again]);
    },
  };
}

export function describeFinding({ rule, line, message }: DocumentFinding): string {
  return `${rule} (line ${line}): ${message}`;
}

function changes(before: string, after: string): string {
  return before === after
    ? 'None: the draft is the same as in the last round.'
    : createTwoFilesPatch('before', 'now', before, after);
}

const MAX_REPAIRS_PER_ROUND = 2;

export interface DocumentReview extends LoopOptions, Pick<ReviewSubject, 'weigh'> {
  form: DocumentForm;
  questions: Omit<ReturnType<typeof createDocumentQuestions>, 'draft'>;
  check: (draft: string) => CheckResult | Promise<CheckResult>;
  /** Gets one draft and one verdict per round. */
  lineage: { add(...version: Parameters<Lineage['add']>): Promise<unknown> };
}

/** Takes a draft through the review loop, with mechanical checks before each review. */
export function reviewDocument(firstDraft: string, review: DocumentReview): Promise<ReviewOutcome> {
  const { questions, lineage, weigh } = review;
  let last: CheckResult = { findings: [], coverage: '' };
  return reviewLoop(
    firstDraft,
    {
      weigh,
      async check(draft, round) {
        const checked = await repairUntilClean(draft, round, review);
        last = checked;
        await lineage.add('draft', checked.text);
        return checked;
      },
      review: (input, again) => questions.review(input, last, again),
      async onReview(text) {
        await lineage.add('verdict', text);
      },
      revise: (draft, text, ledger, round) => revise(draft, text, ledger, round, review),
    },
    review,
  );
}

async function repairUntilClean(
  start: string,
  round: number,
  review: DocumentReview,
): Promise<CheckedText & CheckResult> {
  const { form, questions, check, emit } = review;
  let text = start;
  for (let attempt = 1; ; attempt++) {
    const checked = await check(text);
    const { findings, coverage } = checked;
    const errors = findings.filter((finding) => finding.severity === 'error');
    const described = errors.map(describeFinding);
    const warnings = findings.filter((finding) => finding.severity === 'warning').map(describeFinding);
    emit({ type: 'draft-checked', round, errors: described, warnings, coverage });
    if (errors.length === 0) return { ...checked, text, obstacle: null };
    if (attempt > MAX_REPAIRS_PER_ROUND) {
      const obstacle = `the draft still fails the mechanical checks: ${described.join('; ')}`;
      return { ...checked, text, obstacle };
    }
    const reply = await questions.repair(text, errors, round, attempt);
    // Errors may be anywhere, so a repair may change every section; the checks find a lost one.
    const repaired = reviseDraft(text, reply, { named: null, form });
    if (repaired.ok) {
      emit({ type: 'set-aside', what: 'draft', round, text });
      text = repaired.text;
    } else emit({ type: 'reply-rejected', step: `repair-${round}-${attempt}`, reason: repaired.reason });
  }
}

/** A reply that drops or shrinks text that no finding names is refused once, and the drafter is asked again. */
async function revise(
  draft: string,
  text: string,
  ledger: Ledger,
  round: number,
  review: DocumentReview,
  refused?: Refused,
): Promise<Revised> {
  const { form, questions, emit } = review;
  // Suggestions may be followed too. A REVISE without findings lets the drafter change everything.
  const named = openFindings(ledger).length === 0 ? null : ledger.findings.map((finding) => finding.text);
  const reply = await questions.revise(draft, text, ledger, round, refused);
  const revised = reviseDraft(draft, reply, { named, form });
  if (revised.ok) {
    // The reviewer decides on the drafter's objections to findings, and they stay in the log.
    const disputed = disputesIn(reply).reduce((left, { id, reason }) => dispute(left, id, reason), ledger);
    return { ...revised, ledger: disputed };
  }
  const { reason } = revised;
  emit({ type: 'reply-rejected', step: `revise-${round}${refused === undefined ? '' : '-again'}`, reason });
  return refused === undefined ? revise(draft, text, ledger, round, review, { reply, reason }) : revised;
}
