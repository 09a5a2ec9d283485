import { createTwoFilesPatch } from 'diff';
import type { DocumentForm } from '../documents/document-form.ts';
import { formatLedger, type Ledger } from '../documents/ledger.ts';
import { readEdits } from '../documents/lld/edits.ts';
import { documentFromReply } from '../documents/lld/reply.ts';
import { saysNoChange } from '../documents/lld/revision.ts';
import { unusableReview } from '../documents/review/reader.ts';
import type { PromptName, Prompts } from '../prompts/prompts.ts';
import { tagged } from '../prompts/tags.ts';
import type { ModelCall } from './model-caller.ts';
import { describeFinding, type LoopQuestions, type ReviewInput } from './review-loop.ts';

/** What is asked about one kind of document: everything else about asking is the same for all of them. */
export interface DocumentSubject {
  id: string;
  title: string;
  form: DocumentForm;
  /** What both roles are shown, and what the drafter alone; the same in every round. */
  shown: string[];
  shownToDrafter: string[];
  names: Record<'drafter' | 'draft' | 'repair' | 'revise' | 'reviewer' | 'review', PromptName>;
}

export interface AskingOptions {
  prompts: Prompts;
  call: (call: ModelCall) => Promise<string>;
}

export interface DocumentQuestions extends LoopQuestions {
  /** The document in the drafter's first reply. */
  draft(): Promise<string>;
}

/** What is said to the models, and in which order: parts that repeat over the rounds come first, for prompt caches. */
export function createDocumentQuestions(
  { id, title, form, shown, shownToDrafter, names }: DocumentSubject,
  { prompts, call }: AskingOptions,
): DocumentQuestions {
  const editFormat = prompts.fill('edit-format');
  const repeating = (texts: string[]): ModelCall['parts'] => texts.map((text) => ({ text, repeats: true }));
  const noDocument = (reply: string): string | null => {
    const document = documentFromReply(reply, form);
    return document.ok ? null : document.reason;
  };
  const noRevision = (reply: string): string | null =>
    readEdits(reply, form) === null && !saysNoChange(reply) ? noDocument(reply) : null;

  const askDrafter = (step: string, parts: string[], unusable = noRevision): Promise<string> =>
    call({
      step,
      role: 'drafter',
      system: prompts.fill(names.drafter),
      parts: [...repeating([...shown, ...shownToDrafter]), ...parts.map((text) => ({ text }))],
      unusable,
    });

  const askReviewer = (step: string, input: ReviewInput, more: string[]): Promise<string> => {
    const { draft, previous, ledger, round, maxRounds, checks, coverage } = input;
    const parts = [tagged('draft', draft), tagged('coverage', coverage)];
    if (checks.length > 0)
      parts.push(tagged('check-warnings', checks.map((finding) => `- ${describeFinding(finding)}`).join('\n')));
    if (round > 1) parts.push(tagged('findings-ledger', formatLedger(ledger)));
    if (previous !== null) parts.push(tagged('changes-since-last-round', changes(previous, draft)));
    parts.push(prompts.fill(names.review, { id, title, round, 'max-rounds': maxRounds }), ...more);
    return call({
      step,
      role: 'reviewer',
      system: prompts.fill(names.reviewer),
      parts: [...repeating(shown), ...parts.map((text) => ({ text }))],
      unusable: unusableReview,
    });
  };

  const reviseParts = (draft: string, review: string, ledger: Ledger): string[] => [
    tagged('draft', draft),
    tagged('review', review),
    tagged('findings-ledger', formatLedger(ledger)),
    prompts.fill(names.revise, { id, title, 'edit-format': editFormat }),
  ];

  return {
    draft: async () => {
      const parts = [prompts.fill(names.draft, { id, title })];
      const reply = await askDrafter('draft', parts, noDocument);
      const document = documentFromReply(reply, form);
      // A stored answer was accepted as a document before it was stored.
      return document.ok ? document.text : reply;
    },
    repair: (draft, findings, round, attempt) => {
      const list = findings.map((finding) => `- ${describeFinding(finding)}`).join('\n');
      const parts = [
        tagged('draft', draft),
        prompts.fill(names.repair, { id, title, findings: list, 'edit-format': editFormat }),
      ];
      return askDrafter(`repair-${round}-${attempt}`, parts);
    },
    review: (input) => askReviewer(`review-${input.round}`, input, []),
    reviewAgain: (input, earlier, problems) => {
      const list = problems.map((problem) => `- ${problem}`).join('\n');
      const more = [tagged('your-review', earlier), prompts.fill('review-again', { problems: list })];
      return askReviewer(`review-${input.round}-again`, input, more);
    },
    revise: (draft, review, ledger, round) => askDrafter(`revise-${round}`, reviseParts(draft, review, ledger)),
    reviseAgain: (draft, review, ledger, round, reply, reason) => {
      const again = `Your last reply was not taken: ${reason}\nReply again with edits or with the whole document.`;
      const parts = [...reviseParts(draft, review, ledger), tagged('your-last-reply', reply), again];
      return askDrafter(`revise-${round}-again`, parts);
    },
  };
}

function changes(before: string, after: string): string {
  return before === after
    ? 'None: the draft is the same as in the last round.'
    : createTwoFilesPatch('before', 'now', before, after);
}
