import type { ConfigFile } from './config-file.ts';
import { parseDuration } from './duration.ts';
import {
  ENDPOINT_VARIABLES,
  type Environment,
  keysAmong,
  type NamedKeys,
  readKeys,
  VENDORS,
  type VendorKey,
  type VendorName,
} from './keys.ts';
import type { AgentName } from './model-spec.ts';
import type { Prices } from './money.ts';
import { type RemoteConfig, type RemoteFlags, resolveRemote } from './remote.ts';

/** How much of the LLD's template a design fills. */
export const DESIGN_SIZES = ['small', 'normal', 'large'] as const;
export type DesignSize = (typeof DESIGN_SIZES)[number];

/** auto: if the platform has one; on: refuse to start without; off: never. */
export const SANDBOX_MODES = ['auto', 'on', 'off'] as const;
type SandboxMode = (typeof SANDBOX_MODES)[number];

/** Flags of the command line; undefined: not given. */
export interface ConfigFlags extends RemoteFlags {
  drafter?: string | undefined;
  reviewer?: string | undefined;
  implementer?: string | undefined;
  offline?: boolean | undefined;
  size?: DesignSize | undefined;
  maxRounds?: number | undefined;
  maxRetries?: number | undefined;
  timeoutMs?: number | undefined;
  globalTimeoutMs?: number | undefined;
  idleTimeoutMs?: number | undefined;
  maxCostUsd?: number | undefined;
  maxCostPerItemUsd?: number | undefined;
  sandbox?: SandboxMode | undefined;
}

export interface Bounds {
  maxRounds: number;
  maxRetries: number;
  timeoutMs: number;
  globalTimeoutMs: number | null;
  idleTimeoutMs: number;
  callTimeoutMs: number;
  /** For a longer wait for quota, the run pauses instead. */
  maxQuotaWaitMs: number;
  maxCostUsd: number | null;
  maxCostPerItemUsd: number;
  /** A person set one of the two limits. Then a model whose cost can't be bounded is refused. */
  hasChosenCostLimit: boolean;
}

export type Role = 'drafter' | 'reviewer' | 'implementer';

/** The result of flags, file and environment. Nothing reads those again. */
export interface Config {
  models: Record<Role, string>;
  bounds: Bounds;
  /** Null: the drafter chooses. */
  size: DesignSize | null;
  keys: VendorKey[];
  /** Vendors whose key is not sent to the address that the repository's configuration names. */
  withheld: VendorName[];
  keyVariables: NamedKeys;
  endpoints: Partial<Record<VendorName, string>>;
  /** Known limits of each quota group; others are learned. */
  limits: NonNullable<ConfigFile['limits']>;
  prices: Prices;
  context: { maxTokens: number; exclude: string[] };
  /** Null: drafter and reviewer have no tools. */
  explore: { maxRounds: number; maxTokens: number } | null;
  tests: TestSettings;
  implement: ImplementSettings;
  /** Without variables that hold a key. */
  passEnvironment: string[];
  /** The variables that were removed because they hold a key. */
  heldBack: string[];
  /** `hosts`: for the set-up, besides the usual registries; `modelHosts`: for models that are commands. */
  sandbox: { mode: SandboxMode; hosts: string[]; modelHosts: string[] };
  /** Agents that use their own login instead of a key. */
  ownLogins: AgentName[];
  /** `commit`: the versions of a design go onto its branch. */
  lineage: 'keep' | 'commit';
  remote: RemoteConfig;
}

/** Null: detected. */
export interface TestSettings {
  command: string | null;
  runner: NonNullable<NonNullable<ConfigFile['tests']>['runner']> | null;
  report: string | null;
  coverage: string | null;
  files: string[];
  timeoutMs: number;
}

export type GatePolicy = 'strict' | 'verify' | 'off';

interface ImplementSettings {
  policy: GatePolicy;
  /** Null: detected; false: none. */
  setup: string | false | null;
  setupTimeoutMs: number;
  copy: string[];
  /** Percent; null: what the LLD says. */
  coverage: number | null;
  /** `Name <address>` */
  coAuthor: string | null;
  maxAgentRounds: number;
}

const DEFAULTS = {
  drafter: 'anthropic:claude-opus-5',
  reviewer: 'google:gemini-3.1-pro-preview',
  implementer: 'anthropic:claude-opus-5',
  testTimeoutMs: 600_000,
  setupTimeoutMs: 600_000,
  maxAgentRounds: 60,
  maxRounds: 3,
  maxRetries: 3,
  timeoutMs: 3_600_000,
  idleTimeoutMs: 300_000,
  callTimeoutMs: 1_200_000,
  maxQuotaWaitMs: 3_600_000,
  maxCostPerItemUsd: 20,
  contextTokens: 24_000,
  exploreRounds: 25,
  exploreTokens: 1_000_000,
};

/** Flags override the file, the file overrides the environment, the environment overrides defaults. */
export function resolveConfig(flags: ConfigFlags, file: ConfigFile, env: Environment): Config {
  const bounds = file.bounds ?? {};
  const named = file.keys ?? {};
  const endpoints: Partial<Record<VendorName, string>> = {};
  for (const vendor of VENDORS) {
    const variable = ENDPOINT_VARIABLES[vendor];
    const url = file.endpoints?.[vendor] ?? (variable ? env[variable]?.trim() : undefined);
    if (url) endpoints[vendor] = url;
  }
  const maxCostUsd = flags.maxCostUsd ?? bounds.maxCostUsd ?? null;
  const chosenPerItemUsd = flags.maxCostPerItemUsd ?? bounds.maxCostPerItemUsd ?? null;
  const recorded = flags.offline ? 'offline' : undefined;
  const keys = readKeys(env, named);
  const passed = file.passEnvironment ?? [];
  const heldBack = keysAmong(passed, env, { keys, named });
  return {
    models: {
      drafter: recorded ?? flags.drafter ?? file.models?.drafter ?? DEFAULTS.drafter,
      reviewer: recorded ?? flags.reviewer ?? file.models?.reviewer ?? DEFAULTS.reviewer,
      implementer: recorded ?? flags.implementer ?? file.models?.implementer ?? DEFAULTS.implementer,
    },
    bounds: {
      maxRounds: flags.maxRounds ?? bounds.maxRounds ?? DEFAULTS.maxRounds,
      maxRetries: flags.maxRetries ?? bounds.maxRetries ?? DEFAULTS.maxRetries,
      timeoutMs: flags.timeoutMs ?? durationOf(bounds.timeout) ?? DEFAULTS.timeoutMs,
      globalTimeoutMs: flags.globalTimeoutMs ?? durationOf(bounds.globalTimeout) ?? null,
      idleTimeoutMs: flags.idleTimeoutMs ?? durationOf(bounds.idleTimeout) ?? DEFAULTS.idleTimeoutMs,
      callTimeoutMs: durationOf(bounds.callTimeout) ?? DEFAULTS.callTimeoutMs,
      maxQuotaWaitMs: durationOf(bounds.maxQuotaWait) ?? DEFAULTS.maxQuotaWaitMs,
      maxCostUsd,
      maxCostPerItemUsd: chosenPerItemUsd ?? DEFAULTS.maxCostPerItemUsd,
      hasChosenCostLimit: maxCostUsd !== null || chosenPerItemUsd !== null,
    },
    size: flags.size ?? null,
    keys,
    withheld: [],
    keyVariables: named,
    endpoints,
    limits: file.limits ?? {},
    prices: file.prices ?? {},
    context: { maxTokens: file.context?.maxTokens ?? DEFAULTS.contextTokens, exclude: file.context?.exclude ?? [] },
    explore: exploreSettings(file.explore),
    tests: testSettings(file.tests ?? {}),
    implement: implementSettings(file.implement ?? {}),
    passEnvironment: passed.filter((name) => !heldBack.includes(name)),
    heldBack,
    sandbox: {
      mode: flags.sandbox ?? file.sandbox?.mode ?? 'auto',
      hosts: file.sandbox?.hosts ?? [],
      modelHosts: file.sandbox?.modelHosts ?? [],
    },
    ownLogins: Object.entries(file.agents ?? {}).flatMap(([name, settings]) =>
      settings?.login === 'agent' ? [name as AgentName] : [],
    ),
    lineage: file.lineage ?? 'keep',
    remote: resolveRemote(flags, file, env),
  };
}

function exploreSettings(explore: ConfigFile['explore']): Config['explore'] {
  if (explore === 'off' || explore === false) return null;
  return {
    maxRounds: explore?.maxRounds ?? DEFAULTS.exploreRounds,
    maxTokens: explore?.maxTokens ?? DEFAULTS.exploreTokens,
  };
}

function testSettings(tests: NonNullable<ConfigFile['tests']>): TestSettings {
  return {
    command: tests.command ?? null,
    runner: tests.runner ?? null,
    report: tests.report ?? null,
    coverage: tests.coverage ?? null,
    files: tests.files ?? [],
    timeoutMs: durationOf(tests.timeout) ?? DEFAULTS.testTimeoutMs,
  };
}

function implementSettings(implement: NonNullable<ConfigFile['implement']>): ImplementSettings {
  return {
    policy: implement.policy ?? 'strict',
    setup: implement.setup ?? null,
    setupTimeoutMs: durationOf(implement.setupTimeout) ?? DEFAULTS.setupTimeoutMs,
    copy: implement.copy ?? [],
    coverage: implement.coverage ?? null,
    coAuthor: implement.coAuthor ?? null,
    maxAgentRounds: implement.maxAgentRounds ?? DEFAULTS.maxAgentRounds,
  };
}

function durationOf(text: string | undefined): number | null {
  return text === undefined ? null : parseDuration(text);
}
