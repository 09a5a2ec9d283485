import type { Role } from '../core/config.ts';
import { meteringOf, mostCostUsd, usualCostUsd } from '../core/expected-cost.ts';
import type { PlannedCost } from '../core/plan.ts';
import { createGit } from '../git/git.ts';
import { openCommit } from '../git/repository.ts';
import type { PastCosts } from './past-costs.ts';
import { type Batch, type CollectedItem, rolesOf } from './pipeline.ts';
import type { Project } from './project.ts';

/** An item that is to be worked on, with all the stages that are ahead of it. */
interface PricedItem {
  item: CollectedItem;
  ahead: readonly Batch[];
}

const BYTES_PER_TOKEN = 4;

/** The estimate takes reading, so it is made only where it is shown. */
export async function plannedCost(
  project: Project,
  items: readonly PricedItem[],
  isEstimated: boolean,
): Promise<PlannedCost> {
  const ceiling = costCeiling(project, items);
  if (!isEstimated) return { ...ceiling, estimateUsd: null, pastItems: 0 };
  const { estimateUsd, pastItems } = await costEstimate(project, items);
  const mostUsd = ceiling.costCeilingUsd ?? Number.POSITIVE_INFINITY;
  return { ...ceiling, pastItems, estimateUsd: estimateUsd === null ? null : Math.min(estimateUsd, mostUsd) };
}

/** The most that the items can cost: what the limits enforce, or less where so many calls can't cost as much. */
function costCeiling(
  { config }: Project,
  items: readonly PricedItem[],
): Pick<PlannedCost, 'costCeilingUsd' | 'costCeilingBy'> {
  const { maxCostUsd, maxCostPerItemUsd } = config.bounds;
  const metering = new Set(rolesOf(items.flatMap(({ ahead }) => ahead)).map((role) => meteringOf(role, config)));
  if (!metering.has('metered')) {
    return { costCeilingUsd: metering.has('unmetered') ? null : 0, costCeilingBy: null };
  }
  let totalUsd = 0;
  let isBounded = false;
  for (const { item, ahead } of items) {
    const most = ahead.flatMap((stage) => stage.demand(config, item.chars, config.context.maxTokens).most);
    const itemUsd = sumOf(most.map((calls) => mostCostUsd(calls, config)));
    if (itemUsd === null) return { costCeilingUsd: null, costCeilingBy: null };
    isBounded ||= itemUsd > maxCostPerItemUsd;
    totalUsd += Math.min(itemUsd, maxCostPerItemUsd);
  }
  if (maxCostUsd !== null && totalUsd > maxCostUsd) return { costCeilingUsd: maxCostUsd, costCeilingBy: '--max-cost' };
  return { costCeilingUsd: totalUsd, costCeilingBy: isBounded ? '--max-cost-per-item' : null };
}

/**
 * What the items will probably cost: by what others of this repository did with the same models in the same roles, else
 * by the size of what is sent. Null where a price is missing, or where only commands take part.
 */
async function costEstimate(
  project: Project,
  items: readonly PricedItem[],
): Promise<Pick<PlannedCost, 'estimateUsd' | 'pastItems'>> {
  const { config, paths } = project;
  const unknown = { estimateUsd: null, pastItems: 0 };
  const metering = new Set(rolesOf(items.flatMap(({ ahead }) => ahead)).map((role) => meteringOf(role, config)));
  if (!metering.has('metered')) return metering.has('unmetered') ? unknown : { ...unknown, estimateUsd: 0 };
  const { readPastCosts } = await import('./past-costs.ts');
  const past = await readPastCosts(paths, config.prices);
  const contextTokens = once(() => contextSize(project));
  const bySize = async (stage: Batch, role: Role, { chars }: CollectedItem): Promise<number | null> => {
    if (meteringOf(role, config) !== 'metered') return 0;
    const { usual } = stage.demand(config, chars, await contextTokens());
    return sumOf(usual.filter((calls) => calls.role === role).map((calls) => usualCostUsd(calls, config)));
  };
  const seen = new Set<number>();
  let totalUsd = 0;
  for (const { item, ahead } of items) {
    let itemUsd = -begunUsd(past, item, ahead);
    for (const stage of ahead) {
      for (const role of stage.roles) {
        const known = past.usual(stage.workflow, role, config.models[role]);
        if (known !== null) seen.add(known.items);
        const usd = known?.usd ?? (await bySize(stage, role, item));
        if (usd === null) return unknown;
        itemUsd += usd;
      }
    }
    totalUsd += Math.max(0, itemUsd);
  }
  return { estimateUsd: totalUsd, pastItems: Math.max(0, ...seen) };
}

function begunUsd(past: PastCosts, { id }: CollectedItem, [stage]: readonly Batch[]): number {
  return stage === undefined ? 0 : past.begunUsd(stage.workflow, id);
}

/** What a model is shown of the repository is bounded, and a small one has less. */
async function contextSize({ config, paths, childEnv }: Project): Promise<number> {
  const commit = await openCommit(createGit(paths.repository, childEnv), 'HEAD');
  const bytes = commit.paths.reduce((sum, path) => sum + (commit.sizeOf(path) ?? 0), 0);
  return Math.min(config.context.maxTokens, Math.ceil(bytes / BYTES_PER_TOKEN));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}
