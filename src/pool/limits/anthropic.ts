import { serverTimeMs } from '../../models/retry-after.ts';
import type { VendorAnswer } from '../port.ts';
import {
  type AnswerLimits,
  type Dimension,
  dimensionIn,
  errorMessage,
  headerNumber,
  type Readings,
  readingOf,
  refusalReading,
} from './reading.ts';

/** Tokens are reported to the nearest thousand, requests as a whole number that has been reached. */
const DIMENSIONS: [Dimension, { below: number; above: number }][] = [
  ['requests', { below: 0, above: 1 }],
  ['tokens', { below: 500, above: 500 }],
  ['input-tokens', { below: 500, above: 500 }],
  ['output-tokens', { below: 500, above: 500 }],
];

/** `anthropic-ratelimit-requests-{limit,remaining,reset}`; the reset is an instant, on the vendor's clock. */
export function readAnthropicLimits(answer: VendorAnswer, nowMs: number): AnswerLimits {
  const { headers } = answer;
  const serverMs = serverTimeMs(headers, nowMs);
  const readings: Readings = {};
  for (const [dimension, rounding] of DIMENSIONS) {
    const name = `anthropic-ratelimit-${dimension}`;
    const limit = headerNumber(headers, `${name}-limit`);
    const remaining = headerNumber(headers, `${name}-remaining`);
    if (limit === null || remaining === null) continue;
    const resetMs = Date.parse(headers[`${name}-reset`] ?? '') - serverMs;
    const reading = readingOf(limit, remaining, Number.isNaN(resetMs) ? null : resetMs, rounding);
    if (reading !== null) readings[dimension] = reading;
  }
  const message = answer.status === 429 ? errorMessage(answer.body) : '';
  // "… exceed the rate limit for your organization of 40,000 input tokens per minute", "… concurrent connections …"
  const named = /\bof ([\d,]+) ([a-z ]+?) per minute/i.exec(message);
  const refused = dimensionIn(named?.[2] ?? message);
  const perMinute = named?.[1] === undefined ? null : Number(named[1].replaceAll(',', ''));
  return {
    organisation: headers['anthropic-organization-id'] ?? null,
    readings: { ...refusalReading(refused, perMinute), ...readings },
    refused,
  };
}
