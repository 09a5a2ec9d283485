import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import { handBack, renewLeases } from './backlog.ts';
import { type Database, isAway } from './database.ts';
import type { HeldItem } from './held-item.ts';

interface HeartbeatOptions {
  database: Database;
  machine: { id: string; name: string };
  leaseMs: number;
  /** The items that this machine holds. */
  held: ReadonlyMap<string, HeldItem>;
  /** A claim is under way: the database may list an item that is not in `held` yet. */
  isClaiming: () => boolean;
  /** Whether the machine gets notices: without them, only the next beat brings a cancellation. */
  isHeard: () => boolean;
  /** Called once, after all items were given up. */
  onRevoked: (error: AgentosError) => void;
  onLine: (line: string) => void;
  signal: AbortSignal;
}

export interface Heartbeat {
  /** Renews now. Also called when the hub says that something changed for this machine. */
  beat(): Promise<void>;
  /** The time now by the database's clock. */
  timestamp(): string;
  readonly closed: Promise<void>;
}

const LONGEST_INTERVAL_MS = 5_000;
const UNHEARD_INTERVAL_MS = 1_500;
/** Agents are stopped this long before a lease ends, so that they are gone when another machine takes the item. */
const MARGIN_MS = 6_000;

/** Renews the leases of a machine's items, gives up the items that it lost, and cancels those that someone asked to cancel. */
export function startHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { database, machine, leaseMs, held, signal, onLine } = options;
  let clockOffsetMs = 0;
  /** On the monotonic clock: the system's clock may be set. */
  let leaseEndsMs = performance.now() + leaseMs;
  /** Items that the database listed as ours at the last beat although we don't hold them. */
  let unclaimed = new Set<number>();

  const renew = async (): Promise<void> => {
    const beganMs = performance.now();
    // An item that is claimed meanwhile is not in the answer.
    const asked = [...held.values()];
    const renewed = await renewLeases(database, machine.id, leaseMs);
    leaseEndsMs = beganMs + leaseMs;
    clockOffsetMs = renewed.nowMs - Date.now();
    if (renewed.isRevoked) {
      for (const item of held.values()) item.lose();
      return options.onRevoked(new AgentosError({ code: 'machine-revoked', machine: machine.name }));
    }
    const listed = new Map(renewed.held.map((item) => [item.id, item]));
    for (const item of asked) {
      const { id, fence } = item.claim;
      const there = listed.get(id);
      if (there?.fence !== fence) item.lose();
      if (there?.cancel) item.cancel(there.cancel);
    }
    await handBackUnclaimed(renewed.held);
  };

  /** The answer to a claim can get lost: the item is ours in the database, and no worker knows of it. */
  const handBackUnclaimed = async (listed: readonly { id: number; fence: number }[]): Promise<void> => {
    const known = new Set([...held.values()].map(({ claim }) => claim.id));
    const found = options.isClaiming() ? [] : listed.filter(({ id }) => !known.has(id));
    for (const item of found) if (unclaimed.has(item.id)) await handBack(database, item);
    unclaimed = new Set(found.map(({ id }) => id));
  };

  const beat = async (): Promise<void> => {
    try {
      await renew();
    } catch (error) {
      if (!isAway(error)) throw error;
      const isEnding = performance.now() > leaseEndsMs - Math.min(MARGIN_MS, leaseMs / 3);
      if (!isEnding || held.size === 0) return;
      onLine('the database cannot be reached and the lease ends: stopping the items that run here');
      for (const item of held.values()) item.lose();
    }
  };

  const intervalMs = (): number => Math.min(options.isHeard() ? LONGEST_INTERVAL_MS : UNHEARD_INTERVAL_MS, leaseMs / 9);
  const closed = (async () => {
    while (!signal.aborted) {
      await sleep(intervalMs(), undefined, { signal }).catch(() => undefined);
      if (!signal.aborted) await beat();
    }
  })();
  return { beat, timestamp: () => new Date(Date.now() + clockOffsetMs).toISOString(), closed };
}
