import { describe, expect, test } from 'vitest';
import { Bucket } from './bucket.ts';
import { seededRandom } from './random.ts';

describe('a token bucket', () => {
  test('holds a minute’s worth, refills continuously and never beyond the brim', () => {
    const bucket = new Bucket({ perMinute: 60 }, 0);
    bucket.take(60, 0);
    expect(bucket.has(1, 999)).toBe(false);
    expect(bucket.waitMs(1, 999)).toBeCloseTo(1);
    expect(bucket.has(1, 1000)).toBe(true);
    expect(bucket.view(3_600_000)).toEqual({ limit: 60, remaining: 60, resetMs: 0 });
  });

  test('a burst smaller than a minute’s worth bounds what can be taken at once', () => {
    const bucket = new Bucket({ perMinute: 120, burst: 4 }, 0);
    bucket.take(4, 60_000);
    expect(bucket.view(60_000)).toEqual({ limit: 120, remaining: 0, resetMs: 2000 });
  });

  test('debt is paid off before anything is given out', () => {
    const bucket = new Bucket({ perMinute: 60, burst: 10 }, 0);
    bucket.take(15, 0);
    expect(bucket.waitMs(1, 0)).toBeCloseTo(6000);
  });

  test('a demand larger than the bucket passes when it is full, and leaves debt', () => {
    const bucket = new Bucket({ perMinute: 60, burst: 10 }, 0);
    expect(bucket.has(25, 0)).toBe(true);
    bucket.take(25, 0);
    expect(bucket.view(0).remaining).toBe(-15);
  });

  test('punishment empties it and makes no debt', () => {
    const bucket = new Bucket({ perMinute: 60, burst: 1 }, 0);
    bucket.take(1, 0);
    bucket.punish(1, 900);
    expect(bucket.waitMs(1, 900)).toBeCloseTo(1000);
  });

  test('somebody else’s share can’t be won by asking often', () => {
    const background = { share: 0.4, quantum: 1, random: seededRandom(7) };
    const bucket = new Bucket({ perMinute: 120, background }, 0);
    let taken = 0;
    const minutes = 60;
    for (let now = 0; now < minutes * 60_000; now += 50) {
      if (!bucket.has(1, now)) continue;
      bucket.take(1, now);
      taken += 1;
    }
    expect((taken - 120) / (120 * minutes)).toBeCloseTo(0.6, 1);
  });

  test('somebody else alone uses their share of the rate', () => {
    const background = { share: 0.4, quantum: 1, random: seededRandom(7) };
    const bucket = new Bucket({ perMinute: 120, burst: 1_000_000, background }, 0);
    bucket.take(900_000, 0);
    const after = bucket.view(600_000).remaining;
    expect((after - 100_000) / 1200).toBeCloseTo(0.6, 1);
  });
});
