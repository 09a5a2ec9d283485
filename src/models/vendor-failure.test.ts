import { describe, expect, it } from 'vitest';
import type { ErrorCode, RetryClass } from '../core/errors.ts';
import { readRetryAfterMs, vendorFailure } from './vendor-failure.ts';

function failure(status: number | null, body: unknown, headers: Record<string, string> = {}) {
  return vendorFailure({
    provider: 'v',
    status,
    headers,
    body,
    fallback: 'nothing said',
    secret: 'sk-secret',
    nowMs: 0,
  });
}

const CASES: [string, number | null, unknown, ErrorCode, RetryClass][] = [
  [
    'a wrong key at Google, which is a 400',
    400,
    { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x', details: [{ reason: 'API_KEY_INVALID' }] } },
    'provider-rejected-key',
    'permanent',
  ],
  [
    'a bad request at Google',
    400,
    [{ error: { code: 400, status: 'INVALID_ARGUMENT', message: 'x' } }],
    'provider-refused-request',
    'permanent',
  ],
  [
    'an empty account as 429',
    429,
    { error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'x' } },
    'provider-quota',
    'permanent',
  ],
  [
    'an empty account as 400',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.',
      },
    },
    'provider-quota',
    'permanent',
  ],
  [
    'a spend cap as 400',
    400,
    {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'You have reached your specified API usage limits. You will …' },
    },
    'provider-quota',
    'permanent',
  ],
  [
    'a bad request that only speaks of a balance',
    400,
    { type: 'error', error: { type: 'invalid_request_error', message: 'messages: "credit balance is too low" is …' } },
    'provider-refused-request',
    'permanent',
  ],
  [
    'a spend limit as 429',
    429,
    { error: { code: 'project_spend_limit_exceeded', message: 'x' } },
    'provider-quota',
    'permanent',
  ],
  [
    'a spend limit of an organisation as 429',
    429,
    {
      type: 'error',
      error: { type: 'rate_limit_error', message: 'x', details: { error_code: 'enforced_spend_limit_reached' } },
    },
    'provider-quota',
    'permanent',
  ],
  [
    'a rate limit',
    429,
    { error: { type: 'tokens', code: 'rate_limit_exceeded', message: 'x' } },
    'provider-quota',
    'quota',
  ],
  ['a 429 that says nothing', 429, null, 'provider-quota', 'quota'],
  ['no credit', 402, { error: { code: 402, message: 'x' } }, 'provider-quota', 'permanent'],
  ['a filtered prompt', 400, { error: { code: 'content_filter', message: 'x' } }, 'reply-filtered', 'permanent'],
  [
    'an unknown model',
    404,
    { error: { type: 'invalid_request_error', code: 'model_not_found', message: 'x' } },
    'provider-refused-request',
    'permanent',
  ],
  [
    'words that look like another error',
    400,
    { error: { type: 'invalid_request_error', message: 'rate limit overloaded auth quota' } },
    'provider-refused-request',
    'permanent',
  ],
  ['a status that is only in the event', null, { code: 502, message: 'x' }, 'provider-overloaded', 'transient'],
  [
    'a failed response',
    null,
    { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'x' } } },
    'provider-quota',
    'quota',
  ],
  ['an event of no known type', null, { type: 'constructor', message: 'x' }, 'provider-bad-reply', 'transient'],
  ['no event at all', null, null, 'provider-bad-reply', 'transient'],
];

describe('vendorFailure', () => {
  it.each(CASES)('classifies %s', (_, status, body, code, retry) => {
    const error = failure(status, body);
    expect({ code: error.code, retry: error.retry }).toEqual({ code, retry });
  });

  it.each([
    ['type and words', { error: { type: 'api_error', message: 'It\n broke' } }, 'api_error: It broke'],
    ['an error that is a text', { error: 'broken' }, 'broken'],
    ['the form of other servers', { detail: 'broken' }, 'broken'],
    ['nothing', {}, 'nothing said'],
    ['a message that repeats the key', { message: 'bad key sk-secret' }, 'bad key [secret]'],
  ])('shows %s in one line, without the key', (_, body, detail) => {
    expect(failure(500, body).problem).toMatchObject({ detail });
  });

  it('passes on how long to wait, in the headers or in the body', () => {
    expect(failure(429, null, { 'retry-after': '3' }).problem).toMatchObject({ retryAfterMs: 3_000 });
    expect(failure(429, { error: { details: [{ retryDelay: '1.5s' }] } }).problem).toMatchObject({
      retryAfterMs: 1_500,
    });
  });
});

const NOW = Date.parse('2026-01-15T12:00:00Z');
const RETRY_INFO = {
  error: { details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.4s' }] },
};

function read(
  answer: { headers?: Record<string, string>; body?: unknown; message?: string },
  nowMs = NOW,
): number | null {
  return readRetryAfterMs({ headers: {}, body: null, message: '', ...answer }, nowMs);
}

function dailyQuota(retryDelay: string): unknown {
  const quotaId = 'GenerateRequestsPerDayPerProjectPerModel-FreeTier';
  return { error: { details: [{ retryDelay }, { violations: [{ quotaId }] }] } };
}

describe('readRetryAfterMs', () => {
  it.each([
    ['milliseconds', { headers: { 'retry-after-ms': '250', 'retry-after': '9' } }, 250],
    ['seconds', { headers: { 'retry-after': '7' }, body: RETRY_INFO }, 7_000],
    ['zero seconds', { headers: { 'retry-after': '0' } }, 0],
    ['a date', { headers: { 'retry-after': 'Thu, 15 Jan 2026 12:00:30 GMT' } }, 30_000],
    ['a date that has passed', { headers: { 'retry-after': 'Thu, 15 Jan 2026 11:00:00 GMT' } }, 0],
    ['RetryInfo', { body: RETRY_INFO, message: 'try again in 1s' }, 34_400],
    ['RetryInfo in a list', { body: [RETRY_INFO] }, 34_400],
    [
      'words',
      {
        message: 'Rate limit reached. Please try again in 634ms. Visit',
        headers: { 'x-ratelimit-reset-tokens': '9s' },
      },
      634,
    ],
    ['words with minutes', { message: 'Please retry in 1m2.5s.' }, 62_500],
  ])('reads %s', (_, answer, expected) => {
    expect(read(answer)).toBe(expected);
  });

  it.each([
    ['nothing', {}],
    ['a broken header', { headers: { 'retry-after': 'soon' } }],
    ['when a limit is full again', { headers: { 'x-ratelimit-reset-requests': '6m0s' } }],
  ])('says nothing where the vendor said %s', (_, answer) => {
    expect(read(answer)).toBeNull();
  });

  it('waits for midnight in California when a daily quota is used up, whatever the delay beside it says', () => {
    expect(read({ body: dailyQuota('5s'), headers: { 'retry-after': '5' } })).toBe(20 * 3_600_000);
  });

  it.each([
    ['in spring, when the day has 23 hours', '2026-03-08T08:30:00Z', '2026-03-09T07:00:00Z'],
    ['in autumn, when it has 25', '2026-11-01T07:30:00Z', '2026-11-02T08:00:00Z'],
  ])('finds that midnight %s', (_, now, midnight) => {
    expect(read({ body: dailyQuota('5s') }, Date.parse(now))).toBe(Date.parse(midnight) - Date.parse(now));
  });
});

describe('a clock that is off', () => {
  const date = 'Thu, 15 Jan 2026 13:00:00 GMT';

  it('does not lengthen or shorten what an instant means', () => {
    expect(read({ headers: { date, 'retry-after': 'Thu, 15 Jan 2026 13:00:20 GMT' } })).toBe(20_000);
  });

  it('is not assumed for the second or so that the header’s whole seconds leave open', () => {
    const near = 'Thu, 15 Jan 2026 12:00:01 GMT';
    expect(read({ headers: { date: near, 'retry-after': 'Thu, 15 Jan 2026 12:00:30 GMT' } })).toBe(30_000);
  });
});
