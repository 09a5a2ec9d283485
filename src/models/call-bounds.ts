import { systemClock } from '../core/clock.ts';
import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';

/** A design is some tens of kilobytes; a reply beyond this is a fault, and must not fill the memory. */
export const MAX_REPLY_BYTES = 8 * 1024 * 1024;

export interface CallLimits {
  /** Without a sign of life for this long, the call is taken for dead. */
  idleTimeoutMs: number;
  /** However alive it is, it ends here. */
  ceilingMs: number;
}

interface BoundedCall {
  /** Fires at a bound or when the caller gives up; its reason is the error that the call ends with. */
  signal: AbortSignal;
  alive: () => void;
}

/** Runs `work` between its bounds. Once the signal has fired, its reason is the error, whatever `work` makes of it. */
export async function withinBounds<T>(
  { what, limits, signal }: { what: string; limits: CallLimits; signal: AbortSignal },
  work: (call: BoundedCall) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const giveUp = (): void => controller.abort(signal.reason);
  signal.addEventListener('abort', giveUp, { once: true });
  const idle = systemClock.timer(Math.min(limits.idleTimeoutMs, LONGEST_MS), () =>
    controller.abort(new AgentosError({ code: 'call-idle', what, afterMs: limits.idleTimeoutMs }, { retry: 'idle' })),
  );
  const ceiling = systemClock.timer(Math.min(limits.ceilingMs, LONGEST_MS), () =>
    controller.abort(new AgentosError({ code: 'call-ceiling', what, afterMs: limits.ceilingMs }, { retry: 'ceiling' })),
  );
  try {
    return await work({ signal: controller.signal, alive: () => idle.refresh() });
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    idle.stop();
    ceiling.stop();
    signal.removeEventListener('abort', giveUp);
  }
}

/** Settles like `work`, but at once when the signal fires, also if `work` doesn't react to it. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
