/** Time as a parameter, so that everything that waits can be tested without waiting. */
export interface Clock {
  /**
   * For deadlines, waits and durations: milliseconds that this process could run. It never goes back, does not depend on the date,
   * and stands still while the process is suspended. It means nothing to another process.
   */
  now(): number;
  /** How long the process was suspended so far; `now() + suspendedMs()` is the time that really passed. */
  suspendedMs(): number;
  /** For timestamps and dates: milliseconds since 1970. It may jump in either direction. */
  dateMs(): number;
  /** Ends early, without an error, when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once, after this much time on this clock. */
  timer(ms: number, run: () => void): Timer;
}

export interface Timer {
  /** Restarts it, even if it has run. */
  refresh(): void;
  stop(): void;
}

/** How often the process checks whether it was suspended. */
const TICK_MS = 1_000;
/** A check that is later than this was not just delayed by a busy machine. */
const LATE_MS = 2_000;

interface SystemClock extends Clock {
  /** Calls back after each suspension with its length. Returns a function that unsubscribes. */
  onSuspended(listener: (forMs: number) => void): () => void;
}

/**
 * The kernel's monotonic clock keeps running while a process is stopped (Ctrl+Z, a debugger, a paused virtual machine) or its event
 * loop is blocked. Then every timer fires at once, before any sign of life that arrived meanwhile is read. So the process checks the
 * clock every second, and subtracts the time it missed. Every call of `now` checks too, so the gap is never visible.
 */
export function createSystemClock({ tickMs = TICK_MS, lateMs: mostLateMs = LATE_MS } = {}): SystemClock {
  const listeners = new Set<(forMs: number) => void>();
  let seenMs: number | null = null;
  let lostMs = 0;

  const check = (): number => {
    const nowMs = performance.now();
    if (seenMs === null) setInterval(check, tickMs).unref();
    const lateMs = nowMs - (seenMs ?? nowMs) - tickMs;
    seenMs = nowMs;
    if (lateMs > mostLateMs) {
      lostMs += lateMs;
      for (const listener of listeners) queueMicrotask(() => listener(Math.round(lateMs)));
    }
    return nowMs;
  };
  const now = (): number => Math.floor(check() - lostMs);

  const timer = (ms: number, run: () => void): Timer => {
    let dueMs = now() + ms;
    let isStopped = false;
    let handle: NodeJS.Timeout | null = null;
    const fire = (): void => {
      const leftMs = dueMs - now();
      handle = leftMs > 0 ? setTimeout(fire, leftMs) : null;
      if (leftMs <= 0) run();
    };
    handle = setTimeout(fire, ms);
    return {
      refresh() {
        dueMs = now() + ms;
        if (!isStopped) handle ??= setTimeout(fire, ms);
      },
      stop() {
        isStopped = true;
        if (handle !== null) clearTimeout(handle);
        handle = null;
      },
    };
  };

  return {
    now,
    suspendedMs() {
      check();
      return Math.floor(lostMs);
    },
    dateMs: () => Date.now(),
    timer,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const done = (): void => {
          waiting.stop();
          signal?.removeEventListener('abort', done);
          resolve();
        };
        const waiting = timer(ms, done);
        signal?.addEventListener('abort', done, { once: true });
      }),
    onSuspended(listener) {
      check();
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export const systemClock: SystemClock = createSystemClock();

/** Settles like `work`, but rejects at once when the signal is aborted, even if `work` ignores it. */
export function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
