import { expect, it } from 'vitest';
import { RefillRate } from './bucket.ts';

/** Sends as fast as the learner allows into a limit of two a second, and counts the refusals. */
function learn(truth: (atMs: number) => number, guess: number, untilMs: number) {
  const rate = new RefillRate({ perMs: guess, evidence: 2 });
  let bucket = 0;
  let level = 0;
  let taken = 0;
  const refusals: number[] = [];
  rate.refused(0, taken, 1);
  for (let nowMs = 1; nowMs < untilMs; nowMs += 1) {
    bucket = Math.min(50, bucket + truth(nowMs));
    level = Math.min(2, level + rate.perMs(taken, 1));
    if (level < 1.3) continue;
    if (bucket >= 1) {
      bucket -= 1;
      level -= 1;
      taken += 1;
    } else {
      refusals.push(nowMs);
      rate.refused(nowMs, taken, 1);
      level = -1;
    }
  }
  return { perSecond: rate.perMs(taken, 1) * 1_000, refusals, taken };
}

it.each([
  ['far too high', 0.02],
  ['too low', 0.0005],
])('learns two a second from few refusals when the first guess is %s', (_, guess) => {
  const { perSecond, refusals, taken } = learn(() => 0.002, guess, 200_000);
  expect(perSecond).toBeGreaterThan(1.9);
  expect(perSecond).toBeLessThan(2.1);
  expect(refusals.length).toBeLessThanOrEqual(9);
  expect(taken).toBeGreaterThan(0.95 * 400);
});

it('follows a rate that falls to a third', () => {
  const { perSecond } = learn((atMs) => (atMs < 100_000 ? 0.002 : 0.0007), 0.002, 300_000);
  expect(perSecond).toBeGreaterThan(0.6);
  expect(perSecond).toBeLessThan(0.8);
});
