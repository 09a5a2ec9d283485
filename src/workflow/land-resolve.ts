import { codeOf, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { GateEvidence } from '../core/gate.ts';
import { sha256 } from '../core/hash.ts';
import { parseItemId } from '../core/ids.ts';
import { listed, oneLine } from '../core/lines.ts';
import { readLld } from '../documents/lld/document.ts';
import { commitMerge, type Merge } from '../git/merge.ts';
import { ALWAYS, unaskedRule, undoForbidden } from './forbidden.ts';
import { coverageTarget, createGateLog, judgeFinished, reverseWithout } from './gates.ts';
import { designOn } from './implementations.ts';
import { resolveTask } from './implementer-tasks.ts';
import type { Combined, LandContext, ReportedBranch } from './land.ts';
import type { Tests } from './tests.ts';
import { createWriterCalls, type WritingGates } from './writing.ts';

/** A branch that conflicts with the state of a landing. */
export interface Conflicting {
  ours: Combined;
  branch: ReportedBranch;
  /** The branches that it is in conflict with; none: it is the base itself. */
  others: readonly ReportedBranch[];
  merge: Merge;
}

/** A merge of a branch. `lines`: further paragraphs, e.g. who settled a conflict. */
export function mergeMessage({ id, title, branch }: ReportedBranch, lines: readonly string[] = []): string {
  return `${[`Merge ${branch}`, oneLine(`${id}: ${title}`), ...lines].join('\n\n')}\n`;
}

/** What a run of the tests on these branches together is judged by. */
export function factsOf(branches: readonly ReportedBranch[]): { proven: string[]; changed: ReadonlySet<string> } {
  return {
    proven: branches.flatMap(({ proven }) => proven.map(({ name }) => name)),
    changed: new Set(branches.flatMap(({ files }) => files)),
  };
}

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
  error: ErrorRecord;
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
): Promise<Combined | Unsettled> {
  const { git, journal, emit, landing } = context;
  const { ours, branch, others, merge } = conflicting;
  const { id } = branch;
  const designs = await Promise.all(
    [branch, ...others].map((one) => designOn(context, parseItemId(one.id), one.commit)),
  );
  const gates = conflictGates(context, tests, conflicting, designs);
  const conflict = sha256(JSON.stringify([branch.commit, merge.conflicts]));

  const commit = async (tree: string, by: readonly string[]): Promise<Combined> => {
    const who = `Conflicts in ${listed(merge.conflicts.map(({ path }) => path))} settled by ${listed(by)}.`;
    const message = mergeMessage(branch, [who]);
    const made = await commitMerge(git, { tree, ours: ours.commit, theirs: branch.commit, message });
    return { commit: made, tree, branches: [...ours.branches, branch] };
  };

  const name = `settled-${id}`;
  const earlier = journal.last(name) as Settled | undefined;
  const again = earlier?.conflict === conflict ? await sameAgain(context, merge, earlier) : null;
  if (earlier !== undefined && again !== null) {
    const { problems } = await gates.judge({ tree: again, step: name, round: 1, said: '' });
    if (problems.length === 0) return commit(again, earlier.by);
  }

  // The cost of calls is counted for the branch.
  const emitPart: typeof emit = (event) => emit(event.type === 'model-answered' ? { ...event, part: id } : event);
  const { write, authors } = createWriterCalls({ ...context, emit: emitPart }, tests);
  const shown = { ...conflicting, onto: landing.onto, designs, sides: await sidesOf(context, conflicting) };
  let last = merge.tree;
  try {
    const tree = await write({
      phase: 'code',
      name: `resolve-${id}`,
      start: merge.tree,
      task: (failures, round) => resolveTask(context, shown, failures, round),
      gates: {
        ...gates,
        judge(written) {
          last = written.tree;
          return gates.judge(written);
        },
      },
    });
    const by = [...authors.code];
    const settled: Settled = { conflict, marked: merge.tree, tree, by };
    await journal.step({ name, inputs: { conflict, tree } }, async () => settled);
    return commit(tree, by);
  } catch (error) {
    const record = toErrorRecord(error);
    if (record.problem.code !== 'gate-failed') throw error;
    return { error: record, ours, tree: last };
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

/** The gates of both sides, for a tree in which a conflict is settled. `designs`: those of both. */
function conflictGates(
  context: LandContext,
  tests: Tests | null,
  { ours, branch, others, merge }: Conflicting,
  designs: readonly string[],
): WritingGates {
  const { worktree, suite } = context;
  const log = createGateLog(context);
  const target = coverageTarget(context, designs.map(readLld));
  const inConflict = merge.conflicts.map(({ path }) => path);
  const hasTests = inConflict.some((path) => suite.isTestFile(path));
  return {
    limit(tree, step, named) {
      const reason = { why: 'these files are not in conflict', advice: 'it is not in conflict' };
      const unasked = unaskedRule(reason, named, ({ path }) => inConflict.includes(path));
      return undoForbidden(context, { tree, source: merge.tree, step }, [...ALWAYS, unasked]);
    },
    judge: ({ tree, step, round }) =>
      judgeFinished(context, log, tests, {
        ...factsOf([...ours.branches, branch]),
        tree,
        step,
        round,
        inConflict,
        covered: new Set(inConflict.filter((path) => !suite.isTestFile(path))),
        target,
        // With the code of one side taken out, its tests fail. Checked only if a test file was in conflict.
        async reverse(run, ran) {
          const sides = [
            { without: ours.tree, of: [branch] },
            { without: await worktree.treeOf(branch.commit), of: others },
          ];
          const gates: GateEvidence[] = [];
          for (const [at, { without, of }] of hasTests ? sides.entries() : []) {
            const proven = of.flatMap((one) => one.proven);
            const taken = { run, tests: ran, proven, tree, without, step: `reverse-${step}-${at + 1}` };
            const reverse = await reverseWithout(context, taken);
            if (reverse !== null) gates.push(reverse);
          }
          return gates;
        },
      }),
  };
}
