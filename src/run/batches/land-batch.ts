import { AgentosError } from '../../core/errors.ts';
import { LONGEST_ID, parseItemId } from '../../core/ids.ts';
import { type Landing, landingOrder } from '../../core/landing.ts';
import type { Plan, PlannedItem } from '../../core/plan.ts';
import type { ItemState } from '../../core/run-state.ts';
import { partSummary, type Summary, summaryOf } from '../../core/summary.ts';
import { isAncestor } from '../../git/branches.ts';
import { newestBase } from '../../git/merge.ts';
import { readLldHashes } from '../../source/directory.ts';
import { type FinishedBranches, finishedBranches } from '../../workflow/implementations.ts';
import type { RunRecord } from '../history/run-files.ts';
import type { Batch } from '../pipeline.ts';
import { resolveDemand } from '../planned-cost.ts';
import type { Project } from '../project.ts';

export type LandRequest = NonNullable<RunRecord['request']['landing']>;

interface LandingPlan {
  landing: Landing;
  notes: string[];
}

/**
 * `agentos land`: one item, named after the branch to land on. So the item's lock lets landings on one branch run one after another,
 * and a landing resumes from the checkpoint of an earlier one, even of other branches.
 */
export function landBatch(request: LandRequest): Batch {
  let planned: Promise<LandingPlan> | null = null;
  let found: Landing | null = null;
  const roles: Batch['roles'] = request.resolve ? ['implementer'] : [];
  return {
    workflow: 'land',
    roles,
    async collect(project) {
      planned ??= planLanding(project, request);
      const { branches, onto } = (found = (await planned).landing);
      if (branches.length === 0) return [];
      const id = parseItemId(onto.replace(/[^a-zA-Z0-9_-]/g, '-').slice(0, LONGEST_ID));
      const title = `${branches.map((branch) => branch.id).join(', ')} onto ${onto}`;
      return [{ id, title, state: 'pending' }];
    },
    settingOf: () => (found === null ? undefined : { input: { landing: found } }),
    notes: async () => (await planned)?.notes ?? [],
    demand: resolveDemand,
    done: { reason: 'landed already', outputs: async () => [] },
    nothingToDo: 'no finished branch waits to be merged',
    whole: {
      shown: (plan) => (found === null ? plan : withBranches(plan, found)),
      summary: ({ items: [item] }, { items }) => {
        const state = items.get(item?.id ?? '');
        return found === null || state === undefined ? {} : landingSummary(found, state);
      },
    },
  };
}

/** A plan with the branches of its landing as items. */
function withBranches(plan: Plan, { branches, merged, onto, base }: Landing): Plan {
  const items = plan.items.flatMap((item): PlannedItem[] => [
    ...branches.map(({ id, title, files, after }) => ({ ...item, id: parseItemId(id), title, files, after })),
    ...merged.map((id) => ({ ...item, id: parseItemId(id), title: `in ${onto} already`, state: 'done' as const })),
  ]);
  const order = `They are merged in this order onto ${onto}, at ${base.slice(0, 12)}.`;
  return { ...plan, items, notes: items.length === 0 ? plan.notes : [order, ...plan.notes] };
}

/** With an item for each branch. */
function landingSummary({ branches, merged, onto, base }: Landing, state: ItemState): Partial<Summary> {
  if (state.ends.length === 0) return {};
  const whole = summaryOf(state, { kept: null, question: null });
  const there = { ...whole, status: 'skipped' as const, reason: `in ${onto} already`, error: null, outputs: [] };
  const items = [
    ...branches.map((branch) => partSummary(whole, state, branch)),
    ...merged.map((id) => ({ ...there, id, title: '', steps: [], costUsd: 0 })),
  ];
  const branch = items.flatMap(({ outputs }) => outputs)[0] ?? null;
  const pullRequest = state.ends.at(-1)?.outputs.find((output) => /^https?:/.test(output)) ?? null;
  return { items, landing: { branch, onto, base, pullRequest } };
}

async function planLanding(project: Project, request: LandRequest): Promise<LandingPlan> {
  const { paths, git } = project;
  const { name: onto, commit: base, notes } = await newestBase(git, request);
  const found = await finishedBranches(project, { ids: request.ids, base });
  const { merged, missing } = found;
  const [absent] = missing;
  if (request.ids !== 'all' && absent !== undefined) throw new AgentosError({ code: 'branch-missing', id: absent });
  const approved = await readLldHashes(paths.llds);
  const isOutdated = ({ id, lldHash }: FinishedBranches['branches'][number]): boolean => {
    const now = approved.get(parseItemId(id)) ?? null;
    return now !== null && now !== lldHash;
  };
  for (const branch of found.branches.filter(isOutdated))
    notes.push(
      request.ids === 'all'
        ? `Skipping ${branch.id}: ${branch.branch} is for an earlier version of its LLD. agentos implement ${branch.id} builds the new one.`
        : `${branch.branch} is for an earlier version of the LLD of ${branch.id}.`,
    );
  const chosen = found.branches.filter((branch) => request.ids !== 'all' || !isOutdated(branch));
  if (request.ids !== 'all') notes.push(...(await broughtAlong(project, chosen, base)));
  const branches = landingOrder(chosen);
  const { resolve } = request;
  return { landing: { onto, base, branches, merged: request.ids === 'all' ? [] : merged, resolve }, notes };
}

/** A note for each branch that was not named, but is contained in one that was. */
async function broughtAlong(project: Project, chosen: FinishedBranches['branches'], base: string): Promise<string[]> {
  const named = new Set(chosen.map(({ id }) => id));
  const notes: string[] = [];
  for (const other of (await finishedBranches(project, { ids: 'all', base })).branches) {
    if (named.has(other.id)) continue;
    for (const { id, commit } of chosen)
      if (await isAncestor(project.git, other.commit, commit))
        notes.push(`${id} is based on ${other.branch}, so ${other.id} is landed with it.`);
  }
  return notes;
}
