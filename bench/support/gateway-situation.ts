import { definedOnly } from '../../src/core/json.ts';
import type { VendorName } from '../../src/core/keys.ts';
import type { QuotaGroup } from '../../test/support/vendor/limits.ts';
import type { VendorOptions } from '../../test/support/vendor/options.ts';

/** One world in which callers and a vendor meet. All times are the vendor's. */
export interface Situation {
  name: string;
  /** Not used for tuning. */
  heldOut?: boolean;
  wire: Extract<VendorName, 'anthropic' | 'google' | 'openai'>;
  requests: number;
  /** Of all workflows together, each with one request at a time. */
  callers: number;
  dilation: number;
  latencyMs: [number, number];
  inputTokens: [number, number];
  outputTokens: [number, number];
  keys: { group: string; diesAtMs?: number }[];
  groups: Record<string, QuotaGroup>;
  limits?: Omit<NonNullable<VendorOptions['limits']>, 'groups'>;
  spells?: { fromMs: number; toMs: number }[];
  /** Responses carry a status and `retry-after`, no words: the limits can't be read off anywhere. */
  wordless?: boolean;
  /** In per cent. */
  targets: { goodput: number; refused: number };
}

const ordinary = {
  wire: 'anthropic',
  requests: 2_000,
  callers: 60,
  dilation: 12,
  latencyMs: [1_500, 2_500],
  inputTokens: [80, 240],
  outputTokens: [40, 120],
  targets: { goodput: 96, refused: 1 },
} as const satisfies Partial<Situation>;

function fourOf(group: QuotaGroup): Pick<Situation, 'keys' | 'groups'> {
  return { keys: ['a', 'b', 'c', 'd'].map((name) => ({ group: name })), groups: each(group) };
}

function each(group: QuotaGroup): Record<string, QuotaGroup> {
  return { a: group, b: group, c: group, d: group };
}

const plain: QuotaGroup = { requestsPerMinute: 120, concurrency: 12 };

export const SITUATIONS: Situation[] = [
  { ...ordinary, name: 'request limits', ...fourOf(plain) },
  { ...ordinary, name: 'short bursts', ...fourOf({ ...plain, requestBurst: 4 }) },
  {
    ...ordinary,
    name: 'token limits',
    inputTokens: [200, 1_800],
    outputTokens: [100, 500],
    ...fourOf({ requestsPerMinute: 1_000, tokensPerMinute: 150_000, concurrency: 12 }),
  },
  { ...ordinary, name: 'no headers', wordless: true, limits: { headers: false }, ...fourOf(plain) },
  {
    ...ordinary,
    name: 'fast models',
    dilation: 5,
    latencyMs: [200, 400],
    ...fourOf({ requestsPerMinute: 600, requestBurst: 60, concurrency: 12 }),
  },
  {
    ...ordinary,
    name: 'one quota for all',
    keys: [{ group: 'a' }, { group: 'a' }, { group: 'a' }, { group: 'a' }],
    groups: { a: { requestsPerMinute: 360, requestBurst: 120, concurrency: 24 } },
  },
  {
    ...ordinary,
    name: 'unequal, one dies, storm',
    keys: [{ group: 'a' }, { group: 'b' }, { group: 'c', diesAtMs: 80_000 }, { group: 'd' }],
    groups: {
      a: { ...plain, requestsPerMinute: 60 },
      b: plain,
      c: { ...plain, requestsPerMinute: 180 },
      d: { ...plain, requestsPerMinute: 240 },
    },
    spells: [{ fromMs: 100_000, toMs: 115_000 }],
    targets: { goodput: 94, refused: 1 },
  },
  {
    ...ordinary,
    name: '40 % used by others',
    ...fourOf({ ...plain, background: { share: 0.4 } }),
    targets: { goodput: 96, refused: 2.5 },
  },
  {
    ...ordinary,
    name: 'rejected are charged',
    limits: { chargeRejected: true },
    ...fourOf({ ...plain, requestBurst: 20 }),
  },
  {
    ...ordinary,
    name: 'unequal, limits in bodies',
    heldOut: true,
    wire: 'google',
    keys: [{ group: 'a' }, { group: 'b' }, { group: 'c' }, { group: 'd' }],
    groups: {
      a: { requestsPerMinute: 90, requestBurst: 30, concurrency: 10 },
      b: { requestsPerMinute: 150, concurrency: 16 },
      c: { requestsPerMinute: 200, requestBurst: 50, concurrency: 14 },
      d: { requestsPerMinute: 120, concurrency: 8 },
    },
  },
  {
    ...ordinary,
    name: 'headers that are wrong',
    heldOut: true,
    wire: 'openai',
    ...fourOf({ requestsPerMinute: 150, hiddenRequestBurst: 6, concurrency: 14 }),
  },
  {
    ...ordinary,
    name: 'two owners, in ≠ out, no hints',
    heldOut: true,
    inputTokens: [300, 1_500],
    outputTokens: [200, 600],
    limits: { retryAfter: false, skewMs: 40_000 },
    keys: [{ group: 'a' }, { group: 'a' }, { group: 'b' }, { group: 'b' }],
    groups: {
      a: { requestsPerMinute: 900, inputTokensPerMinute: 220_000, outputTokensPerMinute: 90_000, concurrency: 24 },
      b: { requestsPerMinute: 900, inputTokensPerMinute: 160_000, outputTokensPerMinute: 80_000, concurrency: 20 },
    },
  },
];

/** Other callers for the same situations. */
interface Load {
  name: string;
  callers: number;
  requests: number;
  targets: Situation['targets'];
}

/** What runs really look like: few callers, calls of 10 to 60 s, prompts of thousands of tokens. */
const LONG_CALLS = { latencyMs: [10_000, 60_000], tokens: 20, times: 7, dilation: 100 } as const;
/** Of what the callers could use, what the vendor's limits allow. */
const SCARCITY = 0.6;

export const LOADS: Load[] = [
  { name: '10 callers with long calls', callers: 10, requests: 300, targets: { goodput: 75, refused: 35 } },
  { name: '30 callers with long calls', callers: 30, requests: 800, targets: { goodput: 75, refused: 16 } },
];

/** The situation with other callers, and limits that are as scarce for them as the usual ones are for 60. */
export function underLoad(situation: Situation, { name, callers, requests, targets }: Load): Situation {
  const { tokens, times, dilation } = LONG_CALLS;
  const latencyMs: Situation['latencyMs'] = [...LONG_CALLS.latencyMs];
  const usualPerMinute = 4 * (plain.requestsPerMinute ?? 0);
  const factor = (SCARCITY * callers * 60_000) / mean(latencyMs) / usualPerMinute;
  const scaled = (value: number | undefined, by: number, least: number): number | undefined =>
    value === undefined ? undefined : Math.max(least, Math.round(value * by * 10) / 10);
  const group = (given: QuotaGroup): QuotaGroup => ({
    ...given,
    ...definedOnly({
      requestsPerMinute: scaled(given.requestsPerMinute, factor, 1),
      requestBurst: scaled(given.requestBurst, factor, 2),
      hiddenRequestBurst: scaled(given.hiddenRequestBurst, factor, 2),
      tokensPerMinute: scaled(given.tokensPerMinute, factor * tokens, 1),
      inputTokensPerMinute: scaled(given.inputTokensPerMinute, factor * tokens, 1),
      outputTokensPerMinute: scaled(given.outputTokensPerMinute, factor * tokens, 1),
      concurrency: scaled(given.concurrency, callers / situation.callers, 2),
    }),
  });
  const { spells } = situation;
  const more = ([low, high]: [number, number]): [number, number] => [low * tokens, high * tokens];
  // An outage takes as long as it takes, however long calls are.
  const later = spells?.map(({ fromMs, toMs }) => ({ fromMs: fromMs * times, toMs: fromMs * times + toMs - fromMs }));
  return {
    ...situation,
    name: `${situation.name}, ${name}`,
    callers,
    requests,
    latencyMs,
    dilation,
    targets,
    inputTokens: more(situation.inputTokens),
    outputTokens: more(situation.outputTokens),
    groups: Object.fromEntries(Object.entries(situation.groups).map(([id, given]) => [id, group(given)])),
    keys: situation.keys.map((key) => (key.diesAtMs === undefined ? key : { ...key, diesAtMs: key.diesAtMs * times })),
    ...(later === undefined ? {} : { spells: later }),
  };
}

function mean([low, high]: readonly [number, number]): number {
  return (low + high) / 2;
}

/** What could have been finished by then, had every limit been used to the full. */
export function bound(situation: Situation, atMs: number, tokens: { input: number; output: number }): number {
  const meanLatencyMs = mean(situation.latencyMs);
  let sum = 0;
  for (const [name, group] of Object.entries(situation.groups)) {
    const deaths = situation.keys.filter((key) => key.group === name).map((key) => key.diesAtMs ?? atMs);
    const livedMs = Math.min(atMs, Math.max(...deaths));
    const own = 1 - (group.background?.share ?? 0);
    const by = (perMinute: number | undefined, burst: number | undefined, each: number): number =>
      perMinute === undefined
        ? Number.POSITIVE_INFINITY
        : ((burst ?? perMinute) + (own * perMinute * livedMs) / 60_000) / each;
    const burst = Math.min(
      group.requestBurst ?? Number.POSITIVE_INFINITY,
      group.hiddenRequestBurst ?? Number.POSITIVE_INFINITY,
    );
    sum += Math.min(
      by(group.requestsPerMinute, Number.isFinite(burst) ? burst : undefined, 1),
      by(group.tokensPerMinute, group.tokenBurst, tokens.input + tokens.output),
      by(group.inputTokensPerMinute, group.tokenBurst, tokens.input),
      by(group.outputTokensPerMinute, group.tokenBurst, tokens.output),
      (group.concurrency ?? Number.POSITIVE_INFINITY) * (livedMs / meanLatencyMs + 1),
    );
  }
  return Math.min(sum, situation.callers * (atMs / meanLatencyMs + 1));
}
