import { describe, expect, it } from 'vitest';
import { readLimits, type VendorAnswer } from './answer.ts';

const NOW = Date.parse('2026-01-15T12:00:00Z');
const at = (ms: number): string => new Date(NOW + ms).toISOString();

function answer(
  headers: Record<string, string>,
  body: unknown = null,
  status = body === null ? 200 : 429,
): VendorAnswer {
  return { status, headers, body };
}

describe('Anthropic', () => {
  const requests = (remaining: number, resetMs: number): Record<string, string> => ({
    'anthropic-ratelimit-requests-limit': '120',
    'anthropic-ratelimit-requests-remaining': String(remaining),
    'anthropic-ratelimit-requests-reset': at(resetMs),
  });

  it('gives limit, remainder, burst and organisation; tokens are rounded to the nearest thousand', () => {
    const headers = {
      ...requests(2, 1_000),
      'anthropic-ratelimit-input-tokens-limit': '60000',
      'anthropic-ratelimit-input-tokens-remaining': '59000',
      'anthropic-ratelimit-input-tokens-reset': at(1_000),
      'anthropic-organization-id': 'org-1',
    };
    expect(readLimits('anthropic', answer(headers), NOW)).toEqual({
      organisation: 'org-1',
      refused: null,
      readings: {
        requests: { perMinute: 120, remaining: { least: 2, most: 3 }, burst: 4.5 },
        'input-tokens': { perMinute: 60_000, remaining: { least: 58_500, most: 59_500 }, burst: 60_000 },
      },
    });
  });

  it('reads the reset by the vendor’s clock, and ignores one that makes no sense', () => {
    const date = new Date(NOW + 40_000).toUTCString();
    const ahead = readLimits('anthropic', answer({ ...requests(2, 41_000), date }), NOW);
    expect(ahead.readings.requests?.burst).toBeCloseTo(4.5);
    const behind = readLimits('anthropic', answer(requests(2, -90_000)), NOW);
    expect(behind.readings.requests).toEqual({ perMinute: 120, remaining: { least: 2, most: 3 }, burst: null });
  });

  it.each([
    ['requests', 'This request would exceed the rate limit for your organization of 50 requests per minute.', 50],
    ['input-tokens', 'This request would exceed your rate limit of 40,000 input tokens per minute.', 40_000],
    ['output-tokens', 'This request would exceed your rate limit of 8,000 output tokens per minute.', 8_000],
  ] as const)('finds %s in the words of a refusal', (dimension, message, perMinute) => {
    const body = { type: 'error', error: { type: 'rate_limit_error', message } };
    const read = readLimits('anthropic', answer({}, body), NOW);
    expect(read.refused).toBe(dimension);
    expect(read.readings[dimension]).toEqual({ perMinute, remaining: null, burst: null });
  });

  it('distinguishes too many at once from too many per minute', () => {
    const message = 'Number of concurrent connections has exceeded your rate limit. Please try again later.';
    const read = readLimits('anthropic', answer({}, { error: { type: 'rate_limit_error', message } }), NOW);
    expect(read).toMatchObject({ refused: 'concurrency', readings: {} });
  });
});

describe('OpenAI', () => {
  it('reads durations and finds the organisation and the project', () => {
    const headers = {
      'openai-organization': 'org',
      'openai-project': 'proj',
      'x-ratelimit-limit-requests': '600',
      'x-ratelimit-remaining-requests': '599',
      'x-ratelimit-reset-requests': '100ms',
      'x-ratelimit-limit-tokens': '60000',
      'x-ratelimit-remaining-tokens': '30000',
      'x-ratelimit-reset-tokens': '30s',
    };
    const read = readLimits('openai', answer(headers), NOW);
    expect(read.organisation).toBe('org/proj');
    expect(read.readings.requests).toMatchObject({ perMinute: 600, burst: 600 });
    expect(read.readings.tokens).toMatchObject({ perMinute: 60_000, burst: 60_000 });
  });

  it('recognises a limit per day by its reset', () => {
    const headers = {
      'x-ratelimit-limit-requests': '10000',
      'x-ratelimit-remaining-requests': '9999',
      'x-ratelimit-reset-requests': '8.64s',
    };
    const { readings } = readLimits('openai', answer(headers), NOW);
    expect(readings.requests?.perMinute).toBeCloseTo(10_000 / 1_440);
  });

  it('reads the limit from the message of a refusal, or its dimension from the error type', () => {
    const message =
      'Rate limit reached for gpt-5 in organization org on tokens per min (TPM): Limit 30000, Used 29000.';
    const said = readLimits('openai', answer({}, { error: { type: 'tokens', message } }), NOW);
    expect(said).toMatchObject({ refused: 'tokens', readings: { tokens: { perMinute: 30_000, remaining: null } } });
    const typed = readLimits(
      'openai-compatible',
      answer({}, { error: { type: 'requests', message: 'Slow down' } }),
      NOW,
    );
    expect(typed).toEqual({ organisation: null, refused: 'requests', readings: {} });
  });
});

describe('Gemini', () => {
  const failure = (violation: Record<string, unknown>): unknown => ({
    error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x', details: [{ violations: [violation] }] },
  });

  it.each([
    ['GenerateRequestsPerMinutePerProjectPerModel-FreeTier', 'requests'],
    ['GenerateContentInputTokensPerModelPerMinute-FreeTier', 'input-tokens'],
  ] as const)('reads %s', (quotaId, dimension) => {
    const read = readLimits('google', answer({}, failure({ quotaId, quotaValue: '15' })), NOW);
    expect(read).toMatchObject({ refused: dimension, readings: { [dimension]: { perMinute: 15 } } });
  });

  it.each([
    ['a day’s quota', failure({ quotaId: 'GenerateRequestsPerDayPerProjectPerModel', quotaValue: '250' })],
    ['no value', failure({ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel' })],
    ['nothing', null],
    ['something else', 'Too many requests'],
  ])('takes no limit per minute from %s', (_, body) => {
    expect(readLimits('google', answer({}, body, 429), NOW).readings).toEqual({});
  });
});

it.each(['anthropic', 'google', 'openai', 'openai-compatible'] as const)(
  '%s: nonsense in headers is not there',
  (vendor) => {
    const names = ['limit', 'remaining', 'reset'];
    const headers = Object.fromEntries(
      names.flatMap((name) => [
        [`anthropic-ratelimit-requests-${name}`, name === 'limit' ? '0' : 'soon'],
        [`x-ratelimit-${name}-requests`, name === 'limit' ? '-5' : 'NaN'],
      ]),
    );
    expect(readLimits(vendor, answer(headers), NOW)).toEqual({ organisation: null, readings: {}, refused: null });
  },
);
