import type { VendorName } from '../core/keys.ts';
import { fieldsOf, listOf, textOf } from '../models/json-fields.ts';
import { errorDetails, readDuration, serverTimeMs } from '../models/retry-after.ts';
import type { VendorAnswer } from './port.ts';

/** What a limit counts. `tokens`: input and output together, where a vendor doesn't count them apart. */
export const DIMENSIONS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** One limit as a response describes it. */
export interface Reading {
  perMinute: number;
  /** Null where the response names the limit, but not what is left of it. */
  remaining: { least: number; most: number } | null;
  /** How much can be had at once; null: not known. */
  burst: number | null;
}

/** What an answer says about limits, in one form for all vendors. */
export interface AnswerLimits {
  /** Who is charged: keys whose answers name the same one draw on one quota. Null: not said. */
  organisation: string | null;
  readings: Partial<Record<Dimension, Reading>>;
  /** Of a refusal: what it ran into. Null: not said. */
  refused: Dimension | 'concurrency' | null;
}

type Headers = VendorAnswer['headers'];

/** What the answer says about limits. Header names are in lower case. */
export function readLimits(vendor: VendorName, answer: VendorAnswer, dateMs: number): AnswerLimits {
  switch (vendor) {
    case 'anthropic':
      return readAnthropic(answer, dateMs);
    case 'google':
      return readGoogle(answer);
    case 'openai':
    case 'openai-compatible':
      return readOpenai(answer);
  }
}

/** The words of an error's body, in any vendor's form; empty where there are none. */
export function errorMessage(body: unknown): string {
  const whole = fieldsOf(Array.isArray(body) ? body[0] : body);
  return textOf(fieldsOf(whole['error'] ?? whole)['message']) ?? '';
}

/** `anthropic-ratelimit-requests-{limit,remaining,reset}`; the reset is an instant, on the vendor's clock. */
function readAnthropic({ status, headers, body }: VendorAnswer, nowMs: number): AnswerLimits {
  const serverMs = serverTimeMs(headers, nowMs);
  const readings: AnswerLimits['readings'] = {};
  for (const dimension of DIMENSIONS) {
    const header = (name: string): string => `anthropic-ratelimit-${dimension}-${name}`;
    const resetMs = Date.parse(headers[header('reset')] ?? '') - serverMs;
    // Tokens are reported to the nearest thousand, requests as a whole number that has been reached.
    const rounding = dimension === 'requests' ? { below: 0, above: 1 } : { below: 500, above: 500 };
    const reading = readingOf(headers, header, Number.isNaN(resetMs) ? null : resetMs, rounding);
    if (reading !== null) readings[dimension] = reading;
  }
  const message = status === 429 ? errorMessage(body) : '';
  // "… exceed the rate limit for your organization of 40,000 input tokens per minute", "… concurrent connections …"
  const [, limit, words] = /\bof ([\d,]+) ([a-z ]+?) per minute/i.exec(message) ?? [];
  const refused = dimensionIn(words ?? message);
  return {
    organisation: headers['anthropic-organization-id'] ?? null,
    readings: { ...namedLimit(refused, limit), ...readings },
    refused,
  };
}

/** No headers at all: only the body of a refusal names the quota, in QuotaFailure, and any part may be missing. */
function readGoogle({ body }: VendorAnswer): AnswerLimits {
  const violations = errorDetails(body).flatMap((detail) => listOf(detail['violations']));
  const violation = violations.find(({ quotaId }) => textOf(quotaId) !== undefined);
  const quotaId = textOf(violation?.['quotaId']) ?? '';
  const refused = dimensionIn(quotaId);
  const limit = quotaId.includes('PerMinute') ? String(violation?.['quotaValue']) : undefined;
  return { organisation: null, readings: namedLimit(refused, limit), refused };
}

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the reset as a duration; compatible servers have them too. */
function readOpenai({ status, headers, body }: VendorAnswer): AnswerLimits {
  const readings: AnswerLimits['readings'] = {};
  for (const dimension of ['requests', 'tokens'] as const) {
    const header = (name: string): string => `x-ratelimit-${name}-${dimension}`;
    const resetMs = readDuration(headers[header('reset')]);
    const reading = readingOf(headers, header, resetMs, { below: 0, above: 1 });
    if (reading !== null) readings[dimension] = slowerThanAMinute(reading, resetMs);
  }
  // "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used …"
  const message = status === 429 ? errorMessage(body) : '';
  const [, words, limit] = /\bon ([a-z ]+?)(?: per min\b[^:]*)?(?: \([A-Z]+\))?: Limit ([\d,]+)/i.exec(message) ?? [];
  const type = textOf(fieldsOf(fieldsOf(body)['error'])['type']) ?? '';
  const refused = dimensionIn(words ?? (status === 429 ? type : ''));
  return {
    organisation: openaiOrganisation(headers),
    readings: { ...(/ per min\b/.test(message) ? namedLimit(refused, limit) : {}), ...readings },
    refused,
  };
}

/** Projects of one organisation may have limits of their own. */
function openaiOrganisation(headers: Headers): string | null {
  const organisation = headers['openai-organization'];
  if (organisation === undefined) return null;
  const project = headers['openai-project'];
  return project === undefined ? organisation : `${organisation}/${project}`;
}

function headerNumber(headers: Headers, name: string): number | null {
  const value = headers[name];
  return value !== undefined && /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null;
}

/**
 * Limit, remainder and the time until the limit is *full* again, which tells how much can be had at once. A reset that
 * makes no sense (a clock that is off) tells nothing about the burst. `below`, `above`: how far the true remainder may be
 * from the reported one.
 */
function readingOf(
  headers: Headers,
  header: (name: string) => string,
  resetMs: number | null,
  { below, above }: { below: number; above: number },
): Reading | null {
  const limit = headerNumber(headers, header('limit'));
  const remaining = headerNumber(headers, header('remaining'));
  if (limit === null || remaining === null || limit <= 0) return null;
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
function slowerThanAMinute(reading: Reading, resetMs: number | null): Reading {
  if (resetMs === null || reading.burst !== null || reading.remaining === null) return reading;
  const limit = reading.perMinute;
  const missing = limit - reading.remaining.least;
  const perMinute = (missing / resetMs) * 60_000;
  return missing > 0 && perMinute > 0 && perMinute < limit / 2 ? { ...reading, perMinute, burst: limit } : reading;
}

/** The dimension that words name, as vendors write it in messages and quota ids. */
function dimensionIn(words: string): Dimension | 'concurrency' | null {
  if (/concurren/i.test(words)) return 'concurrency';
  if (/input[ _-]?tokens?/i.test(words)) return 'input-tokens';
  if (/output[ _-]?tokens?/i.test(words)) return 'output-tokens';
  if (/tokens?/i.test(words)) return 'tokens';
  return /requests?/i.test(words) ? 'requests' : null;
}

/** A refusal that names the limit per minute that it ran into. */
function namedLimit(refused: AnswerLimits['refused'], limit: string | undefined): AnswerLimits['readings'] {
  const perMinute = Number(limit?.replaceAll(',', ''));
  if (refused === null || refused === 'concurrency' || !(perMinute > 0)) return {};
  return { [refused]: { perMinute, remaining: null, burst: null } };
}
