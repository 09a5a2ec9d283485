import { readDuration } from '../core/duration.ts';
import { AgentosError, type ErrorRecord, originOf, systemCode } from '../core/errors.ts';
import { type Fields, fieldsOf, listOf, parseJson, textOf } from '../core/json.ts';
import { detailOf } from '../core/reason.ts';

/** What a vendor's refusal means for the caller. `spent`: the account has no money left. */
type Meaning = 'spent' | 'filtered' | 'rejected' | 'quota' | 'overloaded' | 'refused';

/** By `error.type`, `error.code`, `error.status` and the `reason` of details. */
const BY_CODE: Readonly<Record<string, Meaning>> = {
  insufficient_quota: 'spent',
  credit_balance_exhausted: 'spent',
  enforced_spend_limit_reached: 'spent',
  billing_error: 'spent',
  billing_hard_limit_reached: 'spent',
  billing_not_active: 'spent',
  content_filter: 'filtered',
  content_policy_violation: 'filtered',
  API_KEY_INVALID: 'rejected',
  invalid_api_key: 'rejected',
  authentication_error: 'rejected',
  permission_error: 'rejected',
  UNAUTHENTICATED: 'rejected',
  PERMISSION_DENIED: 'rejected',
  rate_limit_error: 'quota',
  rate_limit_exceeded: 'quota',
  slow_down: 'quota',
  RESOURCE_EXHAUSTED: 'quota',
  overloaded_error: 'overloaded',
  api_error: 'overloaded',
  timeout_error: 'overloaded',
  server_error: 'overloaded',
  UNAVAILABLE: 'overloaded',
  INTERNAL: 'overloaded',
  DEADLINE_EXCEEDED: 'overloaded',
  invalid_request_error: 'refused',
  not_found_error: 'refused',
  request_too_large: 'refused',
  invalid_prompt: 'refused',
  context_length_exceeded: 'refused',
  model_not_found: 'refused',
  INVALID_ARGUMENT: 'refused',
  FAILED_PRECONDITION: 'refused',
  NOT_FOUND: 'refused',
};

/** These codes outweigh the status: an empty account is a 429, and a wrong key a 400 at Google. */
const OVER_STATUS: ReadonlySet<string> = new Set<string>([
  ...Object.keys(BY_CODE).filter((code) => BY_CODE[code] === 'spent' || BY_CODE[code] === 'filtered'),
  'API_KEY_INVALID',
  'invalid_api_key',
]);

const SEVERITY: readonly Meaning[] = ['spent', 'filtered', 'rejected', 'quota', 'overloaded', 'refused'];

interface VendorRefusal {
  provider: string;
  /** The status of the HTTP response; null for an error inside a stream. */
  status: number | null;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  /** The parsed body, or the data of the event; null: not JSON. */
  body: unknown;
  /** Shown if the body has no message. */
  fallback: string;
  /** Masked in every detail. */
  secret: string;
  nowMs: number;
}

export function vendorFailure(answer: VendorRefusal): AgentosError {
  const { provider, headers, body, secret } = answer;
  const error = readError(body);
  const status = answer.status ?? error.status;
  const detail = detailOf([error.codes[0], error.message ?? answer.fallback].filter(Boolean).join(': '), secret);
  switch (meaningOf(answer.status, error)) {
    case 'spent':
      return new AgentosError({ code: 'provider-quota', provider, detail, retryAfterMs: null, status });
    case 'filtered':
      return new AgentosError({ code: 'reply-filtered', provider, reason: detail });
    case 'rejected':
      return new AgentosError({ code: 'provider-rejected-key', provider, status, detail });
    case 'quota': {
      const retryAfterMs = readRetryAfterMs({ headers, body, message: error.message ?? '' }, answer.nowMs);
      return new AgentosError({ code: 'provider-quota', provider, detail, retryAfterMs, status }, { retry: 'quota' });
    }
    case 'overloaded':
      return new AgentosError({ code: 'provider-overloaded', provider, status, detail }, { retry: 'transient' });
    case 'refused':
      return new AgentosError({ code: 'provider-refused-request', provider, status, detail });
    case null:
      return badReply(provider, detail);
  }
}

/** A reply that can't be used; another call may give a better one. */
export function badReply(provider: string, detail: string): AgentosError {
  return new AgentosError({ code: 'provider-bad-reply', provider, detail }, { retry: 'transient' });
}

/**
 * Anthropic sends these with `invalid_request_error` and status 400, like any bad request; only the message differs. We match whole
 * beginnings of sentences, so that the words of a model or a user can't match.
 */
const SPENT_SENTENCES = [
  /^Your credit balance is too low to access\b/,
  /^You have reached your specified (?:API|workspace API) usage limits\b/,
];

function meaningOf(httpStatus: number | null, error: ReturnType<typeof readError>): Meaning | null {
  if (SPENT_SENTENCES.some((sentence) => sentence.test(error.message ?? ''))) return 'spent';
  const over = error.codes.filter((code) => OVER_STATUS.has(code) || SPEND_LIMIT.test(code));
  return (
    meaningOfCodes(over) ?? meaningOfStatus(httpStatus) ?? meaningOfCodes(error.codes) ?? meaningOfStatus(error.status)
  );
}

const SPEND_LIMIT = /_(?:spend|usage)_limit_exceeded$/;

function meaningOfCodes(codes: readonly string[]): Meaning | null {
  const meanings = codes.map((code) =>
    SPEND_LIMIT.test(code) ? 'spent' : Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined,
  );
  return SEVERITY.find((meaning) => meanings.includes(meaning)) ?? null;
}

function meaningOfStatus(status: number | null): Meaning | null {
  if (status === null || status < 400) return null;
  if (status === 401 || status === 403) return 'rejected';
  if (status === 402) return 'spent';
  if (status === 429) return 'quota';
  if (status === 408 || status >= 500) return 'overloaded';
  return 'refused';
}

/**
 * The forms: `{error: {type, message, code, status, details}}` in a body, sometimes in a list; the inner object alone, or
 * `{type: "response.failed", response: {error}}`, in a stream; `{message}` or `{detail}` from servers in between.
 */
function readError(body: unknown) {
  const whole = fieldsOf(Array.isArray(body) ? body[0] : body);
  const inResponse = fieldsOf(whole['response'])['error'];
  const given = inResponse ?? whole['error'] ?? whole;
  const error = fieldsOf(given);
  const reasons = listOf(error['details']).map((detail) => detail['reason']);
  const candidates = [
    error['code'],
    error['type'],
    error['status'],
    fieldsOf(error['details'])['error_code'],
    ...reasons,
  ];
  const number = [error['code'], error['status']].find(
    (value) => typeof value === 'number' && value >= 400 && value < 600,
  );
  return {
    status: typeof number === 'number' ? number : null,
    codes: candidates.flatMap((value) => textOf(value) ?? []),
    message: textOf(error['message']) ?? textOf(given) ?? textOf(whole['message']) ?? textOf(whole['detail']) ?? null,
  };
}

/** The error that our own gateway raised, from its field in an error event; null: it is the vendor's. */
export function gatewayError(event: unknown): AgentosError | null {
  const body = fieldsOf(event);
  const error = fieldsOf(body['error'] ?? fieldsOf(body['response'])['error']);
  return revived(error['agentos'] ?? body['agentos']);
}

/** The same from the header of an error response. */
export function gatewayErrorIn(header: string | null): AgentosError | null {
  return revived(parseJson(header ?? ''));
}

function revived(record: unknown): AgentosError | null {
  const { problem, retry } = fieldsOf(record);
  if (typeof fieldsOf(problem)['code'] !== 'string') return null;
  return new AgentosError(problem as ErrorRecord['problem'], { retry: retry as ErrorRecord['retry'] });
}

/** For a connection that was refused or broke. `where`: at which host, or when. */
export function connectionLost(
  { provider, secret }: Pick<VendorRefusal, 'provider' | 'secret'>,
  error: unknown,
  code: 'provider-unreachable' | 'provider-bad-reply',
  where: string,
): AgentosError {
  const origin = originOf(error);
  const system = systemCode(origin);
  const message = origin instanceof Error ? origin.message : String(origin);
  const known = system !== null && !message.includes(system) ? [system] : [];
  const detail = detailOf([where, ...known, message].filter(Boolean).join(': '), secret);
  const cause = system === null ? undefined : origin;
  return new AgentosError({ code, provider, detail }, { retry: 'transient', cause });
}

/**
 * How long the vendor asks us to wait; null: it doesn't say. The most precise source comes first. Only a daily quota goes before
 * all others: the delay that comes with it may be seconds, although nothing works before midnight. Reset headers don't count:
 * they say when a limit is full again, which is much later than usable again.
 */
export function readRetryAfterMs(
  answer: Pick<VendorRefusal, 'headers' | 'body'> & { message: string },
  nowMs: number,
): number | null {
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
  const whenMs = Date.parse(value ?? '');
  return Number.isNaN(whenMs) ? null : Math.max(0, whenMs - nowMs);
}

/** Vendors' delays are rounded up to whole milliseconds. */
export function durationOf(value: string | undefined): number | null {
  const ms = readDuration(value ?? '');
  return ms === null ? null : Math.ceil(ms);
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

/** Midnight in California is a whole hour in UTC: the first one whose date there is another. */
function untilPacificMidnightMs(nowMs: number): number {
  const dates = new Intl.DateTimeFormat('en-US', { timeZone: 'America/Los_Angeles' });
  let atMs = Math.ceil(nowMs / HOUR_MS) * HOUR_MS;
  while (dates.format(atMs) === dates.format(nowMs)) atMs += HOUR_MS;
  return atMs - nowMs;
}

const HOUR_MS = 3_600_000;
