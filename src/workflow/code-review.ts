import { type Ledger, openFindings } from '../documents/ledger.ts';
import { filesNamed } from '../documents/review/named-files.ts';
import { unusableReview } from '../documents/review/reader.ts';
import { openCommit } from '../git/repository.ts';
import { codeReviewParts, findingFailures } from '../prompts/writing-tasks.ts';
import { changedCode } from './changed-code.ts';
import type { AskPerson, DecidedBefore } from './decide.ts';
import type { Gates } from './gates.ts';
import type { ImplementContext } from './implement-item.ts';
import { protectedChange } from './protected-paths.ts';
import { type ReviewOutcome, reviewLoop } from './review.ts';

export interface CodeReview {
  gates: Pick<Gates, 'evidence' | 'undone'>;
  decide: AskPerson;
  decidedBefore: DecidedBefore;
  onReview: (text: string, round: number) => Promise<void>;
  /** Has the writer change what the review asks for, and proves it again; returns the new state of the worktree. */
  revise: (asked: Revision) => Promise<string>;
}

export interface Revision {
  start: string;
  name: string;
  review: string;
  failures: string[];
  /** Files that are there and may be changed, by what the findings name. */
  mayChange: string[];
}

export type ReviewedCode = ReviewOutcome & { tree: string };

/** Takes a change through the review loop. What is reviewed is its diff. */
export async function reviewCode(
  context: ImplementContext,
  codeTree: string,
  { gates, decide, decidedBefore, onReview, revise }: CodeReview,
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
            forecast: context.forecast,
            diff,
            code: await changedCode(context, tree),
            changes: reviewed === null ? null : await worktree.diff(reviewed, tree),
            undone: gates.undone().filter(({ step }) => step.startsWith(`revise-${round - 1}-`)),
            ledger,
            round,
            maxRounds: lastRound,
            ...(again === undefined ? {} : { again }),
          }),
          at: { commit: base, tree },
          unusable: unusableReview,
        }),
      onReview,
      needsPerson: () => protectedChange(context, tree),
      async revise(_, review, ledger, round) {
        const found = findingFailures(ledger);
        const failures =
          found.length > 0 ? found : ['The reviewer asks for a change without listing a finding: see the review.'];
        reviewed = tree;
        const mayChange = await filesToRevise(context, tree, ledger);
        tree = await revise({ start: tree, name: `revise-${round}`, review, failures, mayChange });
        return { ok: true, text: await worktree.diff(baseTree, tree), ledger };
      },
    },
    { emit, maxRounds, decide, decidedBefore },
  );
  return { ...outcome, tree };
}

async function filesToRevise(
  { git, worktree, baseTree, suite }: ImplementContext,
  tree: string,
  ledger: Ledger,
): Promise<string[]> {
  // Tests are frozen, whatever a finding says of them.
  const isCode = (path: string): boolean => !suite.isTestFile(path);
  const paths = (await openCommit(git, tree)).paths.filter(isCode);
  const changed = (await worktree.changes(baseTree, tree)).map(({ path }) => path).filter(isCode);
  const findings = openFindings(ledger).map(({ text }) => text);
  const suggestions = ledger.findings.filter(({ tier, state }) => tier === 3 && state === 'open');
  return filesNamed({ findings, suggestions: suggestions.map(({ text }) => text) }, { paths, changed });
}
