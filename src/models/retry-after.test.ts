import { describe, expect, it } from 'vitest';
import { readRetryAfterMs } from './retry-after.ts';

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
    ['a duration until reset', { headers: { 'x-ratelimit-reset-requests': '6m0s' } }, 360_000],
    ['a time of reset', { headers: { 'anthropic-ratelimit-requests-reset': '2026-01-15T12:00:05Z' } }, 5_000],
  ])('reads %s', (_, answer, expected) => {
    expect(read(answer)).toBe(expected);
  });

  it('takes the reset of the limit that is used up, not of one that is not', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '20ms',
      'x-ratelimit-remaining-tokens': '4000',
      'x-ratelimit-reset-tokens': '6m0s',
    };
    expect(read({ headers })).toBe(20);
  });

  it.each([
    ['nothing', {}],
    ['a broken header', { headers: { 'retry-after': 'soon' } }],
    ['an unknown reset', { headers: { 'x-ratelimit-reset': 'later' } }],
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
    expect(read({ headers: { date, 'anthropic-ratelimit-requests-reset': '2026-01-15T13:00:05Z' } })).toBe(5_000);
  });

  it('is not assumed for the second or so that the header’s whole seconds leave open', () => {
    const near = 'Thu, 15 Jan 2026 12:00:01 GMT';
    expect(read({ headers: { date: near, 'retry-after': 'Thu, 15 Jan 2026 12:00:30 GMT' } })).toBe(30_000);
  });
});
