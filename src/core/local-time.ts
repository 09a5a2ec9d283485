const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const TWO = (value: number): string => String(value).padStart(2, '0');

/** A moment for people, in their time zone: `2026-11-03 14:32:05`. Files keep ISO in UTC; what is no time stays as it is. */
export function localTime(at: string): string {
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return at;
  const day = [time.getFullYear(), time.getMonth() + 1, time.getDate()].map(TWO).join('-');
  return `${day} ${[time.getHours(), time.getMinutes(), time.getSeconds()].map(TWO).join(':')}`;
}

/** `14:32`, with the day where it is not today: `Wed 09:00`. */
export function localClock(atMs: number, nowMs: number): string {
  const time = new Date(atMs);
  const clock = `${TWO(time.getHours())}:${TWO(time.getMinutes())}`;
  const isToday = time.toDateString() === new Date(nowMs).toDateString();
  return isToday ? clock : `${WEEKDAYS[time.getDay()]} ${clock}`;
}

/** Waits up to this are counted in seconds; for longer ones people look at a clock. */
const SHORT_WAIT_MS = 90_000;

/** How long something waits from `at` on: `for 12 s`, `until 14:32`. */
export function waitText(forMs: number, at: string): string {
  const nowMs = Date.parse(at);
  if (forMs <= SHORT_WAIT_MS) return `for ${Math.max(1, Math.ceil(forMs / 1_000))} s`;
  return `until ${localClock(nowMs + forMs, nowMs)}`;
}
