const UNITS_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Node's timers hold 31 bits; a longer delay would fire at once. */
export const LONGEST_MS = 2 ** 31 - 1;

/** `90s`, `30m`, `2h`, `1h30m`, `0.5s`; null for anything else. */
export function readDuration(text: string): number | null {
  const trimmed = text.trim();
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(trimmed)) return null;
  let total = 0;
  for (const [, count, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(count) * (UNITS_MS[unit ?? ''] ?? 0);
  }
  return total;
}

/** The same for a setting: also null for zero, and for more than a timer can hold. */
export function parseDuration(text: string): number | null {
  const ms = readDuration(text);
  return ms !== null && ms > 0 && ms <= LONGEST_MS ? ms : null;
}

/** For people: `340 ms`, `12.3 s`, `4m 05s`, `2h 10m`. */
export function formatDuration(ms: number): string {
  // At these bounds, rounding would give 1000 ms or 60.0 s.
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 60_000) return '1m 00s';
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes}m ${String(Math.floor((ms % 60_000) / 1_000)).padStart(2, '0')}s`;
  return `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`;
}

/** For a flag: `1h30m`, `1m30s`. `parseDuration` reads it. */
export function durationFlag(ms: number): string {
  let left = Math.max(1, Math.round(ms));
  let text = '';
  for (const [unit, size] of Object.entries(UNITS_MS).toReversed()) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) text += `${count}${unit}`;
  }
  return text;
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const TWO = (value: number): string => String(value).padStart(2, '0');

/** For people, in their time zone: `2026-11-03 14:32:05`. Invalid times are returned unchanged. */
export function localTime(at: string): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at;
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(TWO).join('-');
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(TWO).join(':')}`;
}

/** `14:32`; with the day if it is not today: `Wed 09:00`. */
export function localClock(atMs: number, nowMs: number): string {
  const time = new Date(atMs);
  const clock = `${TWO(time.getHours())}:${TWO(time.getMinutes())}`;
  const isToday = time.toDateString() === new Date(nowMs).toDateString();
  return isToday ? clock : `${WEEKDAYS[time.getDay()]} ${clock}`;
}

/** Shorter waits are given in seconds, longer ones as a time of day. */
const SHORT_WAIT_MS = 90_000;

/** A wait that starts at `at`: `for 12 s`, `until 14:32`. */
export function waitText(forMs: number, at: string): string {
  const nowMs = Date.parse(at);
  if (forMs <= SHORT_WAIT_MS) return `for ${Math.max(1, Math.ceil(forMs / 1_000))} s`;
  return `until ${localClock(nowMs + forMs, nowMs)}`;
}
