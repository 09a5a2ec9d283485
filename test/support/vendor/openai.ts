import type { Fault, Reply } from './answer.ts';
import { type HeaderTime, retrySeconds } from './dialect.ts';
import type { JsonObject } from './json.ts';
import type { Denial, QuotaView } from './quota.ts';

/** What both of OpenAI's formats share: errors, headers, durations. */

const ERROR_TYPES: Record<number, { type: string; code: string | null }> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  404: { type: 'invalid_request_error', code: 'model_not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'server_overloaded' },
};

const SHORT_NAMES: Record<Denial['dimension'], string> = {
  requests: 'requests per min (RPM)',
  tokens: 'tokens per min (TPM)',
  'input-tokens': 'input tokens per min (ITPM)',
  'output-tokens': 'output tokens per min (OTPM)',
  concurrency: 'concurrent requests',
};

/** `20ms`, `1.5s`, `6m0s`, `1h2m3s`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.ceil(ms))}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = Number(((ms % 60_000) / 1000).toFixed(3));
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

export function openaiFault(fault: Fault): JsonObject {
  const usual = ERROR_TYPES[fault.status] ?? {
    type: fault.status >= 500 ? 'server_error' : 'invalid_request_error',
    code: null,
  };
  const wait = typeof fault.retryAfter === 'number' ? ` Please try again in ${duration(fault.retryAfter * 1000)}.` : '';
  return {
    error: {
      message: fault.message ?? `The server answered ${fault.status}.${wait}`,
      type: fault.type ?? usual.type,
      param: null,
      code: fault.code ?? usual.code,
    },
  };
}

export const openaiShared = {
  fault: openaiFault,
  faultHeaders: (fault: Fault): Record<string, string> =>
    fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) },
  denied: (denial: Denial, time: HeaderTime): Omit<Fault, 'model'> => ({
    status: 429,
    type: denial.dimension === 'requests' || denial.dimension === 'concurrency' ? 'requests' : 'tokens',
    message: `Rate limit reached for ${denial.model} in organization ${denial.group} on ${SHORT_NAMES[denial.dimension]}: Limit ${denial.limit}.${
      denial.retryAfterMs === null ? '' : ` Please try again in ${duration(time.scale(denial.retryAfterMs))}.`
    }`,
    ...(denial.retryAfterMs === null ? {} : { retryAfter: retrySeconds(denial.retryAfterMs, time) }),
  }),
  quotaHeaders: (quota: QuotaView, time: HeaderTime): Record<string, string> => {
    const headers: Record<string, string> = {};
    const named = { requests: quota.requests, tokens: quota.tokens ?? quota['input-tokens'] };
    for (const [name, bucket] of Object.entries(named)) {
      if (bucket === undefined) continue;
      headers[`x-ratelimit-limit-${name}`] = String(bucket.limit);
      headers[`x-ratelimit-remaining-${name}`] = String(Math.max(0, Math.floor(bucket.remaining)));
      headers[`x-ratelimit-reset-${name}`] = duration(time.scale(bucket.resetMs));
    }
    return headers;
  },
  identity: (group: string, serial: number): Record<string, string> => ({
    'openai-organization': group,
    'openai-version': '2020-10-01',
    'x-request-id': `req_${serial}`,
  }),
  badKey: { status: 401, message: 'Incorrect API key provided.' },
  overloaded: {
    status: 503,
    message: 'The server is currently overloaded with other requests. Please try again later.',
  },
};

/** The prompt's tokens as OpenAI counts them: cached ones are part of the sum. */
export function openaiUsage(reply: Reply): { input: number; output: number; total: number; cached: number } {
  const { input, output, cacheRead } = reply.usage;
  return { input, output, total: input + output, cached: cacheRead };
}
