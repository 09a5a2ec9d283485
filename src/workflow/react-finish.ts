import { describeReaction, type ReactionResult } from '../core/reaction.ts';
import { commitMessage } from '../documents/implementation/commit-message.ts';
import { gateTable } from '../documents/implementation/markdown-text.ts';
import { withReaction } from '../documents/implementation/reaction-report.ts';
import { readAt } from '../git/repository.ts';
import type { ItemResult } from './item.ts';
import type { ReactGates } from './react-gates.ts';
import type { ReactContext } from './react-item.ts';

export type ReactResult = ItemResult & { reaction: ReactionResult | null };

export function succeeded({ reaction }: ReactContext, commit: string | null, more: string[]): ItemResult {
  const reason = commit === null ? 'answered, without a change' : null;
  return { status: 'succeeded', reason, outputs: [reaction.branch, ...more] };
}

interface Reacted {
  tree: string;
  authors: readonly string[];
  answers: Record<string, string>;
}

/** Commits on top of the pull request, and leaves the commit on the reaction's own branch for the parent to push. */
export async function commitReaction(
  context: ReactContext,
  gates: ReactGates,
  { tree, authors, answers }: Reacted,
): Promise<ReactResult> {
  const { id, reaction, worktree, paths, git, mask, portable, startTree, emit, signal } = context;
  const { head, base, isBaseMoved, cycle } = reaction;
  const parents = isBaseMoved ? [head, base.commit] : [head];
  const wrote = authors.length > 0;
  const message = wrote
    ? commitMessage({
        subject:
          isBaseMoved && tree === startTree
            ? `Merge ${base.branch}`
            : `React: ${describeReaction(reaction)}`.slice(0, 120),
        body: `For ${id}, reaction ${cycle}.`,
        models: new Set(authors),
        coAuthor: context.config.implement.coAuthor,
      })
    : `Merge ${base.branch}\n`;
  const evidence = gates.evidence();
  const path = paths.report(id);
  const [report = null] = await readAt(git, [{ ref: head, path }]);
  const noted =
    wrote && report !== null ? withReaction(report, { cycle, what: describeReaction(reaction), evidence }) : null;
  const complete = noted === null ? tree : await worktree.withFiles(tree, { [path]: mask(portable(noted)) });
  const { value } = await context.step(
    { name: 'commit-reaction', inputs: { tree: complete, parents, message } },
    async () => ({
      commit: await worktree.commit({ tree: complete, parents, message }),
    }),
  );
  signal.throwIfAborted();
  const { commit } = value;
  await worktree.setBranch(commit);
  emit({ type: 'committed', branch: worktree.branch, commit, what: 'code' });
  const files = (await worktree.changes(startTree, tree)).map((change) => change.path);
  await worktree.remove();
  const failing = evidence.filter(({ passed }) => !passed).map(({ gate }) => gate);
  const names = evidence.map(({ gate }) => gate).join(', ');
  const summary = failing.length > 0 ? `fails: ${failing.join(', ')}` : `holds: ${names || 'no gate was checked'}`;
  const shown = { passed: failing.length === 0 && evidence.length > 0, summary, details: gateTable(evidence) };
  return {
    ...succeeded(context, commit, []),
    reaction: { commit, wrote, dropped: false, answers, files, evidence: shown },
  };
}
