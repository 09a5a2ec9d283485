import { systemClock } from '../core/clock.ts';
import { LONGEST_MS } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';

/** A design has tens of kilobytes; a longer reply is a fault, and must not fill the memory. */
export const MAX_REPLY_BYTES = 8 * 1024 * 1024;

export interface CallLimits {
  /** A call without a sign of life for this long is dead. */
  idleTimeoutMs: number;
  /** A call ends after this time, even if it is alive. */
  ceilingMs: number;
}

interface BoundedCall {
  /** Aborted at a bound, or when the caller gives up. Its reason is the error of the call. */
  signal: AbortSignal;
  alive: () => void;
}

/** Runs `work` within its bounds. Once the signal is aborted, its reason is the error, whatever `work` throws. */
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
