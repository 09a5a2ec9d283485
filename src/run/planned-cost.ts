import type { Config, Role } from '../core/config.ts';
import { type AgentName, isAgent, keyVendorOf, parseModelSpec, vendorOf } from '../core/model-spec.ts';
import { costUsd, dearestPrice, NO_USAGE, priceOf, sumUsd, type Usage } from '../core/money.ts';
import type { PlannedCost } from '../core/plan.ts';
import { openCommit } from '../git/repository.ts';
import { type Batch, type CollectedItem, type ModelUse, settingOf } from './pipeline.ts';
import type { Project } from './project.ts';

/** The usual calls of one role for one item, all of the same size. */
export interface Calls {
  role: Role;
  calls: number;
  each: Usage;
}

const CHARS_PER_TOKEN = 4;

function tokens(inputTokens: number, outputTokens: number, cacheReadTokens = 0): Usage {
  return { ...NO_USAGE, inputTokens, outputTokens, cacheReadTokens };
}

/** For a reviewed document. */
export function documentDemand(chars: number, contextTokens: number): Calls[] {
  const shown = Math.ceil(chars / CHARS_PER_TOKEN) + contextTokens;
  return [
    { role: 'drafter', calls: 1.5, each: tokens(shown + 4_000, 5_000) },
    { role: 'reviewer', calls: 1.5, each: tokens(shown + 8_000, 2_000) },
  ];
}

/** For a tested branch. */
export function implementDemand(chars: number, contextTokens: number): Calls[] {
  const subject = Math.ceil(chars / CHARS_PER_TOKEN);
  const seen = subject + contextTokens + 15_000;
  return [
    // Most of what a call of the agent sends is cached.
    { role: 'implementer', calls: 20, each: tokens(seen, 1_000, 0.8 * seen) },
    { role: 'reviewer', calls: 1.5, each: tokens(subject + 8_000, 2_000) },
  ];
}

/** For a landing with --resolve, in which usually one branch is in conflict. */
export function resolveDemand(): Calls[] {
  return [{ role: 'implementer', calls: 10, each: tokens(25_000, 1_000, 20_000) }];
}

/** unmetered: its cost is never known; metered: its calls pass the gateway. */
function meteringOf(role: Role, { models, ownLogins }: Config): 'free' | 'unmetered' | 'metered' {
  const spec = parseModelSpec(models[role]);
  if (spec.provider === 'command' || (isAgent(spec) && keyVendorOf(spec, ownLogins) === null)) return 'unmetered';
  return spec.provider === 'offline' ? 'free' : 'metered';
}

/** The default model of each agent; it changes with the agent's versions. */
const AGENT_DEFAULTS: Partial<Record<AgentName, string>> = {
  'claude-code': 'anthropic:claude-opus-5-5',
  codex: 'openai:gpt-6.1-sol',
  'gemini-cli': 'google:gemini-3.1-pro-preview',
  opencode: 'anthropic:claude-sonnet-5-5',
};

/** Null: the price of the role's model is unknown. */
export function usualCostUsd({ role, calls, each }: Calls, config: Config): number | null {
  if (meteringOf(role, config) !== 'metered') return 0;
  const spec = parseModelSpec(config.models[role]);
  const byDefault = isAgent(spec) && spec.model === null ? AGENT_DEFAULTS[spec.provider] : undefined;
  const named = isAgent(spec) && spec.model !== null ? `${vendorOf(spec)}:${spec.model}` : spec.text;
  const price = priceOf(byDefault ?? named, config.prices);
  return price === null ? null : calls * costUsd(each, price);
}

/** Whether a limit can be enforced. Of an agent, the model is only known when it calls. */
function hasBound(role: Role, { models, prices }: Config): boolean {
  const spec = parseModelSpec(models[role]);
  const vendor = vendorOf(spec);
  return priceOf(spec.text, prices) !== null || (vendor !== null && dearestPrice(vendor, prices) !== null);
}

/** An item with all stages that are ahead of it. */
interface PricedItem {
  item: Pick<CollectedItem, 'id' | 'chars'>;
  ahead: readonly Batch[];
}

/** Of a plan that is not shown. */
export const NOT_COUNTED: PlannedCost = {
  estimateUsd: null,
  pastItems: 0,
  costCeilingUsd: null,
  costCeilingBy: null,
  unmetered: [],
};

/** What the items will probably cost, and the most that the limits allow. */
export async function plannedCost(
  project: Project,
  items: readonly PricedItem[],
  uses: readonly ModelUse[],
): Promise<PlannedCost> {
  const { bounds } = project.config;
  const played = uses.flatMap(({ roles, config }) =>
    roles.map((role) => ({
      kind: meteringOf(role, config),
      model: config.models[role],
      isBound: hasBound(role, config),
    })),
  );
  const metered = played.filter(({ kind }) => kind === 'metered');
  const unmetered = [...new Set(played.filter(({ kind }) => kind === 'unmetered').map(({ model }) => model))];
  if (metered.length === 0)
    return unmetered.length > 0 ? { ...NOT_COUNTED, unmetered } : { ...NOT_COUNTED, costCeilingUsd: 0, estimateUsd: 0 };
  const { estimateUsd, pastItems } = await costEstimate(project, items);
  const known = { ...NOT_COUNTED, unmetered, pastItems, estimateUsd };
  if (metered.some(({ isBound }) => !isBound)) return known;
  const ofItemsUsd = items.length * bounds.maxCostPerItemUsd;
  const costCeilingUsd = Math.min(ofItemsUsd, bounds.maxCostUsd ?? ofItemsUsd);
  const costCeilingBy = costCeilingUsd < ofItemsUsd ? '--max-cost' : '--max-cost-per-item';
  const leastUsd = estimateUsd === null ? null : Math.min(estimateUsd, costCeilingUsd);
  return { ...known, estimateUsd: leastUsd, costCeilingUsd, costCeilingBy };
}

/**
 * The average of past items of this repository with the same model in the same role, else computed from the size of the prompts. Null
 * if a price is missing.
 */
async function costEstimate(
  project: Project,
  items: readonly PricedItem[],
): Promise<Pick<PlannedCost, 'estimateUsd' | 'pastItems'>> {
  const { config, paths } = project;
  const { readPastCosts } = await import('./history/past-costs.ts');
  const past = await readPastCosts(paths, config.prices);
  const contextTokens = await contextSize(project);
  let pastItems = 0;
  let totalUsd = 0;
  for (const { item, ahead } of items) {
    let itemUsd = ahead[0] === undefined ? 0 : -past.begunUsd(ahead[0].workflow, item.id);
    for (const stage of ahead) {
      const { config: own, roles } = settingOf(stage, item.id, config);
      const usual = stage.demand(item.chars ?? 0, contextTokens);
      for (const role of roles) {
        const known = past.usual(stage.workflow, role, own.models[role]);
        pastItems = Math.max(pastItems, known?.items ?? 0);
        const calls = usual.filter((one) => one.role === role);
        const usd = known?.usd ?? sumUsd(...calls.map((one) => usualCostUsd(one, own)));
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
  return Math.min(config.context.maxTokens, Math.ceil(bytes / CHARS_PER_TOKEN));
}
