import type { VendorName } from './keys.ts';
import { isAgent, type ModelSpec, parseModelSpec, sameModel } from './model-spec.ts';

/** Tokens of one call, or of several added up. */
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  /** The part of the input that was read from the vendor's prompt cache. */
  cacheReadTokens: number;
  /** The part of the input that was written to it. */
  cacheWriteTokens: number;
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** More than any call can use, including what a vendor's own tools read. */
const MOST_TOKENS = 50_000_000;

/** Whether these counts can be right. */
export function isPlausible(usage: Usage): boolean {
  return (Object.values(usage) as number[]).every((count) => count >= 0 && count <= MOST_TOKENS);
}

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  };
}

/** The sum of these costs; null: one of them is unknown. */
export function sumUsd(...costs: readonly (number | null)[]): number | null {
  return costs.reduce((sum, usd) => (sum === null || usd === null ? null : sum + usd), 0);
}

/** The use of one model. */
export interface ModelUse {
  /** The model that answered, with its vendor: `anthropic:claude-haiku-4-5`. */
  model: string;
  calls: number;
  usage: Usage;
  /** Null: unknown. */
  costUsd: number | null;
}

export function addUse(uses: readonly ModelUse[], added: ModelUse): ModelUse[] {
  const before = uses.find(({ model }) => model === added.model);
  if (before === undefined) return [...uses, added];
  const sum = {
    ...before,
    calls: before.calls + added.calls,
    usage: addUsage(before.usage, added.usage),
    costUsd: sumUsd(before.costUsd, added.costUsd),
  };
  return uses.map((use) => (use === before ? sum : use));
}

/** Limits for the run and for each item; null: no limit. */
export interface BudgetLimits {
  maxCostUsd: number | null;
  maxCostPerItemUsd: number | null;
  /** A person set one of them. Then a model without a price is refused. */
  hasChosenCostLimit?: boolean;
}

/** In the configuration, in USD per million tokens. */
interface PriceSetting {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** By model. */
export type Prices = Readonly<Record<string, PriceSetting>>;

/** USD per million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** Some vendors charge more for a whole call if its input is longer than this. */
  long?: { aboveInputTokens: number; input: number; output: number; cacheRead: number; cacheWrite: number };
}

function price(input: number, output: number, cacheRead: number, cacheWrite = input): Price {
  return { input, output, cacheRead, cacheWrite };
}

function withLong(plain: Price, aboveInputTokens: number, factors = { input: 2, output: 1.5 }): Price {
  return {
    ...plain,
    long: {
      aboveInputTokens,
      input: plain.input * factors.input,
      output: plain.output * factors.output,
      cacheRead: plain.cacheRead * factors.input,
      cacheWrite: plain.cacheWrite * factors.input,
    },
  };
}

const FABLE_5_2 = price(8, 40, 0.2, 10);
const OPUS = price(5, 25, 0.5, 6.25);
const FIRST_OPUS = price(15, 75, 1.5, 18.75);
const SONNET = price(3, 15, 0.3, 3.75);
const GPT_5 = price(1.25, 10, 0.125);
const GPT_5_2 = price(1.75, 14, 0.175);
const GPT_5_6_SOL = withLong(price(5, 30, 0.5, 6.25), 272_000);
const GPT_6_SOL = withLong(price(2, 10, 0.2, 2.5), 272_000);
const GEMINI_3_PRO = withLong(price(2, 12, 0.2), 200_000);
/** Half of this until the end of 2026. */
const GEMINI_3_6_FLASH = price(1.5, 7.5, 0.15);

/**
 * List prices as of November 2026; vendors change them, so check yours. A model that is not listed has no price rather than a guessed
 * one. `prices` in the configuration adds to this table and overrides it.
 */
const TABLE: Readonly<Record<string, Price>> = {
  'anthropic:claude-fable-5-2': FABLE_5_2,
  'anthropic:claude-mythos-5-2': FABLE_5_2,
  'anthropic:claude-mythos-5-1': price(10, 50, 0.25, 12.5),
  'anthropic:claude-mythos-5': price(10, 50, 1, 12.5),
  'anthropic:claude-fable-5-1': price(10, 50, 0.25, 12.5),
  'anthropic:claude-fable-5': price(10, 50, 1, 12.5),
  'anthropic:claude-opus-5-5': price(4, 20, 0.2, 5),
  'anthropic:claude-opus-5': OPUS,
  'anthropic:claude-opus-4-8': OPUS,
  'anthropic:claude-opus-4-7': OPUS,
  'anthropic:claude-opus-4-6': OPUS,
  'anthropic:claude-opus-4-5': OPUS,
  'anthropic:claude-opus-4-1': FIRST_OPUS,
  'anthropic:claude-opus-4': FIRST_OPUS,
  'anthropic:claude-sonnet-5-5': price(2, 10, 0.1, 2.5),
  'anthropic:claude-sonnet-5': price(2, 10, 0.2, 2.5),
  'anthropic:claude-sonnet-4-6': SONNET,
  'anthropic:claude-sonnet-4-5': SONNET,
  'anthropic:claude-sonnet-4': SONNET,
  'anthropic:claude-haiku-5-5': withLong(price(0.1, 0.5, 0.01, 0.125), 100_000, { input: 5, output: 5 }),
  'anthropic:claude-haiku-4-5': price(1, 5, 0.1, 1.25),
  'google:gemini-3.8-flash': GEMINI_3_6_FLASH,
  'google:gemini-3.7-flash': GEMINI_3_6_FLASH,
  'google:gemini-3.6-flash': GEMINI_3_6_FLASH,
  'google:gemini-3.5-flash': price(1.5, 9, 0.15),
  'google:gemini-3.5-flash-lite': price(0.3, 2.5, 0.03),
  'google:gemini-3.1-pro': GEMINI_3_PRO,
  'google:gemini-3.1-pro-preview-customtools': GEMINI_3_PRO,
  'google:gemini-3.1-flash-lite': price(0.25, 1.5, 0.025),
  'google:gemini-3-pro': GEMINI_3_PRO,
  'google:gemini-3-flash': price(0.5, 3, 0.05),
  'google:gemini-2.5-pro': withLong(price(1.25, 10, 0.125), 200_000),
  'google:gemini-2.5-flash': price(0.3, 2.5, 0.03),
  'google:gemini-2.5-flash-lite': price(0.1, 0.4, 0.01),
  'google:gemini-2.0-flash': price(0.1, 0.4, 0.025),
  'openai:gpt-6.1-sol': GPT_6_SOL,
  'openai:gpt-6.1-terra': withLong(price(1, 5, 0.05, 1.25), 272_000),
  'openai:gpt-6-astra': withLong(price(10, 50, 1, 12.5), 272_000),
  'openai:gpt-6-sol': GPT_6_SOL,
  'openai:gpt-6-luna': withLong(price(0.1, 0.5, 0.01, 0.125), 272_000),
  'openai:gpt-5.6': GPT_5_6_SOL,
  'openai:gpt-5.6-sol': GPT_5_6_SOL,
  'openai:gpt-5.6-terra': withLong(price(2, 12, 0.2, 2.5), 272_000),
  'openai:gpt-5.6-luna': withLong(price(0.2, 1.2, 0.02, 0.25), 200_000),
  'openai:gpt-5.5': withLong(price(5, 30, 0.5), 272_000),
  'openai:gpt-5.4': withLong(price(2.5, 15, 0.25), 272_000),
  'openai:gpt-5.4-pro': price(30, 180, 30),
  'openai:gpt-5.4-mini': price(0.75, 4.5, 0.075),
  'openai:gpt-5.4-nano': price(0.2, 1.25, 0.02),
  'openai:gpt-5.3-codex': GPT_5_2,
  'openai:gpt-5.2-codex': GPT_5_2,
  'openai:gpt-5.2-pro': price(21, 168, 21),
  'openai:gpt-5.2': GPT_5_2,
  'openai:gpt-5.1-codex': GPT_5,
  'openai:gpt-5.1-codex-max': GPT_5,
  'openai:gpt-5.1-codex-mini': price(0.25, 2, 0.025),
  'openai:gpt-5.1': GPT_5,
  'openai:gpt-5-codex': GPT_5,
  'openai:gpt-5-pro': price(15, 120, 15),
  'openai:gpt-5': GPT_5,
  'openai:gpt-5-mini': price(0.25, 2, 0.025),
  'openai:gpt-5-nano': price(0.05, 0.4, 0.005),
  'openai:gpt-4.1': price(2, 8, 0.5),
  'openai:gpt-4.1-mini': price(0.4, 1.6, 0.1),
  'openai:gpt-4.1-nano': price(0.1, 0.4, 0.025),
  'openai:gpt-4o': price(2.5, 10, 1.25),
  'openai:gpt-4o-2024-05-13': price(5, 15, 5),
  'openai:gpt-4o-mini': price(0.15, 0.6, 0.075),
  'openai:o3': price(2, 8, 0.5),
  'openai:o4-mini': price(1.1, 4.4, 0.275),
};

const FREE = price(0, 0, 0);

/**
 * Null: unknown, which is not free. A command or an agent may call any model, so it has no price. If the configuration names no price
 * for the cache, it costs as much as other input.
 */
export function priceOf(text: string, overrides: Prices): Price | null {
  const spec = parseModelSpec(text);
  if (spec.provider === 'offline') return FREE;
  const own = find(spec, overrides);
  return own === null ? find(spec, TABLE) : priceFrom(own);
}

/** Whether the table has this model, an alias or a snapshot of it. */
export function isListed(vendor: VendorName, model: string): boolean {
  return find({ provider: vendor, model, text: `${vendor}:${model}` }, TABLE) !== null;
}

/** Whether both prices are known, and the first is higher in any part. */
export function isDearer(text: string, than: string, overrides: Prices): boolean {
  const [price, other] = [priceOf(text, overrides), priceOf(than, overrides)];
  return price !== null && other !== null && (price.input > other.input || price.output > other.output);
}

/** Whether the configuration makes a model cheaper than it is in the table. What is written to a cache counts as input unless it is said. */
export function isBelowList(text: string, overrides: Prices): boolean {
  const [set, listed] = [priceOf(text, overrides), priceOf(text, {})];
  const parts = ['input', 'output', 'cacheRead'] as const;
  return set !== null && listed !== null && parts.some((part) => set[part] < listed[part]);
}

function priceFrom({ input, output, cacheRead = input, cacheWrite = input }: PriceSetting): Price {
  return price(input, output, cacheRead, cacheWrite);
}

/**
 * The highest known prices of the vendor, for a model without a price, so that a limit still holds. Null: no price of the vendor is
 * known.
 */
export function dearestPrice(vendor: VendorName, overrides: Prices): Price | null {
  const ofVendor = <T>(table: Readonly<Record<string, T>>): T[] =>
    Object.entries(table).flatMap(([name, entry]) => (name.startsWith(`${vendor}:`) ? [entry] : []));
  const known = [...ofVendor(TABLE), ...ofVendor(overrides).map(priceFrom)].flatMap(({ long, ...plain }) => [
    plain,
    ...(long === undefined ? [] : [long]),
  ]);
  if (known.length === 0) return null;
  const most = (part: 'input' | 'output' | 'cacheRead' | 'cacheWrite'): number =>
    Math.max(...known.map((each) => each[part]));
  return price(most('input'), most('output'), most('cacheRead'), most('cacheWrite'));
}

/** The entry with this name, or that of an alias or snapshot of the same model. */
function find<T>(spec: Exclude<ModelSpec, { provider: 'offline' }>, table: Readonly<Record<string, T>>): T | null {
  const exact = Object.hasOwn(table, spec.text) ? table[spec.text] : undefined;
  if (exact !== undefined) return exact;
  if (spec.provider === 'command' || isAgent(spec)) return null;
  const prefix = `${spec.provider}:`;
  const entry = Object.entries(table).find(
    ([name]) => name.startsWith(prefix) && sameModel(name.slice(prefix.length), spec.model),
  );
  return entry?.[1] ?? null;
}

export function costUsd(usage: Usage, listed: Price): number {
  const rate = listed.long !== undefined && usage.inputTokens > listed.long.aboveInputTokens ? listed.long : listed;
  const plain = Math.max(0, usage.inputTokens - usage.cacheReadTokens - usage.cacheWriteTokens);
  const perMillion =
    plain * rate.input +
    usage.cacheReadTokens * rate.cacheRead +
    usage.cacheWriteTokens * rate.cacheWrite +
    usage.outputTokens * rate.output;
  return perMillion / 1_000_000;
}
