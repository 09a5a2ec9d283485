import type { Clock } from '../core/clock.ts';
import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { Lease, LeaseRequest, Outlook, Pool } from '../pool/port.ts';

/** Waits shorter than this are not worth an event. */
const MOMENT_MS = 1_000;

export interface LeaseWaitOptions {
  pool: Pick<Pool, 'acquire' | 'outlook'>;
  clock: Clock;
  /** All waits of one request together, whatever the pool thinks. */
  boundMs: number;
  onWaiting: (outlook: Outlook) => void;
  onResumed: (waitedMs: number, outlook: Outlook) => void;
}

/** The waits of one request for its keys. */
export interface LeaseWait {
  readonly waitedMs: number;
  /** Also for a retry: the pool knows it by the request, and lets it go first. */
  next(): Promise<Lease>;
}

export function createLeaseWait(
  { pool, clock, boundMs, onWaiting, onResumed }: LeaseWaitOptions,
  { signal, ...asked }: LeaseRequest,
): LeaseWait {
  const over = new AbortController();
  const request: LeaseRequest = { ...asked, signal: AbortSignal.any([signal, over.signal]) };
  let waitedMs = 0;

  const next = async (): Promise<Lease> => {
    const fromMs = clock.now();
    const leftMs = boundMs - waitedMs;
    const granted = new AbortController();
    let waiting: Outlook | null = null;
    const watch = async (): Promise<void> => {
      await clock.sleep(Math.max(0, Math.min(MOMENT_MS, leftMs)), granted.signal);
      if (granted.signal.aborted) return;
      waiting = pool.outlook(request);
      onWaiting(waiting);
      await clock.sleep(Math.max(0, leftMs - MOMENT_MS), granted.signal);
      if (!granted.signal.aborted) over.abort(waitedTooLong(request.vendor, boundMs));
    };
    void watch();
    try {
      return await pool.acquire(request);
    } finally {
      granted.abort();
      const tookMs = clock.now() - fromMs;
      waitedMs += tookMs;
      if (waiting !== null) onResumed(tookMs, waiting);
    }
  };
  return {
    get waitedMs() {
      return waitedMs;
    },
    next,
  };
}

function waitedTooLong(provider: string, boundMs: number): AgentosError {
  const detail = `no key came free within ${formatDuration(boundMs)}`;
  return new AgentosError(
    { code: 'provider-quota', provider, detail, retryAfterMs: null, status: null },
    { retry: 'quota' },
  );
}
