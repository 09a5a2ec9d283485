import type { Clock } from '../../src/core/clock.ts';

/** Time that passes only when it is told to, so that what takes minutes is over in a moment and always the same. */
export interface VirtualClock extends Clock {
  /** Wakes everybody who is due on the way, in order, and lets them react before time goes on. */
  advance(ms: number): Promise<void>;
  /** Somebody sets the date, by so much. */
  setDateBy(ms: number): void;
  /** Nothing here runs for so long, while time passes for everybody else. */
  suspend(ms: number): void;
  /** Goes on from one sleeper to the next until the promise is settled. */
  runUntil(settled: Promise<unknown>): Promise<void>;
}

interface Sleeper {
  atMs: number;
  wake: () => void;
}

export function createVirtualClock(startMs = Date.parse('2026-01-15T12:00:00Z')): VirtualClock {
  let nowMs = startMs;
  let dateOffMs = 0;
  let lostMs = 0;
  const sleepers: Sleeper[] = [];

  const leave = (sleeper: Sleeper): void => {
    const index = sleepers.indexOf(sleeper);
    if (index >= 0) sleepers.splice(index, 1);
    sleeper.wake();
  };
  /** In order of time; of equals, whoever lay down first. */
  const add = (sleeper: Sleeper): void => {
    let index = sleepers.length;
    while (index > 0 && (sleepers[index - 1]?.atMs ?? 0) > sleeper.atMs) index -= 1;
    sleepers.splice(index, 0, sleeper);
  };
  const react = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const wakeNext = (): void => {
    const next = sleepers[0];
    if (next === undefined) return;
    nowMs = Math.max(nowMs, next.atMs);
    leave(next);
  };

  return {
    now: () => nowMs,
    suspendedMs: () => lostMs,
    dateMs: () => nowMs + lostMs + dateOffMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = { atMs: nowMs + Math.max(0, ms), wake: resolve };
        add(sleeper);
        signal?.addEventListener('abort', () => leave(sleeper), { once: true });
      }),
    timer(ms, run) {
      let sleeper: Sleeper | null = null;
      const stop = (): void => {
        if (sleeper !== null) sleepers.splice(sleepers.indexOf(sleeper), 1);
        sleeper = null;
      };
      const refresh = (): void => {
        stop();
        sleeper = {
          atMs: nowMs + ms,
          wake: () => {
            sleeper = null;
            run();
          },
        };
        add(sleeper);
      };
      refresh();
      return { refresh, stop };
    },
    setDateBy(ms) {
      dateOffMs += ms;
    },
    suspend(ms) {
      lostMs += ms;
    },
    async advance(ms) {
      const endMs = nowMs + ms;
      await react();
      while ((sleepers[0]?.atMs ?? Number.POSITIVE_INFINITY) <= endMs) {
        wakeNext();
        await react();
      }
      nowMs = endMs;
      await react();
    },
    async runUntil(settled) {
      let over = false;
      const end = (): void => {
        over = true;
      };
      settled.then(end, end);
      for (;;) {
        await react();
        if (over) return;
        wakeNext();
      }
    },
  };
}
