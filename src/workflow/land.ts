import { localTime } from '../core/duration.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { firstBroken, type LandedBranch, type Landing, type LandingBranch, missingBelow } from '../core/landing.ts';
import { listed } from '../core/lines.ts';
import { wordingOf } from '../core/wording.ts';
import { deleteBranch, isAncestor, makeLandBranch } from '../git/branches.ts';
import { commitMerge, type Merge, mergeTrees } from '../git/merge.ts';
import { readAt } from '../git/repository.ts';
import { briefly, brokenIn } from '../verification/green.ts';
import { type ProvenTest, provenTests } from '../verification/report.ts';
import { filesForPeople } from './gates.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { factsOf, mergeMessage, settleConflict, type Unsettled } from './land-resolve.ts';
import { setUpProblem } from './set-up.ts';
import { openTests, type Tests } from './tests.ts';
import { openInWorktree, type WorktreeContext, type WorktreeParts } from './worktree-item.ts';

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

/** The ends of the branches that did not simply merge. */
type Ends = Map<string, LandedBranch>;

/**
 * Combines several finished branches into one: merged in order, tested together, without those that break something. Every
 * merge, run of the tests and call of the implementer is a durable step, keyed by what it depends on: a landing that is
 * started again, also after the base has moved, repeats only what is different.
 */
export async function runLand(item: ItemContext, parts: WorktreeParts & { landing: Landing }): Promise<ItemResult> {
  const context = await openLanding(item, parts);
  const { git, worktree, emit } = context;
  const merge = createMerges(context);
  const tests = await openTests(context);
  if (tests === null) emit({ type: 'notice', text: 'nothing is tested: implement.policy is off' });
  const together = createCombinedTests(context, tests);
  const clean = await mergeClean(context, together, merge);
  const { state, ends, unsettled } = await mergeOthers(context, clean, { tests, together, merge });
  const day = localTime(new Date(item.clock.dateMs()).toISOString()).slice(0, 10);
  const branch = state.branches.length === 0 ? null : await makeLandBranch(git, state.commit, day);
  const outputs = branch === null ? [] : [branch];
  const out: LandedBranch[] = [];
  for (const one of context.branches) {
    const end = ends.get(one.id) ?? endOf(one.id, 'succeeded');
    const isIn = end.status === 'succeeded';
    if (!isIn) out.push(end);
    emit({ type: 'branch-landed', branch: one.branch, ...end, outputs: isIn ? outputs : [] });
  }
  if (unsettled === null) {
    await worktree.remove();
    await deleteBranch(git, worktree.branch);
  } else {
    // For a person: git status shows what the implementer changed.
    await worktree.setBranch(unsettled.ours.commit);
    await worktree.restore(unsettled.tree);
  }
  if (out.some(({ status }) => status === 'failed'))
    throw new AgentosError({ code: 'landing-incomplete', out: out.map(({ id }) => id), branch });
  if (out.length === 0) return { status: 'succeeded', reason: null, outputs };
  const why = out.map(({ id, reason }) => `${id} ${reason ?? 'is out'}`);
  return { status: 'discuss', reason: why.join('; '), outputs };
}

async function openLanding(item: ItemContext, parts: WorktreeParts & { landing: Landing }): Promise<LandContext> {
  const { git, landing } = parts;
  const reports = await readAt(
    git,
    landing.branches.map(({ id, commit }) => ({ ref: commit, path: item.paths.report(parseItemId(id)) })),
  );
  const branches = landing.branches.map((branch, at) => ({ ...branch, proven: provenTests(reports[at] ?? '') }));
  const opened = await openInWorktree(item, parts, {
    base: landing.base,
    // The branch of the worktree; that of the landing is made in the end.
    branch: `agentos/landing-${item.id}`,
    isUntouched: true,
    files: landing.branches.flatMap(({ files }) => files),
  });
  return { ...opened, branches };
}

/** The result of merging one more branch into a state. */
type Merged = { state: Combined } | { conflict: Merge } | { refused: string };
type MergeOnto = (ours: Combined, branch: ReportedBranch) => Promise<Merged>;

/** Merges in durable steps, each made once. Nothing is checked out. */
function createMerges({ git, worktree, step }: LandContext): MergeOnto {
  const known = new Map<string, Promise<Merged>>();
  const mergeOnto: MergeOnto = async (ours, branch) => {
    const inputs = { ours: ours.commit, theirs: branch.commit };
    const { value } = await step<{ commit: string } | { conflict: Merge } | { refused: string }>(
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
    const { commit } = value;
    return { state: { commit, tree: await worktree.treeOf(commit), branches: [...ours.branches, branch] } };
  };
  return (ours, branch) => {
    const key = `${ours.commit} ${branch.id}`;
    const merged = known.get(key) ?? mergeOnto(ours, branch);
    known.set(key, merged);
    return merged;
  };
}

/**
 * Merges in order what git can merge by itself, and tests the whole. If that is red, the branch that broke it is found by
 * bisection and left out, and the rest is merged again: a branch that conflicted with it may merge then.
 */
async function mergeClean(
  context: LandContext,
  tests: CombinedTests,
  merge: MergeOnto,
): Promise<{ state: Combined; ends: Ends }> {
  const ends: Ends = new Map();
  for (;;) {
    const states = await statesOf(context, ends, merge);
    const stateOf = (count: number): Combined => states[count - 1] ?? baseOf(context);
    const state = stateOf(states.length);
    const broken: Problems = states.length === 0 ? new Map() : await tests.confirmed(state);
    if (broken.size === 0) return { state, ends };
    const brokenAt = async (count: number): Promise<string[]> => {
      const found = count === states.length ? broken : await tests.broken(stateOf(count));
      return [...found].flatMap(([key, text]) => (broken.has(key) ? [text] : []));
    };
    const runs = Math.ceil(Math.log2(states.length));
    const what = `${broken.size} problem(s) with ${states.length} branch(es) together`;
    const more = runs === 0 ? '' : `; to find the branch takes at most ${runs} more run(s) of the tests`;
    context.emit({ type: 'notice', text: `${what}${more}` });
    const count = await firstBroken(states.length, async (some) => (await brokenAt(some)).length === 0);
    const [breaker, ...before] = stateOf(count).branches.toReversed();
    if (breaker === undefined) throw new TypeError('a combination without a branch');
    ends.set(breaker.id, breaks(context, breaker, before.toReversed(), await brokenAt(count)));
  }
}

function baseOf({ landing, baseTree }: LandContext): Combined {
  return { commit: landing.base, tree: baseTree, branches: [] };
}

const isIn =
  ({ branches }: Combined) =>
  (id: string): boolean =>
    branches.some((one) => one.id === id);

/** The states after each branch that is merged, in order. */
async function statesOf(context: LandContext, ends: Ends, merge: MergeOnto): Promise<Combined[]> {
  const states: Combined[] = [];
  let state = baseOf(context);
  for (const branch of context.branches) {
    if (ends.has(branch.id) || missingBelow(branch, isIn(state)) !== null) continue;
    const merged = await merge(state, branch);
    if ('refused' in merged) ends.set(branch.id, endOf(branch.id, 'discuss', merged.refused));
    if (!('state' in merged)) continue;
    ({ state } = merged);
    states.push(state);
  }
  return states;
}

/** One at a time, the branches in conflict and those that build on them. `unsettled`: the first conflict that stays. */
async function mergeOthers(
  context: LandContext,
  { state: clean, ends }: { state: Combined; ends: Ends },
  { tests, together, merge }: { tests: Tests | null; together: CombinedTests; merge: MergeOnto },
): Promise<{ state: Combined; ends: Ends; unsettled: Unsettled | null }> {
  const { branches, landing } = context;
  let unsettled: Unsettled | null = null;
  let state = clean;
  for (const branch of branches) {
    const { id } = branch;
    if (isIn(state)(id) || ends.has(id)) continue;
    const missing = missingBelow(branch, isIn(state));
    if (missing !== null) {
      ends.set(id, endOf(id, 'cancelled', `builds on ${missing}, which is out`));
      continue;
    }
    const merged = await merge(state, branch);
    if ('refused' in merged) {
      ends.set(id, endOf(id, 'discuss', merged.refused));
    } else if ('state' in merged) {
      const broken = [...(await together.confirmed(merged.state)).values()];
      if (broken.length > 0) ends.set(id, breaks(context, branch, state.branches, broken));
      else ({ state } = merged);
    } else {
      const { conflict } = merged;
      const others = inConflictWith(state, conflict, branch);
      const who = others.length === 0 ? landing.onto : listed(others.map((other) => other.id));
      const why = `conflicts with ${who} in ${listed(conflict.conflicts.map(({ path }) => path))}`;
      const forPeople = await filesForPeople(context, conflict);
      const refused = !landing.resolve
        ? '--resolve has the implementer settle it'
        : forPeople.length > 0
          ? `only a person may settle ${forPeople.join(', ')}`
          : null;
      if (refused !== null) {
        ends.set(id, endOf(id, 'discuss', `${why}; ${refused}`));
        continue;
      }
      const settled = await settleConflict(context, tests, { ours: state, branch, others, merge: conflict });
      if ('error' in settled) {
        ends.set(id, endOf(id, 'failed', null, settled.error));
        unsettled ??= settled;
      } else {
        state = settled;
        ends.set(id, endOf(id, 'succeeded', `${why}, settled by the implementer`));
      }
    }
  }
  return { state, ends, unsettled };
}

function endOf(
  id: string,
  status: LandedBranch['status'],
  reason: string | null = null,
  error: ErrorRecord | null = null,
): LandedBranch {
  return { id, status, reason, error, outputs: [] };
}

const MOST_PROBLEMS = 5;

function breaks(
  { portable }: LandContext,
  { id }: ReportedBranch,
  before: readonly ReportedBranch[],
  broken: readonly string[],
): LandedBranch {
  const more = broken.length - MOST_PROBLEMS;
  const problems = broken.slice(0, MOST_PROBLEMS).map((text) => portable(briefly(text)));
  if (more > 0) problems.push(`… and ${more} more`);
  const others = before.map((branch) => branch.id);
  return endOf(id, 'failed', null, toErrorRecord(new AgentosError({ code: 'branch-breaks', id, others, problems })));
}

/** The branches of a state that a conflict is with; none: it is with the base itself. */
function inConflictWith({ branches }: Combined, { conflicts }: Merge, own: ReportedBranch): ReportedBranch[] {
  const paths = new Set(conflicts.map(({ path }) => path));
  return branches.filter(({ id, files }) => !own.after.includes(id) && files.some((file) => paths.has(file)));
}

/** The text of each, by a key that is the same in every run. */
type Problems = ReadonlyMap<string, string>;

interface CombinedTests {
  /** What is broken in a state and was not in the base. */
  broken(state: Combined): Promise<Problems>;
  /** Only what is broken in two runs. What fails in one of them is reported, and ignored from then on. */
  confirmed(state: Combined): Promise<Problems>;
}

/** Tests states of the landing, each once; without tests, nothing is broken. */
function createCombinedTests({ emit }: LandContext, tests: Tests | null): CombinedTests {
  const unstable = new Set<string>();
  const seen = new Map<string, Promise<Problems>>();

  const runOn = async ({ tree, branches }: Combined, again: boolean): Promise<Problems> => {
    if (tests === null) return new Map();
    const step = `tests-${tree.slice(0, 12)}${again ? '-again' : ''}`;
    const run = await tests.run({ step, tree, installs: true }).catch(setUpProblem);
    if (typeof run === 'string') return new Map([['set-up', run]]);
    return brokenIn(run, { baseline: tests.baseline, ...factsOf(branches) });
  };
  const broken = async (state: Combined, again = false): Promise<Problems> => {
    const name = `${state.tree} ${again}`;
    const found = seen.get(name) ?? runOn(state, again);
    seen.set(name, found);
    return new Map([...(await found)].filter(([key]) => !unstable.has(key)));
  };

  return {
    broken: (state) => broken(state),
    async confirmed(state) {
      const first = await broken(state);
      if (first.size === 0) return first;
      const second = await broken(state, true);
      for (const [key, text] of new Map([...first, ...second])) {
        if (first.has(key) && second.has(key)) continue;
        unstable.add(key);
        emit({ type: 'notice', text: `not the same in two runs, and not blamed on a branch: ${briefly(text)}` });
      }
      return new Map([...first].filter(([key]) => second.has(key)));
    },
  };
}
