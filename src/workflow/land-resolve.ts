import { codeOf, toErrorRecord } from '../core/errors.ts';
import type { GateEvidence } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import type { LandedBranch } from '../core/landing.ts';
import { listed } from '../core/lines.ts';
import { readLld } from '../documents/lld/document.ts';
import { commitMerge, type Merge } from '../git/merge.ts';
import type { CoverageTarget } from '../verification/coverage.ts';
import { ALWAYS, unaskedRule, undoForbidden } from './forbidden.ts';
import { designOn } from './implementations.ts';
import { type Conflicting, resolveTask } from './implementer-tasks.ts';
import { conflictLeft, coverageTarget, createGateLog, judgeFinished, reverseWithout } from './judging.ts';
import {
  type Combined,
  endOf,
  factsOf,
  inConflictWith,
  type LandContext,
  mergeMessage,
  type ReportedBranch,
} from './land-merge.ts';
import type { Tests } from './test-runs.ts';
import { createWriterCalls, type Writing } from './writing.ts';

/** A stored solution: the same conflict is not paid for again, also on another base. */
interface Settled {
  /** A hash of the conflict. */
  conflict: string;
  /** The tree with conflict markers, and the settled one. */
  marked: string;
  tree: string;
  /** The models that settled it. */
  by: string[];
}

/** A conflict that the implementer did not settle, with its last tree. */
export interface Unsettled {
  out: LandedBranch;
  ours: Combined;
  tree: string;
}

/**
 * Has the implementer settle a conflict, within the bounds of an implementation: its calls are durable steps, it may change
 * only files in conflict, and the gates of both sides have to pass. Returns the state with the branch in it, or why it
 * stays out.
 */
export async function settleConflict(
  context: LandContext,
  tests: Tests | null,
  conflicting: Conflicting,
): Promise<{ state: Combined } | Unsettled> {
  const { git, journal, emit } = context;
  const { ours, branch, merge } = conflicting;
  const { id } = branch;
  const others = inConflictWith(ours, merge, branch);
  const designs = await Promise.all(
    [branch, ...others].map((one) => designOn(context, parseItemId(one.id), one.commit)),
  );
  const target = coverageTarget(context, designs.map(readLld));
  const gates = conflictGates(context, tests, { ...conflicting, others, target });
  const conflict = sha256(JSON.stringify([branch.commit, merge.conflicts]));

  const commit = async (tree: string, by: readonly string[]): Promise<{ state: Combined }> => {
    const who = `Conflicts in ${listed(merge.conflicts.map(({ path }) => path))} settled by ${listed(by)}.`;
    const message = mergeMessage(branch, [who]);
    const made = await commitMerge(git, { tree, ours: ours.commit, theirs: branch.commit, message });
    return { state: { commit: made, tree, branches: [...ours.branches, branch] } };
  };

  const earlier = journal.last(`settled-${id}`) as Settled | undefined;
  const again = earlier?.conflict === conflict ? await sameAgain(context, merge, earlier) : null;
  if (earlier !== undefined && again !== null && (await gates(again, `settled-${id}`, 1)).problems.length === 0)
    return commit(again, earlier.by);

  // The cost of calls is counted for the branch.
  const emitPart: typeof emit = (event) => emit(event.type === 'model-answered' ? { ...event, part: id } : event);
  const part = { ...context, emit: emitPart, writer: context.createWriter() };
  const { write, authors } = createWriterCalls(part, tests);
  const { onto } = context.landing;
  const sides = await sidesOf(context, conflicting);
  const task = { ...conflicting, others, onto, designs, sides, suite: tests?.suite ?? null };
  let last = merge.tree;
  try {
    const tree = await write({
      phase: 'code',
      name: `resolve-${id}`,
      start: merge.tree,
      task: (failures, round) => resolveTask(context.prompts, task, failures, round),
      judge: (judged, step, round) => {
        last = judged;
        return gates(judged, step, round);
      },
      limit: (left, step, failures) => {
        const reason = { why: 'these files are not in conflict', advice: 'it is not in conflict' };
        const inConflict = new Set(merge.conflicts.map(({ path }) => path));
        const unasked = unaskedRule(reason, failures, ({ path }) => inConflict.has(path));
        return undoForbidden(part, { tree: left, source: merge.tree, step }, [...ALWAYS, unasked]);
      },
    });
    const by = [...authors.code];
    const settled: Settled = { conflict, marked: merge.tree, tree, by };
    await journal.step({ name: `settled-${id}`, inputs: { conflict, tree } }, async () => settled);
    return commit(tree, by);
  } catch (error) {
    const record = toErrorRecord(error);
    if (record.problem.code !== 'gate-failed') throw error;
    return { out: endOf(id, 'failed', null, record), ours, tree: last };
  }
}

/** A stored solution on another merge with the same conflict; null: it doesn't fit, or git has removed its objects. */
async function sameAgain({ worktree }: LandContext, merge: Merge, { marked, tree }: Settled): Promise<string | null> {
  const inConflict = new Set(merge.conflicts.map(({ path }) => path));
  try {
    const changed = (await worktree.changes(marked, tree)).map(({ path }) => path);
    const moved = new Set((await worktree.changes(marked, merge.tree)).map(({ path }) => path));
    if (changed.some((path) => !inConflict.has(path) && moved.has(path))) return null;
    return await worktree.withPathsFrom(merge.tree, tree, changed);
  } catch (error) {
    if (codeOf(error) !== 'git-failed') throw error;
    return null;
  }
}

const MOST_DIFF_BYTES = 60_000;

/** What each side changed in the files in conflict, as diffs from their common ancestor. */
async function sidesOf(
  { git }: LandContext,
  { ours, branch, merge }: Conflicting,
): Promise<{ ours: string; theirs: string }> {
  const ancestor = await git.text(['merge-base', ours.commit, branch.commit]);
  const files = merge.conflicts.map(({ path }) => `:(literal,top)${path}`);
  const diff = async (to: string): Promise<string> => {
    const args = ['diff', '--no-color', '--no-ext-diff', '--no-textconv', ancestor, to, '--', ...files];
    const bytes = await git.run(args, { atMostBytes: MOST_DIFF_BYTES });
    return bytes.toString('utf8').slice(0, MOST_DIFF_BYTES);
  };
  return { ours: await diff(ours.commit), theirs: await diff(branch.commit) };
}

interface Sides extends Conflicting {
  /** The branches that it is in conflict with. */
  others: readonly ReportedBranch[];
  target: CoverageTarget | null;
}

/** The gates of both sides, for a tree in which a conflict is settled. */
function conflictGates(
  context: LandContext,
  tests: Tests | null,
  { ours, branch, merge, others, target }: Sides,
): Writing['judge'] {
  const { worktree } = context;
  const gateLog = createGateLog(context);
  const paths = merge.conflicts.map(({ path }) => path);
  return async (tree, step, round) => {
    const left = await conflictLeft(context, tree, paths);
    if (left !== null || tests === null) return left ?? { tree, problems: [], gate: '' };
    const isTest = (path: string): boolean => tests.suite.isTestFile(path);
    const covered = new Set(paths.filter((path) => !isTest(path)));
    return judgeFinished(gateLog, tests, {
      ...factsOf([...ours.branches, branch]),
      tree,
      step,
      round,
      covered,
      target,
      // With the code of one side taken out, its tests fail. Checked only if a test file was in conflict.
      async reverse(run) {
        if (!paths.some(isTest)) return [];
        const sides = [
          { without: ours.tree, of: [branch] },
          { without: await worktree.treeOf(branch.commit), of: others },
        ];
        const gates: GateEvidence[] = [];
        for (const [at, { without, of }] of sides.entries()) {
          const proven = of.flatMap((one) => one.proven);
          const asked = { run, proven, tree, without, step: `reverse-${step}-${at + 1}` };
          const reverse = await reverseWithout(context, tests, asked);
          if (reverse !== null) gates.push(reverse);
        }
        return gates;
      },
    });
  };
}
