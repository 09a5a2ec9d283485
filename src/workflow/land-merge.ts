import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { firstBroken, type LandedBranch, type Landing, type LandingBranch, missingBelow } from '../core/landing.ts';
import { listed, oneLine } from '../core/lines.ts';
import { wordingOf } from '../core/wording.ts';
import { isAncestor } from '../git/branches.ts';
import { commitMerge, type Merge, mergeTrees } from '../git/merge.ts';
import { type Broken, briefly, brokenIn } from '../verification/combination.ts';
import type { ProvenTest } from '../verification/report-reader.ts';
import { setUpProblem } from './set-up.ts';
import { openTests, type Tests } from './test-runs.ts';
import { suiteFor, type WorktreeContext } from './worktree-item.ts';

/** A branch with the tests that its report names. */
export interface ReportedBranch extends LandingBranch {
  proven: readonly ProvenTest[];
}

export interface LandContext extends WorktreeContext {
  landing: Landing;
  branches: readonly ReportedBranch[];
}

/** A state of the landing: the base with some branches in it. */
export interface Combined {
  commit: string;
  tree: string;
  branches: readonly ReportedBranch[];
}

/** The result of merging one more branch into a state. */
type Merged = { state: Combined } | { conflict: Merge } | { refused: string };
type MergeOnto = (ours: Combined, branch: ReportedBranch) => Promise<Merged>;

/** Caches merges: each is made once. */
export function createMerges(context: LandContext): MergeOnto {
  const known = new Map<string, Promise<Merged>>();
  return (ours, branch) => {
    const key = `${ours.commit} ${branch.id}`;
    const merged = known.get(key) ?? mergeOnto(context, ours, branch);
    known.set(key, merged);
    return merged;
  };
}

/** A durable step. Nothing is checked out. */
async function mergeOnto(context: LandContext, ours: Combined, branch: ReportedBranch): Promise<Merged> {
  const { git, worktree } = context;
  const inputs = { ours: ours.commit, theirs: branch.commit };
  const { value } = await context.step<{ commit: string } | { conflict: Merge } | { refused: string }>(
    { name: `merge-${branch.id}`, inputs },
    async () => {
      if (await isAncestor(git, branch.commit, ours.commit)) return { commit: ours.commit };
      try {
        const merge = await mergeTrees(git, ours.commit, branch.commit);
        if (merge.conflicts.length > 0) return { conflict: merge };
        return { commit: await commitMerge(git, { ...inputs, tree: merge.tree, message: mergeMessage(branch) }) };
      } catch (error) {
        const { problem } = toErrorRecord(error);
        // E.g. a branch without a common history with the base.
        if (problem.code !== 'git-failed' || problem.exitCode === null) throw error;
        return { refused: wordingOf(problem).message };
      }
    },
  );
  if (!('commit' in value)) return value;
  const branches = [...ours.branches, branch];
  return { state: { commit: value.commit, tree: await worktree.treeOf(value.commit), branches } };
}

/** `lines`: further paragraphs, e.g. who settled a conflict. */
export function mergeMessage({ id, title, branch }: ReportedBranch, lines: readonly string[] = []): string {
  return `${[`Merge ${branch}`, oneLine(`${id}: ${title}`), ...lines].join('\n\n')}\n`;
}

/** All branches that merge without a conflict and break nothing. */
interface CleanPart {
  state: Combined;
  /** Branches that stay out: they break something, or git refuses them. */
  out: Map<string, LandedBranch>;
}

/**
 * Merges in order what git can merge by itself, and tests the whole. If that is red, the branch that broke it is found by
 * bisection and left out, and the rest is merged again: a branch that conflicted with it may merge then.
 */
export async function mergeClean(context: LandContext, tests: LandTests | null, merge: MergeOnto): Promise<CleanPart> {
  const out = new Map<string, LandedBranch>();
  for (;;) {
    const stack = await stackOf(context, out, merge);
    const state = stack.at(-1) ?? baseOf(context);
    const broken = tests === null || stack.length === 0 ? [] : await tests.confirmed(state);
    if (tests === null || broken.length === 0) return { state, out };
    const keys = new Set(broken.map(({ key }) => key));
    const brokenAt = async (count: number): Promise<string[]> => {
      const found = count === stack.length ? broken : await tests.broken(stack[count - 1] ?? state);
      return found.filter(({ key }) => keys.has(key)).map(({ text }) => text);
    };
    context.emit({ type: 'notice', text: searchNotice(stack.length, broken.length) });
    const count = await firstBroken(stack.length, async (some) => (await brokenAt(some)).length === 0);
    const [breaker, ...before] = (stack[count - 1]?.branches ?? []).toReversed();
    if (breaker === undefined) throw new TypeError('a combination without a branch');
    out.set(breaker.id, breaks(context, breaker, before.toReversed(), await brokenAt(count)));
  }
}

function searchNotice(branches: number, problems: number): string {
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
    if ('refused' in merged) out.set(branch.id, endOf(branch.id, 'discuss', merged.refused));
    if (!('state' in merged)) continue;
    ({ state } = merged);
    states.push(state);
  }
  return states;
}

export function endOf(
  id: string,
  status: LandedBranch['status'],
  reason: string | null = null,
  error: ErrorRecord | null = null,
): LandedBranch {
  return { id, status, reason, error, outputs: [] };
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
  const others = before.map((branch) => branch.id);
  return endOf(
    id,
    'failed',
    null,
    toErrorRecord(new AgentosError({ code: 'branch-breaks', id, others, problems: shown })),
  );
}

/** The branches of a state that a conflict is with; none: it is with the base itself. */
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

export interface LandTests extends Tests {
  /** What is broken in a state and was not in the base; `again`: in a second run. */
  broken(state: Combined, again?: boolean): Promise<Broken[]>;
  /** Only what is broken in two runs. What fails in one of them is reported, and ignored from then on. */
  confirmed(state: Combined): Promise<Broken[]>;
}

/** The tests of the packages that the branches change. Null: nothing is tested. */
export async function openLandTests(context: LandContext): Promise<LandTests | null> {
  const { branches, emit } = context;
  const suite = await suiteFor(
    context,
    branches.flatMap(({ files }) => files),
  );
  const tests = await openTests(context, suite);
  if (tests === null) {
    emit({ type: 'notice', text: 'nothing is tested: implement.policy is off' });
    return null;
  }
  const { runs, baseline } = tests;
  const unstable = new Set<string>();
  const seen = new Map<string, Promise<Broken[]>>();

  const runOn = async (state: Combined, again: boolean): Promise<Broken[]> => {
    const { tree } = state;
    const step = `tests-${tree.slice(0, 12)}${again ? '-again' : ''}`;
    const run = await runs.after({ step, tree, installs: true }).catch(setUpProblem);
    if (typeof run === 'string') return [{ key: 'set-up', text: run }];
    return brokenIn(run, { baseline, ...factsOf(state.branches) });
  };
  const broken = async (state: Combined, again = false): Promise<Broken[]> => {
    const key = `${state.tree} ${again}`;
    const found = seen.get(key) ?? runOn(state, again);
    seen.set(key, found);
    return (await found).filter((one) => !unstable.has(one.key));
  };

  return {
    ...tests,
    broken,
    async confirmed(state) {
      const first = await broken(state);
      if (first.length === 0) return [];
      const second = await broken(state, true);
      const keys = [first, second].map((found) => new Set(found.map(({ key }) => key)));
      const isBoth = ({ key }: Broken): boolean => keys.every((all) => all.has(key));
      for (const one of [...first, ...second].filter((found) => !isBoth(found))) {
        unstable.add(one.key);
        emit({ type: 'notice', text: `not the same in two runs, and not blamed on a branch: ${briefly(one.text)}` });
      }
      return first.filter(isBoth);
    },
  };
}

/** What a run of the tests on these branches together is judged by. */
export function factsOf(branches: readonly ReportedBranch[]): { proven: string[]; changed: ReadonlySet<string> } {
  return {
    proven: branches.flatMap(({ proven }) => proven.map(({ name }) => name)),
    changed: new Set(branches.flatMap(({ files }) => files)),
  };
}
