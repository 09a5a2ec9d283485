import type { Decision } from '../documents/decision.ts';
import type { Ledger } from '../documents/ledger.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import { unusableReview } from '../documents/review/reader.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import { codeReviewParts, findingFailures } from '../prompts/writing-tasks.ts';
import { type CodeReviewInput, codeReviewLoop } from './code-review-loop.ts';
import type { AskPerson, LoopEnding } from './discussing.ts';
import type { ImplementDependencies } from './implement.ts';
import type { GateKeeper } from './implement-gates.ts';
import type { ModelCall } from './model-caller.ts';

export interface CodeReview {
  deps: ImplementDependencies;
  lld: LldDocument;
  worktree: Worktree;
  baseTree: string;
  gates: GateKeeper;
  call: (call: ModelCall<'reviewer'>) => Promise<string>;
  /** What the reviewer can't decide. */
  decide: AskPerson;
  /** The review that counts in a round, for a person to read. */
  onReview: (text: string, round: number) => Promise<void>;
  /** Has the writer change what the review asks for, and proves it again; returns the new state of the worktree. */
  revise: (asked: { start: string; name: string; review: string; failures: string[] }) => Promise<string>;
}

export type ReviewedCode = { tree: string; rounds: number; ledger: Ledger; decisions: Decision[] } & LoopEnding;

/** The second model reads the change as a strict architect; the rounds are those of every review. */
export async function reviewCode(
  codeTree: string,
  { deps, lld, worktree, baseTree, gates, revise, call, decide, onReview }: CodeReview,
): Promise<ReviewedCode> {
  const { id, title, prompts, emit } = deps;
  let tree = codeTree;

  const ask = (
    step: string,
    { round, ledger, diff, previousDiff, maxRounds }: CodeReviewInput,
    again?: { earlier: string; problems: string[] },
  ): Promise<string> => {
    return call({
      step,
      role: 'reviewer',
      system: prompts.fill('code-reviewer'),
      parts: codeReviewParts(prompts, {
        id,
        title,
        lld: lld.text,
        evidence: gates.evidence(),
        diff,
        previousDiff,
        ledger,
        round,
        maxRounds,
        ...(again === undefined ? {} : { again }),
      }),
      unusable: unusableReview,
    });
  };

  const outcome = await codeReviewLoop(await worktree.diff(baseTree, tree), {
    review: (input) => ask(`review-${input.round}`, input),
    reviewAgain: (input, earlier, problems) => ask(`review-${input.round}-again`, input, { earlier, problems }),
    async revise(review, ledger, round) {
      const found = findingFailures(ledger);
      const failures =
        found.length > 0 ? found : ['The reviewer asks for a change without listing a finding: see the review.'];
      tree = await revise({ start: tree, name: `revise-${round}`, review, failures });
      return worktree.diff(baseTree, tree);
    },
    emit,
    maxRounds: deps.maxRounds,
    decide,
    onReview,
  });
  const { diff: _, ...ending } = outcome;
  return { ...ending, tree };
}
