import { type Fields, fieldsOf, listOf, textOf } from './json-fields.ts';

/** The answer that asks us to wait: headers by lower-case name, and the parsed body if it was JSON. */
export interface RefusedAnswer {
  headers: Readonly<Record<string, string>>;
  body: unknown;
  message: string;
}

/**
 * How long the vendor asks to wait, or null where it doesn't say. The most precise source comes first; only a daily quota
 * goes before all, because the delay that comes with it may be seconds although nothing works before midnight.
 */
export function readRetryAfterMs(answer: RefusedAnswer, nowMs: number): number | null {
  return readRetryHintMs(answer, nowMs) ?? readResetHeaders(answer.headers, serverTimeMs(answer.headers, nowMs));
}

/** The same without the reset headers: these say when a limit is full again, which is much later than usable again. */
export function readRetryHintMs(answer: RefusedAnswer, nowMs: number): number | null {
  const details = errorDetails(answer.body);
  if (details.some(isDailyQuota)) return untilPacificMidnightMs(nowMs);
  return (
    number(answer.headers['retry-after-ms']) ??
    readRetryAfterHeader(answer.headers['retry-after'], serverTimeMs(answer.headers, nowMs)) ??
    first(details, (detail) => readDuration(textOf(detail['retryDelay']))) ??
    readDuration(/\b(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)/i.exec(answer.message)?.[1])
  );
}

/** The `date` header has whole seconds: below this, our own clock is the better one. */
const TOLERATED_SKEW_MS = 2_000;

/** What the other side's clock shows: instants in its headers mean that clock, which may be off from ours. */
export function serverTimeMs(headers: Readonly<Record<string, string>>, nowMs: number): number {
  const serverMs = Date.parse(headers['date'] ?? '');
  return Math.abs(serverMs - nowMs) > TOLERATED_SKEW_MS ? serverMs : nowMs;
}

function readRetryAfterHeader(value: string | undefined, nowMs: number): number | null {
  const seconds = number(value);
  if (seconds !== null) return seconds * 1_000;
  return value === undefined ? null : until(Date.parse(value), nowMs);
}

/**
 * `x-ratelimit-reset-tokens: 6m0s` or `anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:00Z`. Several limits are
 * reported side by side: those with nothing left count, or all where none says so; the last of them to be free decides.
 */
function readResetHeaders(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const limits = Object.entries(headers).flatMap(([name, value]) => {
    if (!/ratelimit.*reset/.test(name)) return [];
    const delayMs = readDuration(value) ?? (/^\d{4}-\d\d-\d\dT/.test(value) ? until(Date.parse(value), nowMs) : null);
    return delayMs === null ? [] : [{ delayMs, exhausted: number(headers[name.replace('reset', 'remaining')]) === 0 }];
  });
  const exhausted = limits.filter((limit) => limit.exhausted);
  const relevant = exhausted.length > 0 ? exhausted : limits;
  return relevant.length === 0 ? null : Math.max(...relevant.map((limit) => limit.delayMs));
}

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `634ms`, `34.4s`, `6m0s`, `1h2m3s`. */
export function readDuration(value: string | undefined): number | null {
  if (value === undefined || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(value.trim())) return null;
  let total = 0;
  for (const [, count, unit] of value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g))
    total += Number(count) * (UNIT_MS[unit ?? ''] ?? 0);
  return Math.ceil(total);
}

function until(whenMs: number, nowMs: number): number | null {
  return Number.isNaN(whenMs) ? null : Math.max(0, whenMs - nowMs);
}

function number(value: string | undefined): number | null {
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

function first<T>(items: readonly T[], read: (item: T) => number | null): number | null {
  for (const item of items) {
    const value = read(item);
    if (value !== null) return value;
  }
  return null;
}

/** Google's `error.details[]`: a list of typed objects, any of which may be missing. */
export function errorDetails(body: unknown): Fields[] {
  const whole = Array.isArray(body) ? body[0] : body;
  return listOf(fieldsOf(fieldsOf(whole)['error'] ?? whole)['details']);
}

function isDailyQuota(detail: Fields): boolean {
  return listOf(detail['violations']).some((violation) => textOf(violation['quotaId'])?.includes('PerDay') ?? false);
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const PACIFIC = {
  timeZone: 'America/Los_Angeles',
  hourCycle: 'h23',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
} as const;

function untilPacificMidnightMs(nowMs: number): number {
  const guess = DAY_MS - sincePacificMidnightMs(nowMs);
  // Once a year each, the day has 23 or 25 hours.
  const off = sincePacificMidnightMs(nowMs + guess);
  return off > DAY_MS / 2 ? guess + DAY_MS - off : guess - Math.min(off, HOUR_MS);
}

function sincePacificMidnightMs(atMs: number): number {
  const parts = new Intl.DateTimeFormat('en-US', PACIFIC).formatToParts(atMs);
  const part = (type: string): number => Number(parts.find((candidate) => candidate.type === type)?.value ?? 0);
  return part('hour') * HOUR_MS + part('minute') * 60_000 + part('second') * 1_000 + (atMs % 1_000);
}
