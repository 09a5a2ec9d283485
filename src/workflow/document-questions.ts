import { createTwoFilesPatch } from 'diff';
import type { DocumentFinding } from '../documents/finding.ts';
import { formatLedger, type Ledger } from '../documents/ledger.ts';
import { unusableReview } from '../documents/review/reader.ts';
import { readEdits } from '../documents/revise/edits.ts';
import type { DocumentForm } from '../documents/revise/form.ts';
import { documentFromReply } from '../documents/revise/reply.ts';
import { saysNoChange } from '../documents/revise/revision.ts';
import type { PromptPart } from '../models/port.ts';
import type { PromptName } from '../prompts/prompts.ts';
import { tagged } from '../prompts/tags.ts';
import type { ItemContext } from './item.ts';
import type { CheckedText, ReviewAgain, ReviewInput } from './review.ts';

/** What is particular about asking for one kind of document. */
export interface DocumentSubject {
  id: string;
  title: string;
  form: DocumentForm;
  /** What both roles are shown, and what the drafter alone; the same in every round. */
  shown: string[];
  shownToDrafter: string[];
  names: Record<'drafter' | 'draft' | 'repair' | 'revise' | 'reviewer' | 'review', PromptName>;
}

/** A draft after its mechanical checks. */
export interface CheckedDraft extends CheckedText {
  findings: DocumentFinding[];
  /** What covers what, as the reviewer is shown it; empty where the document has nothing of the kind. */
  coverage: string;
}

/** The paid questions about a document. Each is one durable step; `round` and `attempt` are part of its name. */
export interface DocumentQuestions {
  /** The document in the drafter's first reply. */
  draft(): Promise<string>;
  repair(draft: string, errors: readonly DocumentFinding[], round: number, attempt: number): Promise<string>;
  review(input: ReviewInput<CheckedDraft>, again?: ReviewAgain): Promise<string>;
  /** `refused`: the earlier reply, and why it was not taken. */
  revise(
    draft: string,
    review: string,
    ledger: Ledger,
    round: number,
    refused?: { reply: string; reason: string },
  ): Promise<string>;
}

/** Parts that repeat over the rounds come first, for prompt caches. */
export function createDocumentQuestions(
  { id, title, form, shown, shownToDrafter, names }: DocumentSubject,
  { prompts, ask }: Pick<ItemContext, 'prompts' | 'ask'>,
): DocumentQuestions {
  const editFormat = prompts.fill('edit-format');
  const partsOf = (repeating: string[], others: string[]): PromptPart[] => [
    ...repeating.map((text) => ({ text, repeats: true })),
    ...others.map((text) => ({ text })),
  ];
  const noDocument = (reply: string): string | null => {
    const document = documentFromReply(reply, form);
    return document.ok ? null : document.reason;
  };
  const noRevision = (reply: string): string | null =>
    readEdits(reply, form) === null && !saysNoChange(reply) ? noDocument(reply) : null;
  const askDrafter = (step: string, parts: string[], unusable = noRevision): Promise<string> =>
    ask({
      step,
      role: 'drafter',
      system: prompts.fill(names.drafter),
      parts: partsOf([...shown, ...shownToDrafter], parts),
      unusable,
    });

  return {
    async draft() {
      const reply = await askDrafter('draft', [prompts.fill(names.draft, { id, title })], noDocument);
      const document = documentFromReply(reply, form);
      // A stored answer was accepted as a document before it was stored.
      return document.ok ? document.text : reply;
    },
    repair(draft, errors, round, attempt) {
      const findings = listOf(errors.map(describeFinding));
      const task = prompts.fill(names.repair, { id, title, findings, 'edit-format': editFormat });
      return askDrafter(`repair-${round}-${attempt}`, [tagged('draft', draft), task]);
    },
    review({ text, previous, ledger, round, maxRounds, checked }, again) {
      const parts = [tagged('draft', text), tagged('coverage', checked?.coverage ?? '')];
      const warnings = (checked?.findings ?? []).map(describeFinding);
      if (warnings.length > 0) parts.push(tagged('check-warnings', listOf(warnings)));
      if (round > 1) parts.push(tagged('findings-ledger', formatLedger(ledger)));
      if (previous !== null) parts.push(tagged('changes-since-last-round', changes(previous, text)));
      parts.push(prompts.fill(names.review, { id, title, round, 'max-rounds': maxRounds }));
      if (again !== undefined) {
        const problems = listOf(again.problems);
        parts.push(tagged('your-review', again.earlier), prompts.fill('review-again', { problems }));
      }
      return ask({
        step: `review-${round}${again === undefined ? '' : '-again'}`,
        role: 'reviewer',
        system: prompts.fill(names.reviewer),
        parts: partsOf(shown, parts),
        unusable: unusableReview,
      });
    },
    revise(draft, review, ledger, round, refused) {
      const parts = [
        tagged('draft', draft),
        tagged('review', review),
        tagged('findings-ledger', formatLedger(ledger)),
        prompts.fill(names.revise, { id, title, 'edit-format': editFormat }),
      ];
      if (refused === undefined) return askDrafter(`revise-${round}`, parts);
      const again = `Your last reply was not taken: ${refused.reason}\nReply again with edits or with the whole document.`;
      return askDrafter(`revise-${round}-again`, [...parts, tagged('your-last-reply', refused.reply), again]);
    },
  };
}

export function describeFinding({ rule, line, message }: DocumentFinding): string {
  return `${rule} (line ${line}): ${message}`;
}

function listOf(entries: readonly string[]): string {
  return entries.map((entry) => `- ${entry}`).join('\n');
}

function changes(before: string, after: string): string {
  return before === after
    ? 'None: the draft is the same as in the last round.'
    : createTwoFilesPatch('before', 'now', before, after);
}
