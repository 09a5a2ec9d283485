import type { AgentosError } from '../core/errors.ts';
import { fieldsOf, listOf, textOf } from '../core/json.ts';
import type { VendorName } from '../core/keys.ts';
import {
  durationOf,
  errorDetails,
  numberOf,
  readRetryAfterMs,
  serverTimeMs,
  vendorFailure,
} from '../models/vendor-failure.ts';
import type { PoolKey, PoolKeys, QuotaGroup } from './keys.ts';
import type { LeaseRequest, PoolEvent } from './pool.ts';
import type { Charges } from './quota.ts';

export interface VendorAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The parsed body of an error; null: there is none, or it is not JSON. */
  body: unknown;
}

/**
 * pass: give the response to the caller, with the classified error if it is one; retry: ask for another lease (the pool does the
 * waiting); fail: no key can serve the request.
 */
export type Ruling =
  | { action: 'pass'; error: AgentosError | null }
  | { action: 'retry' }
  | { action: 'fail'; error: AgentosError };

/** A request that has been given a key. */
export interface SentRequest {
  request: LeaseRequest;
  key: PoolKey;
  charges: Charges;
  /** Including itself. */
  inFlightAtSending: number;
}

/** What an answer teaches about key and quota, and what happens to the request. `dateMs`: the calendar's time at `nowMs`. */
export function learnFrom(
  answer: VendorAnswer,
  sent: SentRequest,
  keys: PoolKeys,
  onEvent: (event: PoolEvent) => void,
  { nowMs, dateMs }: { nowMs: number; dateMs: number },
): Ruling {
  const { key, charges, request } = sent;
  const limits = readLimits(key.vendor, answer, dateMs);
  const merged = limits.organisation === null ? null : keys.merge(key, limits.organisation);
  if (merged !== null) onEvent({ type: 'groups-merged', ...merged });
  const quota = key.group.of(request.model, nowMs);
  if (answer.status < 400) {
    key.group.concurrency.succeeded(sent.inFlightAtSending, nowMs);
    quota.admitted();
    quota.observe(limits.readings, nowMs);
    return { action: 'pass', error: null };
  }
  const error = failureOf(key, answer, dateMs);
  const meaning = meaningOf(error);
  quota.giveBack(charges, meaning === 'bad-request' ? 'tokens' : 'all', nowMs);
  switch (meaning) {
    case 'out-of-quota':
      learnRefusal(answer, sent, limits, onEvent, { nowMs, dateMs });
      return { action: 'retry' };
    case 'dead-key':
      markDead(key, error, onEvent);
      return keys.whyNone(key.vendor) === null ? { action: 'retry' } : { action: 'fail', error };
    case 'overloaded':
    case 'bad-request':
      quota.observe(limits.readings, nowMs);
      return { action: 'pass', error };
  }
}

function failureOf(key: PoolKey, { status, headers, body }: VendorAnswer, nowMs: number): AgentosError {
  const secret = key.secret.reveal();
  return vendorFailure({ provider: key.vendor, status, headers, body, fallback: `status ${status}`, secret, nowMs });
}

/** dead-key: it won't work again (wrong, forbidden, no credit); overloaded: the vendor's own failure, no key can help. */
function meaningOf({ code, retry }: AgentosError): 'out-of-quota' | 'dead-key' | 'overloaded' | 'bad-request' {
  if (code === 'provider-rejected-key') return 'dead-key';
  if (code === 'provider-quota') return retry === 'quota' ? 'out-of-quota' : 'dead-key';
  return code === 'provider-overloaded' || code === 'provider-bad-reply' ? 'overloaded' : 'bad-request';
}

function learnRefusal(
  { headers, body }: VendorAnswer,
  sent: SentRequest,
  limits: AnswerLimits,
  onEvent: (event: PoolEvent) => void,
  { nowMs, dateMs }: { nowMs: number; dateMs: number },
): void {
  const { key, charges, request } = sent;
  const { group } = key;
  const hintMs = readRetryAfterMs({ headers, body, message: errorMessage(body) }, dateMs);
  const quota = group.of(request.model, nowMs);
  // Requests overtake each other on the way, so the refused one need not be the last one sent.
  const inFlight = Math.max(sent.inFlightAtSending, group.inFlight);
  const dimension = refusedDimension(group, inFlight, limits, hintMs);
  if (dimension !== 'concurrency') {
    const { untilMs, why } = quota.refused(charges, { dimension, limits, hintMs }, nowMs);
    return onEvent({ type: 'key-cooling', keyId: key.id, forMs: untilMs - nowMs, why });
  }
  group.concurrency.refused(inFlight, nowMs);
  quota.observe(limits.readings, nowMs);
  if (hintMs === null) return;
  quota.block(nowMs + hintMs, 'concurrency');
  onEvent({ type: 'key-cooling', keyId: key.id, forMs: hintMs, why: 'concurrency' });
}

/** Which limit was reached. If the vendor doesn't say: one with nothing left, or more requests at once than ever before. */
function refusedDimension(
  group: QuotaGroup,
  inFlight: number,
  { refused, readings }: AnswerLimits,
  hintMs: number | null,
): Dimension | 'concurrency' {
  if (refused !== null) return refused;
  const empty = DIMENSIONS.find((dimension) => (readings[dimension]?.remaining?.least ?? 1) <= 0);
  if (empty !== undefined) return empty;
  return hintMs === null && group.concurrency.suspects(inFlight) ? 'concurrency' : 'requests';
}

function markDead(key: PoolKey, { problem }: AgentosError, onEvent: (event: PoolEvent) => void): void {
  if (key.dead !== null) return;
  key.dead = 'detail' in problem ? problem.detail : 'rejected';
  onEvent({ type: 'key-dead', keyId: key.id, reason: key.dead });
}

/** What a limit counts. `tokens`: input and output together, if a vendor doesn't count them separately. */
export const DIMENSIONS = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** One limit as an answer describes it. */
export interface Reading {
  perMinute: number;
  /** Null: the answer names the limit, but not what is left of it. */
  remaining: { least: number; most: number } | null;
  /** How much can be used at once; null: unknown. */
  burst: number | null;
}

/** What an answer says about limits, in one form for all vendors. */
export interface AnswerLimits {
  /** Who is charged: keys of the same organisation share a quota. Null: not named. */
  organisation: string | null;
  readings: Partial<Record<Dimension, Reading>>;
  /** The limit that a refusal is about; null: not named. */
  refused: Dimension | 'concurrency' | null;
}

type Headers = VendorAnswer['headers'];

/** Header names are in lower case. */
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

/** The message in an error's body, in any vendor's format; or ''. */
function errorMessage(body: unknown): string {
  const whole = fieldsOf(Array.isArray(body) ? body[0] : body);
  return textOf(fieldsOf(whole['error'] ?? whole)['message']) ?? '';
}

/** `anthropic-ratelimit-requests-{limit,remaining,reset}`; the reset is a time on the vendor's clock. */
function readAnthropic({ status, headers, body }: VendorAnswer, nowMs: number): AnswerLimits {
  const serverMs = serverTimeMs(headers, nowMs);
  const readings: AnswerLimits['readings'] = {};
  for (const dimension of DIMENSIONS) {
    const header = (name: string): string => `anthropic-ratelimit-${dimension}-${name}`;
    const resetMs = Date.parse(headers[header('reset')] ?? '') - serverMs;
    // Tokens are rounded to the nearest thousand, requests are rounded down.
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

/** There are no headers. Only the body of a refusal names the quota, in QuotaFailure, and any part may be missing. */
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
    const resetMs = durationOf(headers[header('reset')]);
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

/**
 * Limit, remainder and the time until the limit is *full* again, which shows how much can be used at once. A reset that makes no
 * sense (a wrong clock) says nothing about the burst. `below`, `above`: how far the true remainder may be from the reported one.
 */
function readingOf(
  headers: Headers,
  header: (name: string) => string,
  resetMs: number | null,
  { below, above }: { below: number; above: number },
): Reading | null {
  const limit = numberOf(headers[header('limit')]);
  const remaining = numberOf(headers[header('remaining')]);
  if (limit === null || remaining === null || limit <= 0) return null;
  const left = { least: Math.max(0, remaining - below), most: remaining + above };
  const plain = { perMinute: limit, remaining: left, burst: null };
  if (resetMs === null || resetMs < 0) return plain;
  const full = remaining + (above - below) / 2 + (limit / 60_000) * resetMs;
  return full <= limit * 1.1 + above ? { ...plain, burst: Math.min(limit, full) } : plain;
}

/**
 * A limit per day, for example: at a minute's rate it would be overfull by the reset, so the refill rate follows from the reset.
 * Only for resets that are durations: a time on a wrong clock would look the same.
 */
function slowerThanAMinute(reading: Reading, resetMs: number | null): Reading {
  if (resetMs === null || reading.burst !== null || reading.remaining === null) return reading;
  const limit = reading.perMinute;
  const missing = limit - reading.remaining.least;
  const perMinute = (missing / resetMs) * 60_000;
  return missing > 0 && perMinute > 0 && perMinute < limit / 2 ? { ...reading, perMinute, burst: limit } : reading;
}

/** The dimension that a vendor's message or quota id names. */
function dimensionIn(words: string): Dimension | 'concurrency' | null {
  if (/concurren/i.test(words)) return 'concurrency';
  if (/input[ _-]?tokens?/i.test(words)) return 'input-tokens';
  if (/output[ _-]?tokens?/i.test(words)) return 'output-tokens';
  if (/tokens?/i.test(words)) return 'tokens';
  return /requests?/i.test(words) ? 'requests' : null;
}

/** The reading of a refusal that names its limit per minute. */
function namedLimit(refused: AnswerLimits['refused'], limit: string | undefined): AnswerLimits['readings'] {
  const perMinute = Number(limit?.replaceAll(',', ''));
  if (refused === null || refused === 'concurrency' || !(perMinute > 0)) return {};
  return { [refused]: { perMinute, remaining: null, burst: null } };
}
