import type { Clock } from '../core/clock.ts';
import { localTime } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import { parseItemId } from '../core/ids.ts';
import { type LandedBranch, type Landing, missingBelow } from '../core/landing.ts';
import { deleteBranch, makeLandBranch } from '../git/branches.ts';
import { readAt } from '../git/repository.ts';
import { provenTests } from '../verification/report-reader.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { filesForPeople } from './judging.ts';
import {
  breaks,
  type Combined,
  conflictText,
  createMerges,
  endOf,
  inConflictWith,
  type LandContext,
  type LandTests,
  mergeClean,
  openLandTests,
} from './land-merge.ts';
import { settleConflict, type Unsettled } from './land-resolve.ts';
import { openInWorktree, type WorktreeParts } from './worktree-item.ts';

/** What the worker provides for a landing. */
interface LandParts extends WorktreeParts {
  landing: Landing;
}

/**
 * Combines several finished branches into one: merged in order, tested together, without those that break something. Every
 * merge, run of the tests and call of the implementer is a durable step, keyed by what it depends on: a landing that is
 * started again, also after the base has moved, repeats only what is different.
 */
export async function runLand(item: ItemContext, parts: LandParts): Promise<ItemResult> {
  const context = await openLanding(item, parts);
  const { git, worktree, emit } = context;
  const tests = await openLandTests(context);
  const { state, ends, unsettled } = await combine(context, tests);
  const branch = state.branches.length === 0 ? null : await makeLandBranch(git, state.commit, localDate(item.clock));
  const all = context.branches.map((one) => ({
    branch: one.branch,
    ...(ends.get(one.id) ?? endOf(one.id, 'succeeded')),
  }));
  for (const end of all) {
    const outputs = branch !== null && end.status === 'succeeded' ? [branch] : [];
    emit({ type: 'branch-landed', ...end, outputs });
  }
  const [left] = unsettled;
  if (left === undefined) {
    await worktree.remove();
    await deleteBranch(git, worktree.branch);
  } else {
    // For a person: git status shows what the implementer changed.
    await worktree.setBranch(left.ours.commit);
    await worktree.restore(left.tree);
  }
  return resultOf(
    branch,
    all.filter(({ status }) => status !== 'succeeded'),
  );
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
  const { base } = landing;
  const reports = await readAt(
    git,
    landing.branches.map(({ id, commit }) => ({ ref: commit, path: item.paths.report(parseItemId(id)) })),
  );
  const branches = landing.branches.map((branch, at) => ({ ...branch, proven: provenTests(reports[at] ?? '') }));
  // The branch of the worktree; that of the landing is made in the end.
  const branch = `agentos/landing-${item.id}`;
  const files = landing.branches.flatMap((each) => each.files);
  const opened = await openInWorktree(item, parts, { base, branch, isUntouched: true, files });
  return { ...opened, branches };
}

interface Ended {
  state: Combined;
  /** The ends of all branches that did not simply merge. */
  ends: Map<string, LandedBranch>;
  unsettled: Unsettled[];
}

/** First all that git can merge by itself; then, one at a time, the branches in conflict and those that build on them. */
async function combine(context: LandContext, tests: LandTests | null): Promise<Ended> {
  const { branches, landing } = context;
  const merge = createMerges(context);
  const { state: clean, out: ends } = await mergeClean(context, tests, merge);
  const unsettled: Unsettled[] = [];
  let state = clean;
  const isIn = (id: string): boolean => state.branches.some((one) => one.id === id);
  for (const branch of branches) {
    const { id } = branch;
    if (isIn(id) || ends.has(id)) continue;
    const missing = missingBelow(branch, isIn);
    if (missing !== null) {
      ends.set(id, endOf(id, 'cancelled', `builds on ${missing}, which is out`));
      continue;
    }
    const merged = await merge(state, branch);
    if ('refused' in merged) {
      ends.set(id, endOf(id, 'discuss', merged.refused));
    } else if ('state' in merged) {
      const broken = (await tests?.confirmed(merged.state)) ?? [];
      const problems = broken.map(({ text }) => text);
      if (problems.length > 0) ends.set(id, breaks(context, branch, state.branches, problems));
      else ({ state } = merged);
    } else {
      const { conflict } = merged;
      const why = conflictText(landing.onto, inConflictWith(state, conflict, branch), conflict);
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
      const settled = await settleConflict(context, tests, { ours: state, branch, merge: conflict });
      if ('out' in settled) {
        ends.set(id, settled.out);
        unsettled.push(settled);
      } else {
        ({ state } = settled);
        ends.set(id, endOf(id, 'succeeded', `${why}, settled by the implementer`));
      }
    }
  }
  return { state, ends, unsettled };
}

/** `2026-01-31` */
function localDate(clock: Clock): string {
  return localTime(new Date(clock.dateMs()).toISOString()).slice(0, 10);
}
