import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { addUsage, addUse, type BudgetLimits, type ModelUse, NO_USAGE, type Price, type Usage } from '../core/money.ts';

/** GET this path of the gateway with an item's token to read its account. */
export const ACCOUNT_PATH = '/agentos/account';

/** What an item's calls have used so far. Two readings differ by what ran between them. */
export interface Account {
  usage: Usage;
  /** Sum over the calls whose price and usage are known. */
  costUsd: number;
  /** Calls whose cost is unknown. */
  unpriced: number;
  /** Calls that a vendor answered. */
  calls: number;
  /** Usage and cost by model. */
  models: ModelUse[];
  /** Calls in flight or waiting for a key. The gateway bounds them, so silence meanwhile is not idleness. */
  inFlight: number;
  /** The model of the last good answer. */
  answered: string | null;
  /** Calls that failed. */
  refusals: number;
  /** Why the last of them failed; null after a good answer. */
  refusal: ErrorRecord | null;
}

/** How a `generate` call ended. */
export interface CallEnd {
  /** With its vendor: `anthropic:claude-opus-5`. */
  model: string;
  usage: Usage | null;
  /** Null: unknown. */
  costUsd: number | null;
  answered: string | null;
  /** The vendor started to answer. */
  begun: boolean;
  /** The answer is complete and good. */
  good: boolean;
  refusal: ErrorRecord | null;
}

interface Budget {
  spentUsd: number;
  /** The reservations of the calls in flight. Summed each time, because a running sum of fractions drifts from zero. */
  reserved: Set<{ usd: number }>;
}

interface ItemRecord extends Budget {
  /** The part that was spent before this run. */
  earlierUsd: number;
  account: Account;
}

export type Ledger = ReturnType<typeof createLedger>;

/** What a run and its items have used and spent, and what calls in flight may still cost. */
export function createLedger({ maxCostUsd, maxCostPerItemUsd }: BudgetLimits) {
  const run: Budget = { spentUsd: 0, reserved: new Set() };
  const items = new Map<string, ItemRecord>();
  const waiting = new Set<() => void>();

  const recordOf = (item: string): ItemRecord => {
    const record = items.get(item) ?? { spentUsd: 0, earlierUsd: 0, reserved: new Set(), account: EMPTY };
    items.set(item, record);
    return record;
  };
  /** False: there will be room when other calls close. Throws if what is spent leaves no room. */
  const hasRoom = (budget: Budget, scope: 'item' | 'run', limitUsd: number | null, costUsd: number): boolean => {
    if (limitUsd === null) return true;
    const { spentUsd } = budget;
    if (spentUsd + costUsd > limitUsd) throw new AgentosError({ code: 'over-budget', spentUsd, limitUsd, scope });
    const reservedUsd = [...budget.reserved].reduce((sum, { usd }) => sum + usd, 0);
    return spentUsd + reservedUsd + costUsd <= limitUsd;
  };
  const othersClose = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake);
    });

  return {
    /** Opens an entry for one more call of an item. */
    open(item: string) {
      const record = recordOf(item);
      const reserved = { usd: 0 };
      record.account = { ...record.account, inFlight: record.account.inFlight + 1 };
      return {
        /**
         * Throws `over-budget` if what is spent leaves no room for the call. If only the reservations of other calls leave no room,
         * it waits for them: most calls cost less than they reserve.
         */
        async reserve(costUsd: number, signal: AbortSignal): Promise<void> {
          for (;;) {
            signal.throwIfAborted();
            const itemHas = hasRoom(record, 'item', maxCostPerItemUsd, costUsd);
            if (hasRoom(run, 'run', maxCostUsd, costUsd) && itemHas) break;
            await othersClose(signal);
          }
          reserved.usd = costUsd;
          for (const budget of [record, run]) budget.reserved.add(reserved);
        },
        /** `spentUsd` counts against the limits; `end` goes into the account, and is null unless the call generates. */
        close(spentUsd: number, end: CallEnd | null): void {
          for (const budget of [record, run]) {
            budget.reserved.delete(reserved);
            budget.spentUsd += spentUsd;
          }
          const added = end === null ? {} : withCall(record.account, end);
          record.account = { ...record.account, ...added, inFlight: record.account.inFlight - 1 };
          for (const wake of waiting) wake();
        },
      };
    },
    /** An item has spent at least this before this run: it counts for the item, not for the run. */
    spentBefore: (item: string, usd: number): void => {
      const record = recordOf(item);
      record.spentUsd += Math.max(0, usd - record.earlierUsd);
      record.earlierUsd = Math.max(record.earlierUsd, usd);
    },
    /** The run has spent this before the program was restarted. */
    spentByRun: (usd: number): void => {
      run.spentUsd += usd;
    },
    accountOf: (item: string): Account => items.get(item)?.account ?? EMPTY,
    spentUsd: (item?: string): number => (item === undefined ? run.spentUsd : (items.get(item)?.spentUsd ?? 0)),
  };
}

const EMPTY: Account = {
  usage: NO_USAGE,
  costUsd: 0,
  unpriced: 0,
  calls: 0,
  models: [],
  inFlight: 0,
  answered: null,
  refusals: 0,
  refusal: null,
};

function withCall(account: Account, end: CallEnd): Partial<Account> {
  const { model, usage, costUsd, answered, begun, good, refusal } = end;
  const use = { model, calls: 1, usage: usage ?? NO_USAGE, costUsd };
  return {
    usage: addUsage(account.usage, usage ?? NO_USAGE),
    costUsd: account.costUsd + (costUsd ?? 0),
    unpriced: account.unpriced + (costUsd === null ? 1 : 0),
    calls: account.calls + (begun ? 1 : 0),
    models: begun ? addUse(account.models, use) : account.models,
    answered: good ? (answered ?? account.answered) : account.answered,
    refusals: account.refusals + (refusal === null ? 0 : 1),
    refusal: refusal ?? (good ? null : account.refusal),
  };
}

/** The longest reply of today's models, for requests that name no limit. */
const LONGEST_OUTPUT_TOKENS = 128_000;
/** Almost all replies are shorter. */
const USUAL_OUTPUT_TOKENS = 16_384;
/** The share of a limit that one reply may reserve, if that is more than a usual reply. */
const LARGEST_SHARE = 0.2;

/**
 * What a call reserves: the longest reply that the request allows, so that the limit holds whatever the model says. Requests allow
 * far more than they use, and a small limit would refuse calls that it can pay for. So at most a fifth of the limit, or a usual
 * reply, is reserved; a longer reply can exceed the limit by the difference.
 */
export function expectedCostUsd(
  price: Price,
  { inputTokens, maxOutputTokens }: { inputTokens: number; maxOutputTokens: number | null },
  { maxCostUsd, maxCostPerItemUsd }: BudgetLimits,
): number {
  const rate = price.long !== undefined && inputTokens > price.long.aboveInputTokens ? price.long : price;
  const limitUsd = Math.min(maxCostUsd ?? Number.POSITIVE_INFINITY, maxCostPerItemUsd ?? Number.POSITIVE_INFINITY);
  const bearableTokens = rate.output === 0 ? 0 : (LARGEST_SHARE * limitUsd * 1_000_000) / rate.output;
  const outputTokens = Math.min(
    maxOutputTokens ?? LONGEST_OUTPUT_TOKENS,
    Math.max(USUAL_OUTPUT_TOKENS, bearableTokens),
  );
  return (inputTokens * Math.max(rate.input, rate.cacheWrite) + outputTokens * rate.output) / 1_000_000;
}
