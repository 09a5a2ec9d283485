import { describe, expect, it } from 'vitest';
import type { ErrorCode, RetryClass } from '../core/errors.ts';
import { vendorFailure } from './vendor-failure.ts';

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
