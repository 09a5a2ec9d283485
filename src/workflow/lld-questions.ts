import { createTwoFilesPatch } from 'diff';
import { formatLedger, type Ledger } from '../governance/ledger.ts';
import type { LldFinding } from '../governance/lld/checks.ts';
import { readEdits } from '../governance/lld/edits.ts';
import { documentFromReply } from '../governance/lld/reply.ts';
import { saysNoChange } from '../governance/lld/revision.ts';
import type { IssueMaterial } from '../governance/material.ts';
import type { Prompts } from '../governance/prompts.ts';
import { unusableReview } from '../governance/review/reader.ts';
import type { PromptPart } from '../provider/port.ts';
import type { ModelCall } from './model-caller.ts';
import { describeFinding, type LoopQuestions, type ReviewInput } from './review-loop.ts';

export interface QuestionOptions {
  issue: IssueMaterial;
  /** The repository as the drafter is shown it. */
  context: string;
  paths: readonly string[];
  prompts: Prompts;
  maxRounds: number;
  call: (call: ModelCall) => Promise<string>;
}

export interface LldQuestions extends LoopQuestions {
  draft(): Promise<string>;
}

/** Material goes in tags, so that a document with headings of its own can't be taken for a part of the prompt. */
function tagged(tag: string, text: string): string {
  return `<${tag}>\n${text.trim()}\n</${tag}>`;
}

/** What is said to the models, and in which order: parts that repeat over the rounds come first, for prompt caches. */
export function createLldQuestions({ issue, context, paths, prompts, maxRounds, call }: QuestionOptions): LldQuestions {
  const { id, title } = issue;
  const issuePart: PromptPart = { text: tagged('issue', `# ${title}\n\n${issue.body}`), repeats: true };
  const editFormat = prompts.fill('edit-format');

  const drafterCall = (
    step: string,
    material: ModelCall['material'],
    parts: string[],
    unusable: ModelCall['unusable'],
  ): ModelCall => ({
    step,
    role: 'drafter',
    system: prompts.fill('drafter'),
    parts: [
      issuePart,
      { text: tagged('repository', context), repeats: true },
      { text: tagged('template', prompts.fill('lld-template')), repeats: true },
      ...parts.map((text) => ({ text })),
    ],
    material,
    unusable,
  });

  const reviewCall = (step: string, input: ReviewInput, more: string[]): ModelCall => {
    const { draft, previous, ledger, round, checks, coverage } = input;
    const parts = [tagged('draft', draft), tagged('coverage', coverage)];
    if (checks.length > 0)
      parts.push(tagged('check-warnings', checks.map((finding) => `- ${describeFinding(finding)}`).join('\n')));
    if (round > 1) parts.push(tagged('findings-ledger', formatLedger(ledger)));
    if (previous !== null) parts.push(tagged('changes-since-last-round', changes(previous, draft)));
    parts.push(prompts.fill('review', { id, title, round, 'max-rounds': maxRounds }), ...more);
    return {
      step,
      role: 'reviewer',
      system: prompts.fill('reviewer'),
      parts: [issuePart, ...parts.map((text) => ({ text }))],
      material: { task: 'review', issue, draft, round, checks, coverage },
      unusable: unusableReview,
    };
  };

  const reviseParts = (draft: string, review: string, ledger: Ledger): string[] => [
    tagged('draft', draft),
    tagged('review', review),
    tagged('findings-ledger', formatLedger(ledger)),
    prompts.fill('revise', { id, title, 'edit-format': editFormat }),
  ];

  return {
    draft: () =>
      call(drafterCall('draft', { task: 'draft', issue, paths }, [prompts.fill('draft', { id, title })], noDocument)),
    repair: (draft, findings, round, attempt) => {
      const list = findings.map((finding: LldFinding) => `- ${describeFinding(finding)}`).join('\n');
      const parts = [
        tagged('draft', draft),
        prompts.fill('repair', { id, title, findings: list, 'edit-format': editFormat }),
      ];
      return call(
        drafterCall(`repair-${round}-${attempt}`, { task: 'repair', issue, draft, round }, parts, noRevision),
      );
    },
    review: (input) => call(reviewCall(`review-${input.round}`, input, [])),
    reviewAgain: (input, earlier, problems) => {
      const list = problems.map((problem) => `- ${problem}`).join('\n');
      const more = [tagged('your-review', earlier), prompts.fill('review-again', { problems: list })];
      return call(reviewCall(`review-${input.round}-again`, input, more));
    },
    revise: (draft, review, ledger, round) =>
      call(
        drafterCall(
          `revise-${round}`,
          { task: 'revise', issue, draft, round },
          reviseParts(draft, review, ledger),
          noRevision,
        ),
      ),
    reviseAgain: (draft, review, ledger, round, reply, reason) => {
      const again = `Your last reply was not taken: ${reason}\nReply again with edits or with the whole document.`;
      const parts = [...reviseParts(draft, review, ledger), tagged('your-last-reply', reply), again];
      return call(drafterCall(`revise-${round}-again`, { task: 'revise', issue, draft, round }, parts, noRevision));
    },
  };
}

function changes(before: string, after: string): string {
  return before === after
    ? 'None: the draft is the same as in the last round.'
    : createTwoFilesPatch('before', 'now', before, after);
}

function noDocument(reply: string): string | null {
  const document = documentFromReply(reply);
  return document.ok ? null : document.reason;
}

function noRevision(reply: string): string | null {
  return readEdits(reply) === null && !saysNoChange(reply) ? noDocument(reply) : null;
}
