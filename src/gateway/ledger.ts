import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { addUsage, addUse, type BudgetLimits, type ModelUse, NO_USAGE, type Price, type Usage } from '../core/money.ts';

/** Where the holder of an item's token reads its account: GET, on the gateway itself. */
export const ACCOUNT_PATH = '/agentos/account';

/** What an item's calls came to so far, for programs that see them only from the outside: two readings differ by what ran between them. */
export interface Account {
  usage: Usage;
  /** Of the calls whose price and usage are known. */
  costUsd: number;
  /** Calls whose cost is not known. */
  unpriced: number;
  /** Calls that a vendor answered. */
  calls: number;
  /** The same by model. */
  models: ModelUse[];
  /** Calls under way, those that wait for a key too. The gateway bounds them, so silence meanwhile is not idleness. */
  inFlight: number;
  /** The model of the last good answer. */
  answered: string | null;
  /** Calls that came to no answer. */
  refusals: number;
  /** Why the last of them did not; null when a good answer came after it. */
  refusal: ErrorRecord | null;
}

/** How a call for an answer ended. */
export interface CallEnd {
  /** With its vendor. */
  model: string;
  usage: Usage | null;
  /** Null: not known. */
  costUsd: number | null;
  answered: string | null;
  /** The vendor began to answer. */
  begun: boolean;
  /** And came to a good end. */
  good: boolean;
  refusal: ErrorRecord | null;
}

/** One call in the ledger. */
export interface LedgerCall {
  /**
   * Throws `over-budget` when what is spent leaves no room for the call. When it is only others' reservations that leave
   * none, it waits for them: most calls cost less than they reserve.
   */
  reserve(costUsd: number, signal: AbortSignal): Promise<void>;
  /** What counts against the limits, and what the account shows: null for a call that asks for no answer. Idempotent. */
  close(spentUsd: number, end: CallEnd | null): void;
}

/** What a run and its items have used and spent, and what the calls in flight may still cost. */
export interface Ledger {
  open(item: string): LedgerCall;
  /** Spent by an earlier run whose answers this item takes over: it counts for the item, not for the run. */
  addToItem(item: string, costUsd: number): void;
  /** Spent by this run, before the program was started again. */
  addToRun(costUsd: number): void;
  accountOf(item: string): Account;
  spentUsd(item?: string): number;
}

interface Budget {
  spentUsd: number;
  /** Of the calls in flight. Summed each time: a running difference of fractions never comes back to zero. */
  reserved: Set<{ usd: number }>;
}

interface ItemRecord extends Budget {
  account: Account;
}

export function createLedger({ maxCostUsd, maxCostPerItemUsd }: BudgetLimits): Ledger {
  const run: Budget = { spentUsd: 0, reserved: new Set() };
  const items = new Map<string, ItemRecord>();
  const waiting = new Set<() => void>();

  const recordOf = (item: string): ItemRecord => {
    const record = items.get(item) ?? { spentUsd: 0, reserved: new Set(), account: EMPTY };
    items.set(item, record);
    return record;
  };
  /** True: there is room; false: there will be when others close. */
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
    open(item) {
      const record = recordOf(item);
      const reserved = { usd: 0 };
      let isOpen = true;
      record.account = { ...record.account, inFlight: record.account.inFlight + 1 };
      return {
        async reserve(costUsd, signal) {
          for (;;) {
            signal.throwIfAborted();
            const itemHas = hasRoom(record, 'item', maxCostPerItemUsd, costUsd);
            if (hasRoom(run, 'run', maxCostUsd, costUsd) && itemHas) break;
            await othersClose(signal);
          }
          reserved.usd = costUsd;
          for (const budget of [record, run]) budget.reserved.add(reserved);
        },
        close(spentUsd, end) {
          if (!isOpen) return;
          isOpen = false;
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
    addToItem(item, costUsd) {
      recordOf(item).spentUsd += costUsd;
    },
    addToRun(costUsd) {
      run.spentUsd += costUsd;
    },
    accountOf: (item) => items.get(item)?.account ?? EMPTY,
    spentUsd: (item) => (item === undefined ? run.spentUsd : (items.get(item)?.spentUsd ?? 0)),
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
/** Nearly all replies are shorter. */
const USUAL_OUTPUT_TOKENS = 16_384;
/** Of a limit, what one reply may reserve beyond the usual one. */
const LARGEST_SHARE = 0.2;

/**
 * What is reserved for a call: the longest reply that it allows itself, so that the limit holds whatever the model says.
 * Requests allow themselves far more than they use, and a small limit would refuse what it can well pay: from a fifth of
 * the limit on, only a usual reply is reserved, and a longer one can exceed the limit by the difference.
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
