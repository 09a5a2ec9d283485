import { AgentosError } from '../core/errors.ts';
import type { BudgetLimits } from '../core/money.ts';
import type { Price } from '../core/prices.ts';

/** The longest reply of today's models, for requests that name no limit. */
const LONGEST_OUTPUT_TOKENS = 128_000;
/** Nearly all replies are shorter. */
const USUAL_OUTPUT_TOKENS = 16_384;
/** Of a limit, what one reply may reserve beyond the usual one. */
const LARGEST_SHARE = 0.2;

export interface Reservation {
  /** What it cost in the end. Idempotent. */
  settle(costUsd: number): void;
}

/** What a run and its items have spent, and what the calls in flight may still cost. */
export interface Spending {
  /**
   * Throws `over-budget` when what is spent leaves no room for the call. When it is only others' reservations that leave
   * none, it waits for them: most calls cost less than they reserve.
   */
  reserve(item: string, costUsd: number, signal: AbortSignal): Promise<Reservation>;
  /** Spent by an earlier run whose answers this item takes over: it counts for the item, not for the run. */
  addToItem(item: string, costUsd: number): void;
  spentUsd(item?: string): number;
}

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

interface Account {
  spentUsd: number;
  /** Of the calls in flight. Summed anew each time: a running difference of fractions never comes back to zero. */
  reserved: Set<{ usd: number }>;
}

function newAccount(): Account {
  return { spentUsd: 0, reserved: new Set() };
}

export function createSpending({ maxCostUsd, maxCostPerItemUsd }: BudgetLimits): Spending {
  const run = newAccount();
  const items = new Map<string, Account>();
  const waiting = new Set<() => void>();

  const accountOf = (item: string): Account => {
    const account = items.get(item) ?? newAccount();
    items.set(item, account);
    return account;
  };
  /** True: there is room; false: there will be when others settle. */
  const hasRoom = (account: Account, scope: 'item' | 'run', limitUsd: number | null, costUsd: number): boolean => {
    if (limitUsd === null) return true;
    if (account.spentUsd + costUsd > limitUsd) {
      throw new AgentosError({ code: 'over-budget', spentUsd: account.spentUsd, limitUsd, scope });
    }
    const reservedUsd = [...account.reserved].reduce((sum, { usd }) => sum + usd, 0);
    return account.spentUsd + reservedUsd + costUsd <= limitUsd;
  };
  const settled = (signal: AbortSignal): Promise<void> =>
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
    async reserve(item, costUsd, signal) {
      const account = accountOf(item);
      for (;;) {
        signal.throwIfAborted();
        const itemHas = hasRoom(account, 'item', maxCostPerItemUsd, costUsd);
        if (hasRoom(run, 'run', maxCostUsd, costUsd) && itemHas) break;
        await settled(signal);
      }
      const reserved = { usd: costUsd };
      for (const each of [account, run]) each.reserved.add(reserved);
      return {
        settle(actualUsd) {
          for (const each of [account, run]) {
            if (each.reserved.delete(reserved)) each.spentUsd += actualUsd;
          }
          for (const wake of waiting) wake();
        },
      };
    },
    addToItem(item, costUsd) {
      accountOf(item).spentUsd += costUsd;
    },
    spentUsd: (item) => (item === undefined ? run.spentUsd : (items.get(item)?.spentUsd ?? 0)),
  };
}
