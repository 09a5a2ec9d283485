import type { Config } from '../core/config.ts';
import { meteringOf, mostCostUsd, usualCostUsd } from '../core/expected-cost.ts';
import { priceOf, sumUsd } from '../core/money.ts';
import type { PlannedCost } from '../core/plan.ts';
import { openCommit } from '../git/repository.ts';
import { type Batch, type CollectedItem, settingOf } from './pipeline.ts';
import type { ModelUse } from './prepare-run.ts';
import type { Project } from './project.ts';

/** An item with all stages that are ahead of it. */
interface PricedItem {
  item: CollectedItem;
  ahead: readonly Batch[];
}

const BYTES_PER_TOKEN = 4;

/** The estimate has to read past runs, so it is made only if it is shown. */
export async function plannedCost(
  project: Project,
  items: readonly PricedItem[],
  uses: readonly ModelUse[],
  isEstimated: boolean,
): Promise<PlannedCost> {
  const { config } = project;
  const models = uses.flatMap((use) =>
    use.roles.map((role) => ({ kind: meteringOf(role, use.config), model: use.config.models[role] })),
  );
  const unmetered = [...new Set(models.filter(({ kind }) => kind === 'unmetered').map(({ model }) => model))];
  if (models.every(({ kind }) => kind !== 'metered')) {
    const usd = unmetered.length > 0 ? null : 0;
    return { costCeilingUsd: usd, costCeilingBy: null, unmetered, estimateUsd: isEstimated ? usd : null, pastItems: 0 };
  }
  const ceiling = { ...costCeiling(config, items), unmetered };
  if (!isEstimated) return { ...ceiling, estimateUsd: null, pastItems: 0 };
  const { estimateUsd, pastItems } = await costEstimate(project, items);
  const mostUsd = ceiling.costCeilingUsd ?? Number.POSITIVE_INFINITY;
  return { ...ceiling, pastItems, estimateUsd: estimateUsd === null ? null : Math.min(estimateUsd, mostUsd) };
}

/** Models that the configuration counts below their list price: every limit on money counts so. */
export function priceNotes(uses: readonly ModelUse[]): string[] {
  const notes = uses.flatMap(({ roles, config }) =>
    roles.flatMap((role) => {
      const model = config.models[role];
      const [set, listed] = [priceOf(model, config.prices), priceOf(model, {})];
      const isLower = set !== null && listed !== null && (set.input < listed.input || set.output < listed.output);
      const counted = `$${set?.input} and $${set?.output} per million tokens of input and output`;
      const usual = `$${listed?.input} and $${listed?.output}`;
      return isLower ? [`The configuration counts ${model} at ${counted}, its list price is ${usual}.`] : [];
    }),
  );
  return [...new Set(notes)];
}

/** The most that the items can cost: the limits, or less if all their calls together can't reach them. */
function costCeiling(
  config: Config,
  items: readonly PricedItem[],
): Pick<PlannedCost, 'costCeilingUsd' | 'costCeilingBy'> {
  const { maxCostUsd, maxCostPerItemUsd } = config.bounds;
  let totalUsd = 0;
  let isBounded = false;
  for (const { item, ahead } of items) {
    const itemUsd = sumUsd(
      ...ahead.flatMap((stage) => {
        const { config: own, demand } = settingOf(stage, item.id, config);
        return demand(own, item.chars ?? 0, config.context.maxTokens).most.map((calls) => mostCostUsd(calls, own));
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
 * What the items will probably cost: the average of past items of this repository with the same model in the same role, else
 * computed from the size of the prompts. Null if a price is missing.
 */
async function costEstimate(
  project: Project,
  items: readonly PricedItem[],
): Promise<Pick<PlannedCost, 'estimateUsd' | 'pastItems'>> {
  const { config, paths } = project;
  const { readPastCosts } = await import('./history/past-costs.ts');
  const past = await readPastCosts(paths, config.prices);
  let contextTokens: number | null = null;
  let pastItems = 0;
  let totalUsd = 0;
  for (const { item, ahead } of items) {
    let itemUsd = ahead[0] === undefined ? 0 : -past.begunUsd(ahead[0].workflow, item.id);
    for (const stage of ahead) {
      const { config: own, roles, demand } = settingOf(stage, item.id, config);
      for (const role of roles) {
        const known = past.usual(stage.workflow, role, own.models[role]);
        pastItems = Math.max(pastItems, known?.items ?? 0);
        if (known === null && meteringOf(role, own) !== 'metered') continue;
        let usd = known?.usd ?? null;
        if (known === null) {
          contextTokens ??= await contextSize(project);
          const calls = demand(own, item.chars ?? 0, contextTokens).usual.filter((one) => one.role === role);
          usd = sumUsd(...calls.map((one) => usualCostUsd(one, own)));
        }
        if (usd === null) return { estimateUsd: null, pastItems: 0 };
        itemUsd += usd;
      }
    }
    totalUsd += Math.max(0, itemUsd);
  }
  return { estimateUsd: totalUsd, pastItems };
}

/** How much of the repository models are shown: up to a bound, or all of a small one. */
async function contextSize({ config, git }: Project): Promise<number> {
  const commit = await openCommit(git, 'HEAD');
  const bytes = commit.paths.reduce((sum, path) => sum + (commit.sizeOf(path) ?? 0), 0);
  return Math.min(config.context.maxTokens, Math.ceil(bytes / BYTES_PER_TOKEN));
}
