import type { ConfigFile } from './config-schema.ts';
import { parseDuration } from './duration.ts';
import { ENDPOINT_VARIABLES, readKeys, VENDORS, type VendorKey, type VendorName } from './keys.ts';

/** What the command line may say; undefined where it says nothing. */
export interface ConfigFlags {
  drafter?: string | undefined;
  reviewer?: string | undefined;
  offline?: boolean | undefined;
  maxRounds?: number | undefined;
  maxRetries?: number | undefined;
  timeoutMs?: number | undefined;
  globalTimeoutMs?: number | undefined;
  idleTimeoutMs?: number | undefined;
  maxCostUsd?: number | undefined;
  maxCostPerItemUsd?: number | undefined;
}

export interface Bounds {
  maxRounds: number;
  maxRetries: number;
  timeoutMs: number;
  globalTimeoutMs: number | null;
  idleTimeoutMs: number;
  callTimeoutMs: number;
  /** Longer waits for quota are not begun: the run pauses. */
  maxQuotaWaitMs: number;
  maxCostUsd: number | null;
  maxCostPerItemUsd: number | null;
}

export interface PriceSetting {
  input: number;
  output: number;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** Settled: every later place reads this and asks neither flags nor file nor environment. */
export interface Config {
  models: { drafter: string; reviewer: string };
  bounds: Bounds;
  keys: VendorKey[];
  keyVariables: Partial<Record<VendorName, readonly string[] | undefined>>;
  endpoints: Partial<Record<VendorName, string>>;
  /** Known limits of each quota group; what is not here is learned. */
  limits: NonNullable<ConfigFile['limits']>;
  prices: Record<string, PriceSetting>;
  context: { maxTokens: number; exclude: string[] };
  passEnvironment: string[];
}

const DEFAULTS = {
  drafter: 'anthropic:claude-opus-5',
  reviewer: 'google:gemini-3-pro-preview',
  maxRounds: 3,
  maxRetries: 3,
  timeoutMs: 3_600_000,
  idleTimeoutMs: 300_000,
  callTimeoutMs: 1_200_000,
  maxQuotaWaitMs: 3_600_000,
  contextTokens: 24_000,
};

/** Flags over file over environment over defaults: the only place where that order is written. */
export function resolveConfig(
  flags: ConfigFlags,
  file: ConfigFile,
  env: Readonly<Record<string, string | undefined>>,
): Config {
  const bounds = file.bounds ?? {};
  const named = file.keys ?? {};
  const endpoints: Partial<Record<VendorName, string>> = {};
  for (const vendor of VENDORS) {
    const variable = ENDPOINT_VARIABLES[vendor];
    const url = file.endpoints?.[vendor] ?? (variable ? env[variable]?.trim() : undefined);
    if (url) endpoints[vendor] = url;
  }
  const embedded = flags.offline ? 'offline' : undefined;
  return {
    models: {
      drafter: embedded ?? flags.drafter ?? file.models?.drafter ?? DEFAULTS.drafter,
      reviewer: embedded ?? flags.reviewer ?? file.models?.reviewer ?? DEFAULTS.reviewer,
    },
    bounds: {
      maxRounds: flags.maxRounds ?? bounds.maxRounds ?? DEFAULTS.maxRounds,
      maxRetries: flags.maxRetries ?? bounds.maxRetries ?? DEFAULTS.maxRetries,
      timeoutMs: flags.timeoutMs ?? durationOf(bounds.timeout) ?? DEFAULTS.timeoutMs,
      globalTimeoutMs: flags.globalTimeoutMs ?? durationOf(bounds.globalTimeout) ?? null,
      idleTimeoutMs: flags.idleTimeoutMs ?? durationOf(bounds.idleTimeout) ?? DEFAULTS.idleTimeoutMs,
      callTimeoutMs: durationOf(bounds.callTimeout) ?? DEFAULTS.callTimeoutMs,
      maxQuotaWaitMs: durationOf(bounds.maxQuotaWait) ?? DEFAULTS.maxQuotaWaitMs,
      maxCostUsd: flags.maxCostUsd ?? bounds.maxCostUsd ?? null,
      maxCostPerItemUsd: flags.maxCostPerItemUsd ?? bounds.maxCostPerItemUsd ?? null,
    },
    keys: readKeys(env, named),
    keyVariables: named,
    endpoints,
    limits: file.limits ?? {},
    prices: file.prices ?? {},
    context: { maxTokens: file.context?.maxTokens ?? DEFAULTS.contextTokens, exclude: file.context?.exclude ?? [] },
    passEnvironment: file.passEnvironment ?? [],
  };
}

function durationOf(text: string | undefined): number | null {
  return text === undefined ? null : parseDuration(text);
}
