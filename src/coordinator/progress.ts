import type { Clock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord } from '../core/errors.ts';
import { nextAttemptDelayMs } from '../core/retry-policy.ts';

/** An item that is under way, over all its attempts. */
export interface Progress<Item> {
  item: Item;
  attempts: number;
  startedAt: number;
  /** Aborted with the reason when its time is up. */
  deadline: AbortController;
  /** Lets go of the item; called once, at its end. */
  close: () => void;
}

interface Bounds {
  timeoutMs: number;
  maxRetries: number;
  claim?: (id: string) => () => void;
  random?: () => number;
}

/** Throws what the claim throws. */
export function beginProgress<Item extends { id: string }>(
  item: Item,
  { claim, timeoutMs }: Bounds,
  clock: Clock,
): Progress<Item> {
  const release = claim?.(item.id);
  const deadline = new AbortController();
  const timer = clock.timer(timeoutMs, () =>
    deadline.abort(new AgentosError({ code: 'item-timeout', afterMs: timeoutMs })),
  );
  const close = (): void => {
    timer.stop();
    release?.();
  };
  return { item, attempts: 0, startedAt: clock.now(), deadline, close };
}

/** Null: no further attempt. A wait that can't end in time is not begun: the item says now what it would say then. */
export function delayBeforeNextMs(
  { attempts, startedAt }: Progress<unknown>,
  { problem, retry }: ErrorRecord,
  { maxRetries, timeoutMs, random = Math.random }: Bounds,
  clock: Clock,
): number | null {
  const retryAfterMs = problem.code === 'provider-quota' ? problem.retryAfterMs : null;
  const delayMs = nextAttemptDelayMs({ retry, attempts, maxRetries, retryAfterMs, random: random() });
  return delayMs === null || clock.now() + delayMs >= startedAt + timeoutMs ? null : delayMs;
}
