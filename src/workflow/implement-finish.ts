import { describeDecision } from '../documents/decision.ts';
import { commitMessage, oneLine } from '../documents/implementation/commit-message.ts';
import { type ChangedFile, type Spending, writeReport } from '../documents/implementation/report.ts';
import type { LldDocument } from '../documents/lld/document.ts';
import type { Worktree } from '../git/worktree/worktree.ts';
import type { Durable } from './durable.ts';
import type { ImplementDependencies, ImplementResult } from './implement.ts';
import type { GateKeeper } from './implement-gates.ts';
import type { Guards } from './implement-guards.ts';
import type { ReviewedCode } from './implement-review.ts';

export interface Finishing {
  deps: ImplementDependencies;
  durable: Durable;
  worktree: Worktree;
  gates: GateKeeper;
  base: string;
  baseTree: string;
  testsCommit: string;
  lld: LldDocument;
  /** Where the approved LLD is on the branch. */
  design: string;
  /** Who wrote the code. */
  models: ReadonlySet<string>;
  isTestFile: (path: string) => boolean;
  guards: Guards;
  review: ReviewedCode;
  spending: Spending[];
}

/** Code and report as commits of their own behind the tests; then the worktree has done its service. */
export async function finishImplementation(finishing: Finishing): Promise<ImplementResult> {
  const { deps, durable, worktree, testsCommit, design, models, review } = finishing;
  const { id, title, emit, signal, paths, lldText, mask } = deps;
  const { branch } = worktree;
  const commit = (what: 'code' | 'report', tree: string, parent: string, message: string): Promise<string> =>
    durable({ name: `commit-${what}`, inputs: { tree, parent } }, async () => ({
      commit: await worktree.commit({ tree, parents: [parent], message }),
    })).then(({ value }) => value.commit);

  const codeMessage = commitMessage({
    subject: title.trim() || `Implement ${id}`,
    body: `Implements ${id}. Design: ${design}`,
    models,
    coAuthor: deps.coAuthor,
  });
  const codeCommit = await commit('code', review.tree, testsCommit, codeMessage);
  const report = paths.report(id);
  const beside = paths.reportedLld(id);
  const complete = await worktree.withFiles(review.tree, {
    [report]: mask(await reportOf(finishing, codeCommit)),
    // Without one that an earlier design of the item may have left there.
    [beside]: design === beside ? lldText : null,
  });
  const reportCommit = await commit('report', complete, codeCommit, oneLine(`Report on ${id}: ${title}`));
  signal.throwIfAborted();
  await worktree.setBranch(reportCommit);
  emit({ type: 'committed', branch, commit: codeCommit, what: 'code' });
  emit({ type: 'committed', branch, commit: reportCommit, what: 'report' });
  await worktree.remove();
  return { status: 'succeeded', reason: null, outputs: [branch, report] };
}

async function reportOf(finishing: Finishing, codeCommit: string): Promise<string> {
  const { deps, worktree, gates, base, baseTree, testsCommit, lld, design, isTestFile, guards, review, spending } =
    finishing;
  const { id, title, lldHash, policy } = deps;
  const lines = lineCounts(await worktree.diff(baseTree, review.tree));
  const planned = new Set(lld.files.map(({ path }) => path));
  const changes = (await worktree.changes(baseTree, review.tree)).map(
    ({ path, kind }): ChangedFile => ({
      path,
      change: kind,
      isTest: isTestFile(path),
      planned: planned.has(path),
      linesAdded: lines.get(path)?.added ?? null,
      linesRemoved: lines.get(path)?.removed ?? null,
    }),
  );
  return writeReport({
    id,
    title,
    design,
    lldHash,
    branch: worktree.branch,
    baseCommit: base,
    testsCommit,
    codeCommit,
    implementer: deps.writer.spec,
    reviewer: deps.reviewer.spec,
    policy,
    changes,
    gates: gates.evidence(),
    ...gates.proven(),
    review: { rounds: review.rounds, verdict: review.verdict, ledger: review.ledger },
    notices: [
      ...changes
        .filter(({ planned: isPlanned }) => !isPlanned)
        .map(({ path }) => `${path}: changed, but not in the LLD`),
      ...lld.files
        .filter(({ path }) => !changes.some((change) => change.path === path || change.path.startsWith(`${path}/`)))
        .map(({ path, change }) => `${path}: the LLD says ${change}, but it is as it was`),
      ...gates.undone().map(({ step, paths, why }) => `${step}: undone, ${why}: ${paths.join(', ')}`),
      ...guards.found(),
      ...review.decisions.map(describeDecision),
    ],
    spending,
  });
}

/** Of each file of a unified diff; a binary file has none. */
function lineCounts(diff: string): Map<string, { added: number; removed: number }> {
  const counts = new Map<string, { added: number; removed: number }>();
  let current: { added: number; removed: number } | null = null;
  let inHunk = false;
  for (const line of diff.split('\n')) {
    if (line.startsWith('diff --git ')) {
      current = { added: 0, removed: 0 };
      inHunk = false;
    } else if (!inHunk && current !== null && /^(?:\+\+\+ b|--- a)\//.test(line)) {
      counts.set(line.slice(6), current);
    } else if (line.startsWith('@@')) inHunk = true;
    else if (inHunk && current !== null && line.startsWith('+')) current.added += 1;
    else if (inHunk && current !== null && line.startsWith('-')) current.removed += 1;
  }
  return counts;
}
