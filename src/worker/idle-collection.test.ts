import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createIdleCollection } from './idle-collection.ts';

const call = { type: 'step-started', step: 'draft', model: 'anthropic:x' } as const;
const ended = { type: 'step-finished', step: 'draft', replayed: false, durationMs: 1, costUsd: null } as const;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a call that lasts gets one collection, however long it lasts', () => {
  const collect = vi.fn<() => void>();
  const idle = createIdleCollection(collect, 3_000);
  idle.onEvent(call);
  vi.advanceTimersByTime(2_999);
  expect(collect).not.toHaveBeenCalled();
  idle.onEvent({ type: 'notice', text: 'still there' });
  vi.advanceTimersByTime(60_000);
  expect(collect).toHaveBeenCalledTimes(1);
});

test('a call that ends before, a step without a model and an item that ends get none', () => {
  const collect = vi.fn<() => void>();
  const idle = createIdleCollection(collect, 3_000);
  for (let n = 0; n < 5; n++) {
    idle.onEvent(call);
    vi.advanceTimersByTime(2_000);
    idle.onEvent(ended);
  }
  idle.onEvent({ type: 'step-started', step: 'baseline', model: null });
  vi.advanceTimersByTime(60_000);
  idle.onEvent(call);
  idle.cancel();
  vi.advanceTimersByTime(60_000);
  expect(collect).not.toHaveBeenCalled();
});
