import type { Clock } from '../core/clock.ts';
import { localTime } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { type LandedBranch, missingBelow } from '../core/landing.ts';
import { provenTests } from '../documents/implementation/proven-tests.ts';
import { deleteBranch, makeLandBranch } from '../git/branches.ts';
import type { Merge } from '../git/merge.ts';
import { readAt } from '../git/repository.ts';
import { createPortableText } from './implement-finish.ts';
import { prepareWorktree } from './implement-worktree.ts';
import type { ItemContext, ItemResult } from './item.ts';
import type { Combined, LandContext, LandParts } from './land-item.ts';
import { breaks, conflictText, createMerges, inConflictWith, mergeClean, refused } from './land-merge.ts';
import { settleConflict, type Unsettled } from './land-resolve.ts';
import { type LandTests, openLandTests, openSuites } from './land-tests.ts';
import { isProtected } from './protected-paths.ts';
import { DESIGNS, STATE } from './undo.ts';

/**
 * Several finished branches become one: merged in order, tested together, without those that break something. Every merge,
 * run of the tests and call of the implementer is a durable step, by what it depends on: a landing that is started again,
 * on another day or after the base has moved, repeats only what is different.
 */
export async function runLand(item: ItemContext, parts: LandParts): Promise<ItemResult> {
  const context = await openLanding(item, parts);
  const { git, worktree, emit } = context;
  const tests = await openLandTests(context);
  const { state, ends, unsettled } = await combine(context, tests);
  const isAnyIn = state.branches.length > 0;
  const branch = isAnyIn ? await makeLandBranch(git, state.commit, today(item.clock)) : null;
  const all = context.branches.map((one) => ({ branch: one.branch, ...(ends.get(one.id) ?? inBy(one.id)) }));
  for (const end of all) {
    const outputs = branch !== null && end.status === 'succeeded' ? [branch] : [];
    emit({ type: 'branch-landed', ...end, outputs });
  }
  const [left] = unsettled;
  if (left === undefined) {
    await worktree.remove();
    await deleteBranch(git, worktree.branch);
  } else {
    // For a person to look at: what the implementer left is what git status shows.
    await worktree.setBranch(left.ours.commit);
    await worktree.restore(left.tree);
  }
  return resultOf(
    branch,
    all.filter(({ status }) => status !== 'succeeded'),
  );
}

function inBy(id: string): LandedBranch {
  return { id, status: 'succeeded', reason: null, error: null, outputs: [] };
}

function resultOf(branch: string | null, out: readonly LandedBranch[]): ItemResult {
  const outputs = branch === null ? [] : [branch];
  if (out.some(({ status }) => status === 'failed'))
    throw new AgentosError({ code: 'landing-incomplete', out: out.map(({ id }) => id), branch });
  if (out.length === 0) return { status: 'succeeded', reason: null, outputs };
  const why = out.map(({ id, reason }) => `${id} ${reason ?? 'is out'}`);
  return { status: 'discuss', reason: why.join('; '), outputs };
}

async function openLanding(item: ItemContext, parts: LandParts): Promise<LandContext> {
  const { git, landing } = parts;
  const reports = await readAt(
    git,
    landing.branches.map(({ id, commit }) => ({ ref: commit, path: item.paths.report(parseItemId(id)) })),
  );
  const branches = landing.branches.map((branch, at) => ({ ...branch, proven: provenTests(reports[at] ?? '') }));
  // Not the branch that it will be: that one is made when it is known what is on it.
  const branch = `agentos/landing-${item.id}`;
  const prepared = await prepareWorktree(item, parts, { start: landing.base, branch, isPersons: true });
  const { worktree } = prepared;
  const { directory } = worktree;
  const suite = await openSuites(parts, directory);
  const baseTree = await worktree.treeOf(landing.base);
  const portable = await createPortableText(item.paths.repository, directory);
  return { ...item, ...parts, ...prepared, branches, suite, baseTree, portable };
}

interface Ended {
  state: Combined;
  /** Of all that is not simply in. */
  ends: Map<string, LandedBranch>;
  unsettled: Unsettled[];
}

/** First all that git can merge by itself; then, one at a time on top of that, what is in conflict, and what builds on it. */
async function combine(context: LandContext, tests: LandTests | null): Promise<Ended> {
  const { branches, landing } = context;
  const merge = createMerges(context);
  const clean = await mergeClean(context, tests, merge);
  const ends = clean.out;
  const unsettled: Unsettled[] = [];
  let { state } = clean;
  const isIn = (id: string): boolean => state.branches.some((one) => one.id === id);
  for (const branch of branches) {
    const { id } = branch;
    if (isIn(id) || ends.has(id)) continue;
    const missing = missingBelow(branch, isIn);
    if (missing !== null) {
      const reason = `builds on ${missing}, which is out`;
      ends.set(id, { id, status: 'cancelled', reason, error: null, outputs: [] });
      continue;
    }
    const merged = await merge(state, branch);
    if ('refused' in merged) ends.set(id, refused(branch, merged.refused));
    else if ('state' in merged) {
      const broken = (await tests?.confirmed(merged.state)) ?? [];
      const problems = broken.map(({ text }) => text);
      if (problems.length > 0) ends.set(id, breaks(context, branch, state.branches, problems));
      else ({ state } = merged);
    } else {
      const { conflict } = merged;
      const why = conflictText(landing.onto, inConflictWith(state, conflict, branch), conflict);
      const forPeople = await filesForPeople(context, conflict);
      if (!landing.resolve) ends.set(id, refused(branch, `${why}; --resolve has the implementer settle it`));
      else if (forPeople.length > 0)
        ends.set(id, refused(branch, `${why}; only a person may settle ${forPeople.join(', ')}`));
      else {
        const settled = await settleConflict(context, tests, { ours: state, branch, merge: conflict });
        if ('out' in settled) {
          ends.set(id, settled.out);
          unsettled.push(settled);
        } else {
          ({ state } = settled);
          ends.set(id, { ...inBy(id), reason: `${why}, settled by the implementer` });
        }
      }
    }
  }
  return { state, ends, unsettled };
}

/** What runs elsewhere with more rights, designs, and what is no text: no implementer settles these. */
async function filesForPeople({ worktree }: LandContext, { tree, conflicts }: Merge): Promise<string[]> {
  const paths = conflicts.map(({ path }) => path);
  const texts = await Promise.all(paths.map((path) => worktree.read(tree, path)));
  const isOurs = (path: string): boolean =>
    [DESIGNS, STATE].some(({ forbids }) => forbids({ path, kind: 'modified' }, new Set()));
  return paths.filter((path, at) => isProtected(path) || isOurs(path) || (texts[at] ?? '').includes('\0'));
}

/** `2026-01-31`, by the calendar of this machine. */
function today(clock: Clock): string {
  return localTime(new Date(clock.dateMs()).toISOString()).slice(0, 10);
}
