import { afterEach, describe, expect, test, vi } from 'vitest';
import { createSystemClock } from './clock.ts';

/** Nothing of this process runs meanwhile, as if it were stopped. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a suspension', () => {
  const suspended = () => createSystemClock({ tickMs: 20, lateMs: 60 });

  test('is taken off the time, and told with its length', async () => {
    const clock = suspended();
    const told: number[] = [];
    const stop = clock.onSuspended((forMs) => told.push(forMs));
    const fromMs = clock.now();
    block(600);
    expect(clock.now() - fromMs).toBeLessThan(300);
    expect(clock.suspendedMs()).toBeGreaterThan(300);
    await turn();
    expect(told).toEqual([expect.any(Number)]);
    stop();
    block(300);
    clock.now();
    await turn();
    expect(told).toHaveLength(1);
  });

  test('ends no timer and no sleep: what was left of them is still ahead', async () => {
    const clock = suspended();
    const done: string[] = [];
    const timer = clock.timer(600, () => done.push('timer'));
    const asleep = clock.sleep(600).then(() => done.push('sleep'));
    block(900);
    await turn();
    await turn();
    expect(done).toEqual([]);
    await asleep;
    await vi.waitFor(() => expect(done.toSorted()).toEqual(['sleep', 'timer']));
    timer.stop();
  });

  test('is not seen in a delay that a busy machine has', () => {
    const clock = createSystemClock({ tickMs: 20, lateMs: 5_000 });
    clock.now();
    block(50);
    clock.now();
    expect(clock.suspendedMs()).toBe(0);
  });
});

describe('a date that is set', () => {
  afterEach(() => void vi.useRealTimers());

  test.each([-7_200_000, 7_200_000])('by %i ms moves neither the time nor a timer', async (jumpMs) => {
    const clock = createSystemClock();
    const fromMs = clock.now();
    const fromDate = clock.dateMs();
    let isOver = false;
    const timer = clock.timer(60_000, () => {
      isOver = true;
    });
    const asleep = clock.sleep(20);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + jumpMs });
    expect(Math.abs(clock.dateMs() - fromDate - jumpMs)).toBeLessThan(5_000);
    await asleep;
    const tookMs = clock.now() - fromMs;
    expect(tookMs).toBeGreaterThanOrEqual(19);
    expect(tookMs).toBeLessThan(30_000);
    expect(isOver).toBe(false);
    expect(clock.suspendedMs()).toBe(0);
    timer.stop();
  });
});

describe('a timer', () => {
  test('counts from its last refresh on, and runs again when it is refreshed after its end', async () => {
    const clock = createSystemClock();
    let runs = 0;
    const fromMs = clock.now();
    const timer = clock.timer(60, () => {
      runs += 1;
    });
    await clock.sleep(40);
    timer.refresh();
    await vi.waitFor(() => expect(runs).toBe(1));
    expect(clock.now() - fromMs).toBeGreaterThanOrEqual(100);
    timer.refresh();
    await vi.waitFor(() => expect(runs).toBe(2));
    timer.refresh();
    timer.stop();
    timer.refresh();
    await clock.sleep(80);
    expect(runs).toBe(2);
  });

  test('a sleep ends early with its signal', async () => {
    const stop = new AbortController();
    const asleep = createSystemClock().sleep(60_000, stop.signal);
    stop.abort();
    await expect(asleep).resolves.toBeUndefined();
  });
});
