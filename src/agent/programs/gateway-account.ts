import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError, revived } from '../../core/errors.ts';
import type { ModelUse, Usage } from '../../core/money.ts';
import { detailOf } from '../../core/reason.ts';
import { ACCOUNT_PATH, type Account } from '../../gateway/ledger.ts';

const MOST_MS = 10_000;

/** The gateway counts a call shortly after its client has gone. */
const COUNTING_MS = 2_000;
const LOOK_EVERY_MS = 20;

/** Reads the gateway's account of the item with this token. */
export function createAccountReader(endpoint: string, token: string) {
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
    /** Waits until no call is in flight, or too long. */
    async settled(signal: AbortSignal): Promise<Account> {
      let account = await read(signal);
      for (let waitedMs = 0; account.inFlight > 0 && waitedMs < COUNTING_MS; waitedMs += LOOK_EVERY_MS) {
        await sleep(LOOK_EVERY_MS, undefined, { signal });
        account = await read(signal);
      }
      return account;
    },
  };
}

/** What was used between two readings. */
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
  /** At the start of the call. */
  before: Account;
  /** A request of the agent is in flight, or waits for quota. */
  onBusy: () => void;
  /** The gateway refused a request, and a retry is useless. */
  onRefused: (error: AgentosError) => void;
}

/**
 * An agent prints nothing while it waits for an answer or, for up to an hour, for quota; the gateway knows, and limits these
 * waits. Returns the function that stops the watch.
 */
export function watchGateway({ idleTimeoutMs, read, before, onBusy, onRefused }: GatewayWatch): () => void {
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      const account = await read();
      if (account.inFlight > 0) return onBusy();
      const refusal = newRefusal(before, account);
      if (refusal !== null && isFinal(refusal)) onRefused(refusal);
    } catch {
      // No sign of life: the idle timeout ends the call.
    } finally {
      looking = false;
    }
  };
  const timer = setInterval(() => void look(), Math.min(LONGEST_INTERVAL_MS, Math.max(20, idleTimeoutMs / 4)));
  return () => clearInterval(timer);
}

/** The gateway's last refusal, if it is newer than `before`. */
export function newRefusal(before: Account, after: Account): AgentosError | null {
  return after.refusal === null || after.refusals === before.refusals ? null : revived(after.refusal);
}

function isFinal({ code, retry }: AgentosError): boolean {
  return code === 'over-budget' || retry === 'quota';
}
