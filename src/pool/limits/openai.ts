import { fieldsOf, textOf } from '../../models/json-fields.ts';
import { readDuration } from '../../models/retry-after.ts';
import type { VendorAnswer } from '../port.ts';
import {
  type AnswerLimits,
  dimensionIn,
  errorMessage,
  headerNumber,
  type Readings,
  readingOf,
  refusalReading,
  slowerThanAMinute,
} from './reading.ts';

const DIMENSIONS = ['requests', 'tokens'] as const;

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}`, the reset as a duration; compatible servers have them too. */
export function readOpenaiLimits(answer: VendorAnswer): AnswerLimits {
  const { headers } = answer;
  const readings: Readings = {};
  for (const dimension of DIMENSIONS) {
    const limit = headerNumber(headers, `x-ratelimit-limit-${dimension}`);
    const remaining = headerNumber(headers, `x-ratelimit-remaining-${dimension}`);
    if (limit === null || remaining === null) continue;
    const resetMs = readDuration(headers[`x-ratelimit-reset-${dimension}`]);
    const reading = readingOf(limit, remaining, resetMs, { below: 0, above: 1 });
    if (reading !== null) readings[dimension] = slowerThanAMinute(reading, limit, remaining, resetMs);
  }
  // "Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used …"
  const message = answer.status === 429 ? errorMessage(answer.body) : '';
  const named = /\bon ([a-z ]+?)(?: per min\b[^:]*)?(?: \([A-Z]+\))?: Limit ([\d,]+)/i.exec(message);
  const refused = dimensionIn(named?.[1] ?? (answer.status === 429 ? refusedType(answer.body) : ''));
  const perMinute = named?.[2] === undefined ? null : Number(named[2].replaceAll(',', ''));
  return {
    organisation: organisationOf(headers),
    readings: { ...(/ per min\b/.test(message) ? refusalReading(refused, perMinute) : {}), ...readings },
    refused,
  };
}

/** Projects of one organisation may have limits of their own. */
function organisationOf(headers: VendorAnswer['headers']): string | null {
  const organisation = headers['openai-organization'];
  if (organisation === undefined) return null;
  const project = headers['openai-project'];
  return project === undefined ? organisation : `${organisation}/${project}`;
}

/** `error.type` is `requests` or `tokens` for a rate limit. */
function refusedType(body: unknown): string {
  return textOf(fieldsOf(fieldsOf(body)['error'])['type']) ?? '';
}
