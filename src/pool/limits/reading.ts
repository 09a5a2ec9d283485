import { fieldsOf, textOf } from '../../models/json-fields.ts';

/** What a limit counts. `tokens`: input and output together, where a vendor doesn't count them apart. */
export type Dimension = 'requests' | 'tokens' | 'input-tokens' | 'output-tokens';

/** One limit as a response describes it. */
export interface Reading {
  perMinute: number;
  /** Null where the response names the limit, but not what is left of it. */
  remaining: { least: number; most: number } | null;
  /** How much can be had at once; null: not known. */
  burst: number | null;
}

export type Readings = Partial<Record<Dimension, Reading>>;

/** What an answer says about limits, in one form for all vendors. */
export interface AnswerLimits {
  /** Who is charged: keys whose answers name the same one draw on one quota. Null: not said. */
  organisation: string | null;
  readings: Readings;
  /** Of a refusal: what it ran into. Null: not said. */
  refused: Dimension | 'concurrency' | null;
}

/** The words of an error's body, in any vendor's form; empty where there are none. */
export function errorMessage(body: unknown): string {
  const whole = fieldsOf(Array.isArray(body) ? body[0] : body);
  return textOf(fieldsOf(whole['error'] ?? whole)['message']) ?? '';
}

type Headers = Readonly<Record<string, string>>;

export function headerNumber(headers: Headers, name: string): number | null {
  const value = headers[name];
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

/** How far the true remainder may be from the reported one. */
export interface Rounding {
  below: number;
  above: number;
}

/**
 * Limit, remainder and the time until the limit is *full* again, which tells how much can be had at once. A reset that
 * makes no sense (a clock that is off) tells nothing about the burst.
 */
export function readingOf(
  limit: number,
  remaining: number,
  resetMs: number | null,
  { below, above }: Rounding,
): Reading | null {
  if (limit <= 0) return null;
  const left = { least: Math.max(0, remaining - below), most: remaining + above };
  const plain = { perMinute: limit, remaining: left, burst: null };
  if (resetMs === null || resetMs < 0) return plain;
  const full = remaining + (above - below) / 2 + (limit / 60_000) * resetMs;
  return full <= limit * 1.1 + above ? { ...plain, burst: Math.min(limit, full) } : plain;
}

/**
 * A limit per day or so: what flows back until the reset at a minute's rate would overfill it, so the refill is what the
 * reset says. Only for resets that are durations: an instant on a clock that is off would look the same.
 */
export function slowerThanAMinute(reading: Reading, limit: number, remaining: number, resetMs: number | null): Reading {
  if (resetMs === null || reading.burst !== null) return reading;
  const missing = limit - remaining;
  const perMinute = (missing / resetMs) * 60_000;
  return missing > 0 && perMinute > 0 && perMinute < limit / 2 ? { ...reading, perMinute, burst: limit } : reading;
}

/** The dimension that words name, as vendors write it in messages and quota ids. */
export function dimensionIn(words: string): Dimension | 'concurrency' | null {
  if (/concurren/i.test(words)) return 'concurrency';
  if (/input[ _-]?tokens?/i.test(words)) return 'input-tokens';
  if (/output[ _-]?tokens?/i.test(words)) return 'output-tokens';
  if (/tokens?/i.test(words)) return 'tokens';
  return /requests?/i.test(words) ? 'requests' : null;
}

/** A refusal that names the limit it ran into. */
export function refusalReading(refused: AnswerLimits['refused'], perMinute: number | null): Readings {
  if (refused === null || refused === 'concurrency' || perMinute === null || perMinute <= 0) return {};
  return { [refused]: { perMinute, remaining: null, burst: null } };
}
