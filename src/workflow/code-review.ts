import { unusableReview } from '../documents/review/reader.ts';
import { codeReviewParts, findingFailures } from '../prompts/writing-tasks.ts';
import { changedCode } from './changed-code.ts';
import type { AskPerson } from './decide.ts';
import type { Gates } from './gates.ts';
import type { ImplementContext } from './implement-item.ts';
import { type ReviewOutcome, reviewLoop } from './review.ts';

export interface CodeReview {
  gates: Gates;
  decide: AskPerson;
  onReview: (text: string, round: number) => Promise<void>;
  /** Has the writer change what the review asks for, and proves it again; returns the new state of the worktree. */
  revise: (asked: { start: string; name: string; review: string; failures: string[] }) => Promise<string>;
}

export type ReviewedCode = ReviewOutcome & { tree: string };

/** Takes a change through the review loop. What is reviewed is its diff. */
export async function reviewCode(
  context: ImplementContext,
  codeTree: string,
  { gates, decide, onReview, revise }: CodeReview,
): Promise<ReviewedCode> {
  const { id, title, lld, prompts, worktree, base, baseTree, emit, maxRounds } = context;
  let tree = codeTree;
  /** The state that the last review saw. */
  let reviewed: string | null = null;
  const outcome = await reviewLoop(
    await worktree.diff(baseTree, tree),
    {
      review: async ({ text: diff, ledger, round, maxRounds: lastRound }, again) =>
        context.ask({
          step: `review-${round}${again === undefined ? '' : '-again'}`,
          role: 'reviewer',
          system: prompts.fill('code-reviewer'),
          parts: codeReviewParts(prompts, {
            id,
            title,
            lld: lld.text,
            evidence: gates.evidence(),
            diff,
            code: await changedCode(context, tree),
            changes: reviewed === null ? null : await worktree.diff(reviewed, tree),
            ledger,
            round,
            maxRounds: lastRound,
            ...(again === undefined ? {} : { again }),
          }),
          at: { commit: base, tree },
          unusable: unusableReview,
        }),
      onReview,
      async revise(_, review, ledger, round) {
        const found = findingFailures(ledger);
        const failures =
          found.length > 0 ? found : ['The reviewer asks for a change without listing a finding: see the review.'];
        reviewed = tree;
        tree = await revise({ start: tree, name: `revise-${round}`, review, failures });
        return { ok: true, text: await worktree.diff(baseTree, tree), ledger };
      },
    },
    { emit, maxRounds, decide },
  );
  return { ...outcome, tree };
}
