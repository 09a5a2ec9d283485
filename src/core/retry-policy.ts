import type { RetryClass } from './errors.ts';

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 60_000;

export interface RetryQuestion {
  retry: RetryClass;
  /** Attempts made so far, the failed one included. */
  attempts: number;
  maxRetries: number;
  /** What the other side asked for, if it did. */
  retryAfterMs: number | null;
  /** 0 ≤ random < 1. */
  random: number;
}

/**
 * The delay before the next attempt, or null for none. Exponential with full jitter, so that workers that failed
 * together don't come back together; a delay that the vendor named is kept to, and the jitter comes on top.
 */
export function nextAttemptDelayMs({
  retry,
  attempts,
  maxRetries,
  retryAfterMs,
  random,
}: RetryQuestion): number | null {
  if (retry === 'permanent' || retry === 'ceiling') return null;
  if (attempts > maxRetries) return null;
  const backoff = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)) * random;
  return Math.round((retryAfterMs ?? 0) + backoff);
}
