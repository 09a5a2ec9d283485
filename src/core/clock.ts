/** Time as a parameter, so that everything which waits can be tested without waiting. */
export interface Clock {
  /**
   * For deadlines, waits and durations: milliseconds in which this process could run. It never goes back, setting the
   * date doesn't move it, and it stands still while the process is suspended. It means nothing to another process.
   */
  now(): number;
  /** How long the process has been suspended so far; `now() + suspendedMs()` passed for everybody else. */
  suspendedMs(): number;
  /** For timestamps and for dates that others name: milliseconds since 1970. It may jump either way. */
  dateMs(): number;
  /** Ends early, without an error, when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Runs it once, when so much time has passed on this clock. */
  timer(ms: number, run: () => void): Timer;
}

export interface Timer {
  /** Counts from now on, also when it has run already. */
  refresh(): void;
  stop(): void;
}

/** How often the process looks whether it was suspended. */
const TICK_MS = 1_000;
/** A look that is late by more was not only delayed by a busy machine. */
const LATE_MS = 2_000;

interface SystemClock extends Clock {
  /** Calls back after each suspension with its length. Returns what ends that. */
  onSuspended(listener: (forMs: number) => void): () => void;
}

/**
 * The kernel's monotonic clock keeps running while a process is stopped (Ctrl+Z, a debugger, a paused virtual machine) or its
 * event loop is blocked, and then every timer fires at once, before any sign of life that came meanwhile is read. So the
 * process looks at the clock every second: what it missed is taken off. Whoever asks for the time first does it, so that
 * the gap is never visible.
 */
export function createSystemClock({ tickMs = TICK_MS, lateMs: mostLateMs = LATE_MS } = {}): SystemClock {
  const listeners = new Set<(forMs: number) => void>();
  let seenMs: number | null = null;
  let lostMs = 0;

  const look = (): number => {
    const nowMs = performance.now();
    if (seenMs === null) setInterval(look, tickMs).unref();
    const lateMs = nowMs - (seenMs ?? nowMs) - tickMs;
    seenMs = nowMs;
    if (lateMs > mostLateMs) {
      lostMs += lateMs;
      for (const listener of listeners) queueMicrotask(() => listener(Math.round(lateMs)));
    }
    return nowMs;
  };
  const now = (): number => Math.floor(look() - lostMs);

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
      look();
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
      look();
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export const systemClock: SystemClock = createSystemClock();
