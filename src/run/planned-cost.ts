import type { Config, Role } from '../core/config.ts';
import { type AgentName, isAgent, keyVendorOf, parseModelSpec, vendorOf } from '../core/model-spec.ts';
import { costUsd, dearestPrice, NO_USAGE, priceOf, sumUsd, type Usage } from '../core/money.ts';
import type { PlannedCost } from '../core/plan.ts';
import { openCommit } from '../git/repository.ts';
import { type Batch, type CollectedItem, type ModelUse, settingOf } from './pipeline.ts';
import type { Project } from './project.ts';

/** Calls of one role for one item, all of the same size. */
interface Calls {
  role: Role;
  calls: number;
  each: Usage;
}

/** The calls of a workflow for one item: usually, and at most. */
export interface Demand {
  usual: Calls[];
  most: Calls[];
}

const CHARS_PER_TOKEN = 4;
/** The longest reply that our requests allow. */
const LONGEST_REPLY_TOKENS = 64_000;
/** Of a conversation with tools. */
const LONGEST_PROMPT_TOKENS = 200_000;

function tokens(inputTokens: number, outputTokens: number, cacheReadTokens = 0): Usage {
  return { ...NO_USAGE, inputTokens, outputTokens, cacheReadTokens };
}

/**
 * For a reviewed document. At most: a draft, then two repairs, two reviews and two revisions per round, each with all calls that a
 * model may make to explore the repository; each retry may pay for one more call.
 */
export function documentDemand({ bounds, context, explore }: Config, chars: number, contextTokens: number): Demand {
  const subject = Math.ceil(chars / CHARS_PER_TOKEN);
  const explored = explore === null ? 0 : LONGEST_PROMPT_TOKENS;
  const longest = tokens(subject + context.maxTokens + explored + 2 * LONGEST_REPLY_TOKENS, LONGEST_REPLY_TOKENS);
  const rounds = explore?.maxRounds ?? 1;
  return {
    usual: [
      { role: 'drafter', calls: 1.5, each: tokens(subject + contextTokens + 4_000, 5_000) },
      { role: 'reviewer', calls: 1.5, each: tokens(subject + contextTokens + 8_000, 2_000) },
    ],
    most: [
      { role: 'drafter', calls: (1 + bounds.maxRounds * 4) * rounds + bounds.maxRetries, each: longest },
      { role: 'reviewer', calls: bounds.maxRounds * 2 * rounds, each: longest },
    ],
  };
}

/**
 * For a tested branch. At most: tests, code and each revision take all rounds, each with all calls of the agent; then the reviews.
 */
export function implementDemand({ bounds, implement, explore }: Config, chars: number, contextTokens: number): Demand {
  const subject = Math.ceil(chars / CHARS_PER_TOKEN);
  const { maxRounds, maxRetries } = bounds;
  const longest = tokens(LONGEST_PROMPT_TOKENS, LONGEST_REPLY_TOKENS);
  const seen = subject + contextTokens + 15_000;
  const calls = (1 + maxRounds) * maxRounds * implement.maxAgentRounds + maxRetries;
  return {
    usual: [
      // Most of what a call of the agent sends is cached.
      { role: 'implementer', calls: 20, each: tokens(seen, 1_000, 0.8 * seen) },
      { role: 'reviewer', calls: 1.5, each: tokens(subject + 8_000, 2_000) },
    ],
    most: [
      { role: 'implementer', calls, each: longest },
      { role: 'reviewer', calls: maxRounds * 2 * (explore?.maxRounds ?? 1), each: longest },
    ],
  };
}

/** For a landing with --resolve. Usually one branch is in conflict; at most all are. */
export function resolveDemand({ bounds, implement }: Config, branches: number): Demand {
  const calls = branches * bounds.maxRounds * implement.maxAgentRounds + bounds.maxRetries;
  return {
    usual: [{ role: 'implementer', calls: 10, each: tokens(25_000, 1_000, 20_000) }],
    most: [{ role: 'implementer', calls, each: tokens(LONGEST_PROMPT_TOKENS, LONGEST_REPLY_TOKENS) }],
  };
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

/** Null: no price of the vendor is known, so no limit can be enforced. */
export function mostCostUsd({ role, calls, each }: Calls, config: Config): number | null {
  if (meteringOf(role, config) !== 'metered') return 0;
  const spec = parseModelSpec(config.models[role]);
  const vendor = vendorOf(spec);
  // The model of an agent is only known when it calls.
  const known = isAgent(spec) ? null : priceOf(spec.text, config.prices);
  const price = known ?? (vendor === null ? null : dearestPrice(vendor, config.prices));
  return price === null ? null : calls * costUsd({ ...each, cacheWriteTokens: each.inputTokens }, price);
}

/** An item with all stages that are ahead of it. */
interface PricedItem {
  item: Pick<CollectedItem, 'id' | 'chars'>;
  ahead: readonly Batch[];
}

/** The estimate has to read past runs, so it is made only if it is shown. */
export async function plannedCost(
  project: Project,
  items: readonly PricedItem[],
  uses: readonly ModelUse[],
  isEstimated: boolean,
): Promise<PlannedCost> {
  const models = uses.flatMap(({ roles, config }) =>
    roles.map((role) => ({ kind: meteringOf(role, config), model: config.models[role] })),
  );
  const unmetered = [...new Set(models.filter(({ kind }) => kind === 'unmetered').map(({ model }) => model))];
  if (models.every(({ kind }) => kind !== 'metered')) {
    const usd = unmetered.length > 0 ? null : 0;
    return { costCeilingUsd: usd, costCeilingBy: null, unmetered, estimateUsd: isEstimated ? usd : null, pastItems: 0 };
  }
  const ceiling = { ...costCeiling(project.config, items), unmetered };
  if (!isEstimated) return { ...ceiling, estimateUsd: null, pastItems: 0 };
  const { estimateUsd, pastItems } = await costEstimate(project, items);
  const mostUsd = ceiling.costCeilingUsd ?? Number.POSITIVE_INFINITY;
  return { ...ceiling, pastItems, estimateUsd: estimateUsd === null ? null : Math.min(estimateUsd, mostUsd) };
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
  const contextTokens = await contextSize(project);
  let pastItems = 0;
  let totalUsd = 0;
  for (const { item, ahead } of items) {
    let itemUsd = ahead[0] === undefined ? 0 : -past.begunUsd(ahead[0].workflow, item.id);
    for (const stage of ahead) {
      const { config: own, roles, demand } = settingOf(stage, item.id, config);
      const { usual } = demand(own, item.chars ?? 0, contextTokens);
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
