import { listOf, textOf } from '../../models/json-fields.ts';
import { errorDetails } from '../../models/retry-after.ts';
import type { VendorAnswer } from '../port.ts';
import { type AnswerLimits, dimensionIn, refusalReading } from './reading.ts';

/** No headers at all: only the body of a refusal names the quota, in QuotaFailure, and any part may be missing. */
export function readGoogleLimits(answer: VendorAnswer): AnswerLimits {
  const violations = errorDetails(answer.body).flatMap((detail) => listOf(detail['violations']));
  const violation = violations.find(({ quotaId }) => textOf(quotaId) !== undefined);
  const quotaId = textOf(violation?.['quotaId']) ?? '';
  const refused = dimensionIn(quotaId);
  const perMinute = quotaId.includes('PerMinute') ? Number(violation?.['quotaValue'] ?? Number.NaN) : Number.NaN;
  return {
    organisation: null,
    readings: refusalReading(refused, Number.isFinite(perMinute) ? perMinute : null),
    refused,
  };
}
