import type { Config, Role } from './config.ts';
import { type AgentName, isAgent, keyVendorOf, parseModelSpec, vendorOf } from './model-spec.ts';
import { costUsd, dearestPrice, NO_USAGE, type Price, priceOf, type Usage } from './money.ts';

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
  return {
    usual: [
      // Most of what a call of the agent sends is cached.
      { role: 'implementer', calls: 20, each: tokens(seen, 1_000, 0.8 * seen) },
      { role: 'reviewer', calls: 1.5, each: tokens(subject + 8_000, 2_000) },
    ],
    most: [
      {
        role: 'implementer',
        calls: (1 + maxRounds) * maxRounds * implement.maxAgentRounds + maxRetries,
        each: longest,
      },
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

/** The default model of each agent; it changes with the agent's versions. */
const AGENT_DEFAULTS: Partial<Record<AgentName, string>> = {
  'claude-code': 'anthropic:claude-opus-5-5',
  codex: 'openai:gpt-6.1-sol',
  'gemini-cli': 'google:gemini-3.1-pro-preview',
  opencode: 'anthropic:claude-sonnet-5-5',
};

/** unmetered: its cost is never known; metered: its calls pass the gateway. */
export function meteringOf(role: Role, { models, ownLogins }: Config): 'free' | 'unmetered' | 'metered' {
  const spec = parseModelSpec(models[role]);
  if (spec.provider === 'command' || (isAgent(spec) && keyVendorOf(spec, ownLogins) === null)) return 'unmetered';
  return spec.provider === 'offline' ? 'free' : 'metered';
}

/** Null: the price of the role's model is unknown. */
export function usualCostUsd({ role, calls, each }: Calls, config: Config): number | null {
  if (meteringOf(role, config) !== 'metered') return 0;
  const spec = parseModelSpec(config.models[role]);
  const name = !isAgent(spec)
    ? spec.text
    : spec.model === null
      ? (AGENT_DEFAULTS[spec.provider] ?? spec.text)
      : `${vendorOf(spec)}:${spec.model}`;
  const price = priceOf(name, config.prices);
  return price === null ? null : calls * costUsd(each, price);
}

/** Null: no price of the vendor is known, so no limit can be enforced. */
export function mostCostUsd({ role, calls, each }: Calls, config: Config): number | null {
  if (meteringOf(role, config) !== 'metered') return 0;
  const price = boundOf(role, config);
  return price === null ? null : calls * costUsd({ ...each, cacheWriteTokens: each.inputTokens }, price);
}

/** The model of an agent is only known when it calls. */
function boundOf(role: Role, config: Config): Price | null {
  const spec = parseModelSpec(config.models[role]);
  const vendor = vendorOf(spec);
  const known = isAgent(spec) ? null : priceOf(spec.text, config.prices);
  return known ?? (vendor === null ? null : dearestPrice(vendor, config.prices));
}
