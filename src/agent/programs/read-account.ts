import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../../core/errors.ts';
import type { Usage } from '../../core/money.ts';
import { ACCOUNT_PATH, type Account } from '../../gateway/ledger.ts';
import { detailOf } from '../../models/detail.ts';

const MOST_MS = 10_000;

/** A call that ended with its caller is booked a moment later. */
const BOOKING_MS = 2_000;
const LOOK_EVERY_MS = 20;

export interface AccountReader {
  read(signal: AbortSignal): Promise<Account>;
  /** When nothing is under way any more, or it has taken too long. */
  settled(signal: AbortSignal): Promise<Account>;
}

/** The gateway's account of the item that the token is for. */
export function createAccountReader(endpoint: string, token: string): AccountReader {
  const url = new URL(ACCOUNT_PATH, endpoint);
  const read = async (signal: AbortSignal): Promise<Account> => {
    try {
      const response = await fetch(url, {
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]),
      });
      if (!response.ok) throw new Error(`status ${response.status}`);
      return (await response.json()) as Account;
    } catch (error) {
      signal.throwIfAborted();
      const detail = detailOf(error instanceof Error ? error.message : String(error), token);
      const problem = { code: 'provider-unreachable', provider: 'gateway', detail } as const;
      throw new AgentosError(problem, { retry: 'transient', cause: error });
    }
  };
  return {
    read,
    async settled(signal) {
      let account = await read(signal);
      for (let waitedMs = 0; account.inFlight > 0 && waitedMs < BOOKING_MS; waitedMs += LOOK_EVERY_MS) {
        await sleep(LOOK_EVERY_MS, undefined, { signal });
        account = await read(signal);
      }
      return account;
    },
  };
}

/** What was used between two looks. */
export function usedBetween(before: Account, after: Account): { usage: Usage; costUsd: number | null } {
  const difference = (field: keyof Usage): number => after.usage[field] - before.usage[field];
  return {
    usage: {
      inputTokens: difference('inputTokens'),
      outputTokens: difference('outputTokens'),
      cacheReadTokens: difference('cacheReadTokens'),
      cacheWriteTokens: difference('cacheWriteTokens'),
    },
    costUsd: after.unpriced > before.unpriced ? null : after.costUsd - before.costUsd,
  };
}
