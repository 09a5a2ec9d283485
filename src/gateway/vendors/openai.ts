import type { Usage } from '../../core/money.ts';
import { type Fields, fieldsOf } from '../../models/json-fields.ts';
import { countOf, type Failure } from './format.ts';

/** What both of OpenAI's formats share. */

const ERRORS: Readonly<Record<number, { type: string; code: string }>> = {
  401: { type: 'invalid_request_error', code: 'invalid_api_key' },
  402: { type: 'insufficient_quota', code: 'insufficient_quota' },
  404: { type: 'invalid_request_error', code: 'not_found' },
  429: { type: 'requests', code: 'rate_limit_exceeded' },
  503: { type: 'server_error', code: 'server_is_overloaded' },
};

export function openaiError({ status, message, record }: Failure): Fields {
  const usual = ERRORS[status] ?? { type: status >= 500 ? 'server_error' : 'invalid_request_error', code: null };
  return { message, type: usual.type, param: null, code: usual.code, agentos: record };
}

const STATUSES: Readonly<Record<string, number>> = {
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  slow_down: 429,
  server_is_overloaded: 503,
  server_overloaded: 503,
  invalid_prompt: 400,
  context_length_exceeded: 400,
};

/** The status that an error's code, or a number in its place, stands for. */
export function openaiErrorStatus(error: Fields): number {
  const { code, type } = error;
  if (typeof code === 'number' && code >= 400 && code < 600) return code;
  return STATUSES[String(code)] ?? STATUSES[String(type)] ?? 500;
}

/** Cached tokens are part of the sum. */
export function openaiUsage(input: unknown, output: unknown, details: unknown): Usage {
  const { cached_tokens: cached, cache_write_tokens: written } = fieldsOf(details);
  return {
    inputTokens: countOf(input),
    outputTokens: countOf(output),
    cacheReadTokens: countOf(cached),
    cacheWriteTokens: countOf(written),
  };
}
