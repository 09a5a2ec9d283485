import { AgentosError } from '../core/errors.ts';
import { resolveDemand } from '../core/expected-cost.ts';
import { type ItemId, parseItemId } from '../core/ids.ts';
import { type Landing, landingOrder } from '../core/landing.ts';
import type { Plan, PlannedItem } from '../core/plan.ts';
import { isAncestor } from '../git/branches.ts';
import { createGit, type Git } from '../git/git.ts';
import { newestBase } from '../git/newest-base.ts';
import { readLldHashes } from '../source/known-work.ts';
import { type FinishedBranches, finishedBranches } from '../workflow/finished-branches.ts';
import type { Batch, ItemSetting, Pipeline } from './pipeline.ts';
import type { Project } from './project.ts';

/** Which branches are landed, and how. As it is recorded for `resume`. */
export interface LandRequest {
  ids: ItemId[] | 'all';
  /** Conflicts go to the implementer. */
  resolve: boolean;
  /** The remote's default branch is fetched first. */
  fetch: boolean;
}

interface LandingPlan {
  landing: Landing;
  notes: string[];
}

const LONGEST_ID = 64;

/**
 * `agentos land`: one item, named after the branch that it is meant for. So two landings on one branch come one after another,
 * and a landing resumes from what an earlier one left, whichever branches that one was for.
 */
export function landBatch(request: LandRequest): Batch {
  let planned: Promise<LandingPlan> | null = null;
  let setting: ItemSetting | undefined;
  const roles: Batch['roles'] = request.resolve ? ['implementer'] : [];
  return {
    workflow: 'land',
    task: { builtIn: 'land' },
    roles,
    async collect(project) {
      planned ??= planLanding(project, request);
      const { landing } = await planned;
      const { branches, onto } = landing;
      setting = {
        config: project.config,
        roles,
        input: { landing },
        demand: (config) => resolveDemand(config, branches.length),
      };
      if (branches.length === 0) return [];
      const id = parseItemId(onto.replace(/[^a-zA-Z0-9_-]/g, '-').slice(0, LONGEST_ID));
      const title = `${branches.map((branch) => branch.id).join(', ')} onto ${onto}`;
      return [{ id, title, state: 'pending', error: null, chars: 0 }];
    },
    settingOf: () => setting,
    obstacles: async () => (await planned)?.notes ?? [],
    demand: (config) => resolveDemand(config, 1),
    done: { reason: 'landed already', outputs: async () => [] },
    nothingToDo: 'no finished branch waits to be merged',
  };
}

/** The landing that the items of a pipeline are, if they are one. */
export function landingOf({ stages: [stage] }: Pipeline, id: ItemId): Landing | null {
  return stage.settingOf?.(id)?.input?.landing ?? null;
}

async function planLanding({ paths, childEnv }: Project, request: LandRequest): Promise<LandingPlan> {
  const git = createGit(paths.repository, childEnv);
  const { name: onto, commit: base, notes } = await newestBase(git, request);
  const found = await finishedBranches(git, paths, { ids: request.ids, base });
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
        ? `${branch.id} is left out: ${branch.branch} is for an earlier version of its LLD. agentos implement ${branch.id} builds the new one.`
        : `${branch.branch} is for an earlier version of the LLD of ${branch.id}.`,
    );
  const chosen = found.branches.filter((branch) => request.ids !== 'all' || !isOutdated(branch));
  if (request.ids !== 'all') notes.push(...(await broughtAlong(git, paths, chosen, base)));
  const branches = landingOrder(chosen);
  const { resolve } = request;
  return { landing: { onto, base, branches, merged: request.ids === 'all' ? [] : merged, resolve }, notes };
}

/** Branches that were not named, and come with one that was begun at them. */
async function broughtAlong(
  git: Git,
  paths: Project['paths'],
  chosen: FinishedBranches['branches'],
  base: string,
): Promise<string[]> {
  const named = new Set(chosen.map(({ id }) => id));
  const notes: string[] = [];
  for (const other of (await finishedBranches(git, paths, { ids: 'all', base })).branches) {
    if (named.has(other.id)) continue;
    for (const { id, commit } of chosen)
      if (await isAncestor(git, other.commit, commit))
        notes.push(`${id} was begun at ${other.branch}: ${other.id} comes with it.`);
  }
  return notes;
}

/** For people the branches of a landing are its items. */
export function shownPlan(plan: Plan, pipeline: Pipeline): Plan {
  const [item] = plan.items;
  const landing = item === undefined ? null : landingOf(pipeline, item.id);
  if (item === undefined || landing === null) return plan;
  const { branches, merged, onto, base } = landing;
  const items = [
    ...branches.map(
      ({ id, title, files, after }): PlannedItem => ({ ...item, id: parseItemId(id), title, files, after }),
    ),
    ...merged.map((id): PlannedItem => ({ ...item, id: parseItemId(id), title: `in ${onto} already`, state: 'done' })),
  ];
  return {
    ...plan,
    items,
    notes: [`They are merged in this order onto ${onto}, at ${base.slice(0, 12)}.`, ...plan.notes],
  };
}
