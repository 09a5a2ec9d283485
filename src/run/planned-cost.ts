import type { Config, Role } from '../core/config.ts';
import { meteringOf, mostCostUsd, usualCostUsd } from '../core/expected-cost.ts';
import type { PlannedCost } from '../core/plan.ts';
import { createGit } from '../git/git.ts';
import { openCommit } from '../git/repository.ts';
import type { Batch, Cast, CollectedItem } from './pipeline.ts';
import type { Project } from './project.ts';

/** An item that is to be worked on, with all the stages that are ahead of it. */
export interface PricedItem {
  item: CollectedItem;
  ahead: readonly Batch[];
}

const BYTES_PER_TOKEN = 4;

/** What an item runs with in a stage. */
function settingOf(stage: Batch, { id }: CollectedItem, config: Config): Cast & Pick<Batch, 'demand'> {
  const { roles, demand } = stage;
  return { config, roles, demand, ...stage.settingOf?.(id) };
}

/** The estimate takes reading, so it is made only where it is shown. */
export async function plannedCost(
  project: Project,
  items: readonly PricedItem[],
  casts: readonly Cast[],
  isEstimated: boolean,
): Promise<PlannedCost> {
  const { config } = project;
  const played = casts.flatMap((cast) =>
    cast.roles.map((role) => ({ kind: meteringOf(role, cast.config), model: cast.config.models[role] })),
  );
  const unmetered = [...new Set(played.filter(({ kind }) => kind === 'unmetered').map(({ model }) => model))];
  if (played.every(({ kind }) => kind !== 'metered')) {
    const usd = unmetered.length > 0 ? null : 0;
    return { costCeilingUsd: usd, costCeilingBy: null, unmetered, estimateUsd: isEstimated ? usd : null, pastItems: 0 };
  }
  const ceiling = { ...costCeiling(config, items), unmetered };
  if (!isEstimated) return { ...ceiling, estimateUsd: null, pastItems: 0 };
  const { estimateUsd, pastItems } = await costEstimate(project, items);
  const mostUsd = ceiling.costCeilingUsd ?? Number.POSITIVE_INFINITY;
  return { ...ceiling, pastItems, estimateUsd: estimateUsd === null ? null : Math.min(estimateUsd, mostUsd) };
}

/** The most that the items can cost: what the limits enforce, or less where so many calls can't cost as much. */
function costCeiling(
  config: Config,
  items: readonly PricedItem[],
): Pick<PlannedCost, 'costCeilingUsd' | 'costCeilingBy'> {
  const { maxCostUsd, maxCostPerItemUsd } = config.bounds;
  let totalUsd = 0;
  let isBounded = false;
  for (const { item, ahead } of items) {
    const itemUsd = sumOf(
      ahead.flatMap((stage) => {
        const { config: own, demand } = settingOf(stage, item, config);
        return demand(own, item.chars, config.context.maxTokens).most.map((calls) => mostCostUsd(calls, own));
      }),
    );
    if (itemUsd === null) return { costCeilingUsd: null, costCeilingBy: null };
    isBounded ||= itemUsd > maxCostPerItemUsd;
    totalUsd += Math.min(itemUsd, maxCostPerItemUsd);
  }
  if (maxCostUsd !== null && totalUsd > maxCostUsd) return { costCeilingUsd: maxCostUsd, costCeilingBy: '--max-cost' };
  return { costCeilingUsd: totalUsd, costCeilingBy: isBounded ? '--max-cost-per-item' : null };
}

/**
 * What the items will probably cost: by what others of this repository did with the same models in the same roles, else
 * by the size of what is sent. Null where a price is missing.
 */
async function costEstimate(
  project: Project,
  items: readonly PricedItem[],
): Promise<Pick<PlannedCost, 'estimateUsd' | 'pastItems'>> {
  const { config, paths } = project;
  const { readPastCosts } = await import('./past-costs.ts');
  const past = await readPastCosts(paths, config.prices);
  let contextTokens: number | null = null;
  const bySize = async (
    { config: own, demand }: ReturnType<typeof settingOf>,
    role: Role,
    { chars }: CollectedItem,
  ): Promise<number | null> => {
    if (meteringOf(role, own) !== 'metered') return 0;
    contextTokens ??= await contextSize(project);
    const { usual } = demand(own, chars, contextTokens);
    return sumOf(usual.filter((calls) => calls.role === role).map((calls) => usualCostUsd(calls, own)));
  };
  let pastItems = 0;
  let totalUsd = 0;
  for (const { item, ahead } of items) {
    let itemUsd = ahead[0] === undefined ? 0 : -past.begunUsd(ahead[0].workflow, item.id);
    for (const stage of ahead) {
      const setting = settingOf(stage, item, config);
      for (const role of setting.roles) {
        const known = past.usual(stage.workflow, role, setting.config.models[role]);
        pastItems = Math.max(pastItems, known?.items ?? 0);
        const usd = known?.usd ?? (await bySize(setting, role, item));
        if (usd === null) return { estimateUsd: null, pastItems: 0 };
        itemUsd += usd;
      }
    }
    totalUsd += Math.max(0, itemUsd);
  }
  return { estimateUsd: totalUsd, pastItems };
}

/** What a model is shown of the repository is bounded, and a small one has less. */
async function contextSize({ config, paths, childEnv }: Project): Promise<number> {
  const commit = await openCommit(createGit(paths.repository, childEnv), 'HEAD');
  const bytes = commit.paths.reduce((sum, path) => sum + (commit.sizeOf(path) ?? 0), 0);
  return Math.min(config.context.maxTokens, Math.ceil(bytes / BYTES_PER_TOKEN));
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}
