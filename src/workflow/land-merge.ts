import { AgentosError, toErrorRecord } from '../core/errors.ts';
import { firstBroken, type LandedBranch, missingBelow } from '../core/landing.ts';
import { listed, oneLine } from '../core/lines.ts';
import { wordingOf } from '../core/wording.ts';
import { isAncestor } from '../git/branches.ts';
import { commitMerge, type Merge, mergeTrees } from '../git/merge.ts';
import { briefly } from '../verification/combination.ts';
import type { Combined, LandContext, ReportedBranch } from './land-item.ts';
import type { LandTests } from './land-tests.ts';

/** What git makes of a state and one more branch. */
export type Merged = { state: Combined } | { conflict: Merge } | { refused: string };

export type MergeOnto = (ours: Combined, branch: ReportedBranch) => Promise<Merged>;

/** Each merge is made once, however often it is asked for. */
export function createMerges(context: LandContext): MergeOnto {
  const known = new Map<string, Promise<Merged>>();
  return (ours, branch) => {
    const key = `${ours.commit} ${branch.id}`;
    const merged = known.get(key) ?? mergeOnto(context, ours, branch);
    known.set(key, merged);
    return merged;
  };
}

/** As a durable step. Nothing is checked out. */
async function mergeOnto(context: LandContext, ours: Combined, branch: ReportedBranch): Promise<Merged> {
  const { git, worktree } = context;
  const inputs = { ours: ours.commit, theirs: branch.commit };
  const branches = [...ours.branches, branch];
  const { value } = await context.step<{ commit: string } | { conflict: Merge } | { refused: string }>(
    { name: `merge-${branch.id}`, inputs },
    async () => {
      if (await isAncestor(git, branch.commit, ours.commit)) return { commit: ours.commit };
      try {
        const merge = await mergeTrees(git, ours.commit, branch.commit);
        if (merge.conflicts.length > 0) return { conflict: merge };
        const message = mergeMessage(branch);
        return {
          commit: await commitMerge(git, { tree: merge.tree, ours: ours.commit, theirs: branch.commit, message }),
        };
      } catch (error) {
        const { problem } = toErrorRecord(error);
        // E.g. a branch that has no history in common with the base.
        if (problem.code !== 'git-failed' || problem.exitCode === null) throw error;
        return { refused: wordingOf(problem).message };
      }
    },
  );
  if (!('commit' in value)) return value;
  return { state: { commit: value.commit, tree: await worktree.treeOf(value.commit), branches } };
}

/** `lines`: what else there is to say, e.g. who settled a conflict. */
export function mergeMessage({ id, title, branch }: ReportedBranch, lines: readonly string[] = []): string {
  return `${[`Merge ${branch}`, oneLine(`${id}: ${title}`), ...lines].join('\n\n')}\n`;
}

/** All that can be merged without a conflict and breaks nothing, and what became of the rest so far. */
export interface CleanPart {
  state: Combined;
  /** Those that are out for good: they break something, or git refuses them. */
  out: Map<string, LandedBranch>;
}

/**
 * Merges in order what git can merge by itself, and tests the whole. If that is red, the branch after which it is red is found
 * by halving, left out, and the rest is tried again: what conflicted with it may fit then.
 */
export async function mergeClean(context: LandContext, tests: LandTests | null, merge: MergeOnto): Promise<CleanPart> {
  const out = new Map<string, LandedBranch>();
  for (;;) {
    const stack = await stackOf(context, out, merge);
    const state = stack.at(-1) ?? baseOf(context);
    if (tests === null || stack.length === 0) return { state, out };
    const broken = await tests.confirmed(state);
    if (broken.length === 0) return { state, out };
    const keys = new Set(broken.map(({ key }) => key));
    const brokenAt = async (count: number): Promise<string[]> => {
      const found = count === stack.length ? broken : await tests.broken(stack[count - 1] ?? state);
      return found.filter(({ key }) => keys.has(key)).map(({ text }) => text);
    };
    context.emit({ type: 'notice', text: whatIsTried(stack.length, broken.length) });
    const count = await firstBroken(stack.length, async (some) => (await brokenAt(some)).length === 0);
    const [breaker, ...before] = (stack[count - 1]?.branches ?? []).toReversed();
    if (breaker === undefined) throw new TypeError('a combination without a branch');
    out.set(breaker.id, breaks(context, breaker, before.toReversed(), await brokenAt(count)));
  }
}

function whatIsTried(branches: number, problems: number): string {
  const runs = Math.ceil(Math.log2(branches));
  const what = `${problems} problem(s) with ${branches} branch(es) together`;
  return runs === 0 ? what : `${what}; to find the branch takes at most ${runs} more run(s) of the tests`;
}

function baseOf({ landing, baseTree }: LandContext): Combined {
  return { commit: landing.base, tree: baseTree, branches: [] };
}

/** The states after each branch that is merged, in order. */
async function stackOf(context: LandContext, out: Map<string, LandedBranch>, merge: MergeOnto): Promise<Combined[]> {
  const states: Combined[] = [];
  let state = baseOf(context);
  for (const branch of context.branches) {
    const isIn = (id: string): boolean => state.branches.some((one) => one.id === id);
    if (out.has(branch.id) || missingBelow(branch, isIn) !== null) continue;
    const merged = await merge(state, branch);
    if ('refused' in merged) out.set(branch.id, refused(branch, merged.refused));
    if (!('state' in merged)) continue;
    ({ state } = merged);
    states.push(state);
  }
  return states;
}

const MOST_PROBLEMS = 5;

export function breaks(
  { portable }: LandContext,
  { id }: ReportedBranch,
  before: readonly ReportedBranch[],
  problems: readonly string[],
): LandedBranch {
  const more = problems.length - MOST_PROBLEMS;
  const first = problems.slice(0, MOST_PROBLEMS).map((text) => portable(briefly(text)));
  const shown = [...first, ...(more > 0 ? [`… and ${more} more`] : [])];
  const error = new AgentosError({
    code: 'branch-breaks',
    id,
    others: before.map((branch) => branch.id),
    problems: shown,
  });
  return { id, status: 'failed', reason: null, error: toErrorRecord(error), outputs: [] };
}

export function refused({ id }: ReportedBranch, reason: string): LandedBranch {
  return { id, status: 'discuss', reason, error: null, outputs: [] };
}

/** Which branches of a state a conflict is with; without any, it is the base itself. */
export function inConflictWith({ branches }: Combined, { conflicts }: Merge, own: ReportedBranch): ReportedBranch[] {
  const paths = new Set(conflicts.map(({ path }) => path));
  return branches.filter(({ id, files }) => !own.after.includes(id) && files.some((file) => paths.has(file)));
}

const MOST_FILES = 20;

/** For people: `conflicts with 42 in src/a.js`. */
export function conflictText(onto: string, others: readonly ReportedBranch[], { conflicts }: Merge): string {
  const who = others.length === 0 ? onto : listed(others.map(({ id }) => id));
  const more = conflicts.length - MOST_FILES;
  const files = conflicts.slice(0, MOST_FILES).map(({ path }) => path);
  return `conflicts with ${who} in ${files.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
