import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../../core/errors.ts';
import type { ModelUse, Usage } from '../../core/money.ts';
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
export function usedBetween(
  before: Account,
  after: Account,
): { usage: Usage; costUsd: number | null; models: ModelUse[] } {
  return {
    usage: usageBetween(before.usage, after.usage),
    costUsd: after.unpriced > before.unpriced ? null : after.costUsd - before.costUsd,
    models: after.models.flatMap((use) => {
      const known = before.models.find(({ model }) => model === use.model);
      if (known === undefined) return [use];
      if (known.calls === use.calls) return [];
      const costUsd = use.costUsd === null || known.costUsd === null ? null : use.costUsd - known.costUsd;
      return [{ ...use, calls: use.calls - known.calls, usage: usageBetween(known.usage, use.usage), costUsd }];
    }),
  };
}

function usageBetween(before: Usage, after: Usage): Usage {
  return {
    inputTokens: after.inputTokens - before.inputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    cacheReadTokens: after.cacheReadTokens - before.cacheReadTokens,
    cacheWriteTokens: after.cacheWriteTokens - before.cacheWriteTokens,
  };
}

const LONGEST_INTERVAL_MS = 2_000;

interface GatewayWatch {
  idleTimeoutMs: number;
  read: () => Promise<Account>;
  /** Refusals before the call are not this call's. */
  before: Account;
  /** A request of the agent's is under way, or waits for quota. */
  onBusy: () => void;
  /** The gateway refused it, and asking again won't help. */
  onHopeless: (error: AgentosError) => void;
}

/**
 * An agent says nothing while it waits for an answer, and for quota that may take an hour. The gateway knows, and bounds
 * such waits itself. Returns what stops the watch.
 */
export function watchGateway({ idleTimeoutMs, read, before, onBusy, onHopeless }: GatewayWatch): () => void {
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      const account = await read();
      if (account.inFlight > 0) return onBusy();
      const refusal = newRefusal(before, account);
      if (refusal !== null && isHopeless(refusal)) onHopeless(refusal);
    } catch {
      // Without an answer there is no sign of life either; the idle bound does the rest.
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(() => void look(), Math.min(LONGEST_INTERVAL_MS, Math.max(20, idleTimeoutMs / 4)));
  return () => clearInterval(timer);
}

/** Why the last call came to nothing, if it did and was made since. */
export function newRefusal(before: Account, after: Account): AgentosError | null {
  if (after.refusal === null || after.refusals === before.refusals) return null;
  return new AgentosError(after.refusal.problem, { retry: after.refusal.retry });
}

function isHopeless({ code, retry }: AgentosError): boolean {
  return code === 'over-budget' || retry === 'quota';
}
