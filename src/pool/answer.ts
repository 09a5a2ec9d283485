import type { AgentosError } from '../core/errors.ts';
import { readRetryHintMs } from '../models/retry-after.ts';
import { vendorFailure } from '../models/vendor-failure.ts';
import type { PoolKey } from './key.ts';
import { errorMessage } from './limits/error-message.ts';
import { readLimits } from './limits/read.ts';
import type { AnswerLimits } from './limits/reading.ts';
import type { VendorAnswer } from './port.ts';

/**
 * admitted: it was let in; out-of-quota: comes back; dead: the key won't work again (wrong, forbidden, no credit);
 * overloaded: the provider's own failure, which no key can help; refused: the request's own fault.
 */
export type Meaning = 'admitted' | 'out-of-quota' | 'dead' | 'overloaded' | 'refused';

interface Verdict {
  meaning: Meaning;
  limits: AnswerLimits;
  /** When to come again, if the vendor says so. */
  hintMs: number | null;
  error: AgentosError | null;
}

export function readAnswer(key: PoolKey, answer: VendorAnswer, dateMs: number): Verdict {
  const limits = readLimits(key.vendor, answer, dateMs);
  if (answer.status < 400) return { meaning: 'admitted', limits, hintMs: null, error: null };
  const { headers, body, status } = answer;
  const error = vendorFailure({
    provider: key.vendor,
    status,
    headers,
    body,
    fallback: `status ${status}`,
    secret: key.given.secret.reveal(),
    nowMs: dateMs,
  });
  const hintMs = readRetryHintMs({ headers, body, message: errorMessage(body) }, dateMs);
  return { meaning: meaningOf(error), limits, hintMs, error };
}

function meaningOf({ code, retry }: AgentosError): Meaning {
  if (code === 'provider-rejected-key') return 'dead';
  if (code === 'provider-quota') return retry === 'quota' ? 'out-of-quota' : 'dead';
  return code === 'provider-overloaded' || code === 'provider-bad-reply' ? 'overloaded' : 'refused';
}
