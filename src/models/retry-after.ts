import { readDuration } from '../core/duration.ts';
import { type Fields, fieldsOf, listOf, textOf } from '../core/json.ts';

/** An answer that asks us to wait: headers with lower-case names, and the parsed body if it is JSON. */
interface RefusedAnswer {
  headers: Readonly<Record<string, string>>;
  body: unknown;
  message: string;
}

/**
 * How long the vendor asks us to wait; null: it doesn't say. The most precise source comes first. Only a daily quota goes before
 * all others: the delay that comes with it may be seconds, although nothing works before midnight.
 */
export function readRetryAfterMs(answer: RefusedAnswer, nowMs: number): number | null {
  return readRetryHintMs(answer, nowMs) ?? readResetHeaders(answer.headers, serverTimeMs(answer.headers, nowMs));
}

/** The same without the reset headers. They say when a limit is full again, which is much later than usable again. */
export function readRetryHintMs(answer: RefusedAnswer, nowMs: number): number | null {
  const details = errorDetails(answer.body);
  if (details.some(isDailyQuota)) return untilPacificMidnightMs(nowMs);
  return (
    numberOf(answer.headers['retry-after-ms']) ??
    readRetryAfterHeader(answer.headers['retry-after'], serverTimeMs(answer.headers, nowMs)) ??
    details.map((detail) => durationOf(textOf(detail['retryDelay']))).find((delayMs) => delayMs !== null) ??
    durationOf(/\b(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)/i.exec(answer.message)?.[1])
  );
}

/** The `date` header has whole seconds, so a smaller difference says nothing. */
const TOLERATED_SKEW_MS = 2_000;

/** The time on the vendor's clock, which the times in its headers refer to. */
export function serverTimeMs(headers: Readonly<Record<string, string>>, nowMs: number): number {
  const serverMs = Date.parse(headers['date'] ?? '');
  return Math.abs(serverMs - nowMs) > TOLERATED_SKEW_MS ? serverMs : nowMs;
}

function readRetryAfterHeader(value: string | undefined, nowMs: number): number | null {
  const seconds = numberOf(value);
  if (seconds !== null) return seconds * 1_000;
  return value === undefined ? null : until(Date.parse(value), nowMs);
}

/**
 * `x-ratelimit-reset-tokens: 6m0s` or `anthropic-ratelimit-tokens-reset: 2026-01-01T00:00:00Z`. Of several limits, those with
 * nothing left count, or all if none is reported as empty; the latest reset decides.
 */
function readResetHeaders(headers: Readonly<Record<string, string>>, nowMs: number): number | null {
  const limits = Object.entries(headers).flatMap(([name, value]) => {
    if (!/ratelimit.*reset/.test(name)) return [];
    const delayMs = durationOf(value) ?? (/^\d{4}-\d\d-\d\dT/.test(value) ? until(Date.parse(value), nowMs) : null);
    return delayMs === null
      ? []
      : [{ delayMs, exhausted: numberOf(headers[name.replace('reset', 'remaining')]) === 0 }];
  });
  const exhausted = limits.filter((limit) => limit.exhausted);
  const relevant = exhausted.length > 0 ? exhausted : limits;
  return relevant.length === 0 ? null : Math.max(...relevant.map((limit) => limit.delayMs));
}

/** Vendors' delays are rounded up to whole milliseconds. */
export function durationOf(value: string | undefined): number | null {
  const ms = readDuration(value ?? '');
  return ms === null ? null : Math.ceil(ms);
}

function until(whenMs: number, nowMs: number): number | null {
  return Number.isNaN(whenMs) ? null : Math.max(0, whenMs - nowMs);
}

/** The number in a header; null: there is none. */
export function numberOf(value: string | undefined): number | null {
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

/** Google's `error.details[]`: a list of typed objects. */
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
  // On two days a year, the day has 23 or 25 hours.
  const off = sincePacificMidnightMs(nowMs + guess);
  return off > DAY_MS / 2 ? guess + DAY_MS - off : guess - Math.min(off, HOUR_MS);
}

function sincePacificMidnightMs(atMs: number): number {
  const parts = new Intl.DateTimeFormat('en-US', PACIFIC).formatToParts(atMs);
  const part = (type: string): number => Number(parts.find((candidate) => candidate.type === type)?.value ?? 0);
  return part('hour') * HOUR_MS + part('minute') * 60_000 + part('second') * 1_000 + (atMs % 1_000);
}
