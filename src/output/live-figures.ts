import type { WaitReason } from '../core/events.ts';
import { localClock } from '../core/local-time.ts';
import type { Wait } from '../core/run-state.ts';

/** `0:42`, `4:05`, `1:02:03`: of a width that changes seldom, unlike words for a duration. */
export function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value % 60).padStart(2, '0');
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

/** `950`, `12.3k`, `1.23M` */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

export function shortMoney(usd: number | null): string {
  if (usd === null) return '$?';
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Up to here a wait counts down; beyond, the time of day says more. */
const COUNTDOWN_MS = 600_000;

const LONG: Record<WaitReason, string> = {
  quota: 'waits for quota',
  pace: 'paced',
  key: 'paced, waits for a key',
  retry: 'waits to retry',
};

/** `waits for quota, 0:42 left`, `waits for quota until 14:32`; where room is short `quota 0:42`, `quota 14:32`. */
export function waitWords({ reason, untilMs }: Wait, nowMs: number, roomy: boolean): string {
  const name = roomy ? LONG[reason] : reason;
  const leftMs = untilMs === null ? 0 : untilMs - nowMs;
  // A time that has passed was too early; there is no other.
  if (untilMs === null || leftMs <= 0) return name;
  if (leftMs < COUNTDOWN_MS) return roomy ? `${name}, ${clockTime(leftMs)} left` : `${name} ${clockTime(leftMs)}`;
  return `${name} ${roomy ? 'until ' : ''}${localClock(untilMs, nowMs)}`;
}
