import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextAttemptDelayMs } from './errors.ts';

const question = { retry: 'transient', attempts: 1, maxRetries: 3, retryAfterMs: null, random: 0.5 } as const;

test.each(['permanent', 'ceiling'] as const)('a %s failure is not tried again', (retry) => {
  expect(nextAttemptDelayMs({ ...question, retry, retryAfterMs: 10 })).toBeNull();
});

test.each(['transient', 'idle', 'quota'] as const)('a %s failure is tried again, as often as allowed', (retry) => {
  expect(nextAttemptDelayMs({ ...question, retry, attempts: 3 })).not.toBeNull();
  expect(nextAttemptDelayMs({ ...question, retry, attempts: 4 })).toBeNull();
});

test('no retries allowed means none', () => {
  expect(nextAttemptDelayMs({ ...question, maxRetries: 0 })).toBeNull();
});

test('the delay doubles and is never longer than a minute', () => {
  const delays = [1, 2, 3, 10].map((attempts) => nextAttemptDelayMs({ ...question, attempts, maxRetries: 20 }));
  expect(delays).toEqual([500, 1_000, 2_000, 30_000]);
});

test('a delay that the other side named is kept to, with the jitter on top', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.nat(3_600_000),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (attempts, retryAfterMs, random) => {
        const delay = nextAttemptDelayMs({ retry: 'quota', attempts, maxRetries: 20, retryAfterMs, random }) ?? -1;
        expect(delay).toBeGreaterThanOrEqual(retryAfterMs);
        expect(delay).toBeLessThanOrEqual(retryAfterMs + 60_000);
      },
    ),
  );
});
