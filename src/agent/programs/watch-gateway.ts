import { AgentosError } from '../../core/errors.ts';
import type { Account } from '../../gateway/ledger.ts';

const LONGEST_INTERVAL_MS = 2_000;

interface GatewayWatch {
  idleTimeoutMs: number;
  read: () => Promise<Account>;
  /** Refusals before the call are somebody else's. */
  before: Account;
  /** A request of the agent's is under way, or waits for quota. */
  onBusy: () => void;
  /** The agent was told that nothing can be had, and asking again won't help. */
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
