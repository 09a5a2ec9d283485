import { type Clock, systemClock } from '../../../src/core/clock.ts';

/**
 * A clock whose time runs `factor` times as fast as the wall's, from `epochMs` on. Two processes that agree on factor
 * and epoch agree on every instant.
 */
export function createDilatedClock(factor: number, epochMs: number = Date.now()): Clock {
  // Not Date.now(): its whole milliseconds would be `factor` milliseconds here.
  const wall = (): number => performance.timeOrigin + performance.now();
  const now = (): number => epochMs + (wall() - epochMs) * factor;
  return {
    now,
    dateMs: now,
    suspendedMs: () => 0,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    timer: (ms, run) => systemClock.timer(ms / factor, run),
  };
}
