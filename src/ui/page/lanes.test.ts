import { expect, test } from 'vitest';
import type { ItemStatus } from '../../core/item.ts';
import { newRunState, type RunState } from '../../core/run-state.ts';
import { failuresOf, lanesOf, requestsPath, ticksOf } from './lanes.ts';

/** One item after another on one worker, each of ten seconds with one step and one call. */
function runOf(statuses: readonly ItemStatus[]): RunState {
  const state = newRunState([], { withTimeline: true });
  state.places.push(null);
  for (const [index, status] of statuses.entries()) {
    const [fromMs, toMs] = [index * 10_000, index * 10_000 + 9_000];
    const call = { workflow: 'lld', step: 'draft', role: 'drafter', model: 'm' } as const;
    state.timeline?.items.set(String(index), {
      stageRuns: [{ place: 0, workflow: 'lld', fromMs, toMs, status }],
      spans: [{ kind: 'step', name: 'draft', fromMs: fromMs + 1_000, toMs: toMs - 1_000 }],
      calls: [{ ...call, fromMs: fromMs + 2_000, toMs: toMs - 2_000, inputTokens: 1, outputTokens: 1, costUsd: 0 }],
    });
  }
  return state;
}

test('close up, a flight is shown with its steps and calls', () => {
  const [bars] = lanesOf(runOf(['succeeded']), { fromMs: 0, toMs: 10_000 }, 1_000, 0);
  expect(bars?.map(({ kind, tone, x, width }) => [kind, tone, x, width])).toEqual([
    ['flight', 'good', 0, 900],
    ['step', 'good', 100, 700],
    ['call', 'active', 200, 500],
  ]);
});

test('from afar, stageRuns of the same end are one bar, and a failure among them is still seen', () => {
  const statuses = Array.from({ length: 5_000 }, (_, index): ItemStatus => (index === 2_500 ? 'failed' : 'succeeded'));
  const [bars] = lanesOf(runOf(statuses), { fromMs: 0, toMs: 50_000_000 }, 1_000, 0);
  expect(bars?.map(({ kind, tone }) => `${kind} ${tone}`)).toEqual(['whole good', 'whole bad', 'whole good']);
  expect(bars?.[1]?.x).toBeCloseTo(500, 0);
  expect(bars?.[1]?.width).toBe(1);
});

test('however many requests there were, their shape has no more columns than there is room for', () => {
  const requests = Array.from({ length: 100_000 }, (_, minute): [number, number] => [minute, 1]);
  const path = requestsPath(requests, { fromMs: 0, toMs: 100_000 * 60_000 }, 900, 24);
  expect(path.split('M').length - 1).toBeLessThanOrEqual(301);
  expect(path).toMatch(/^M0\.0 20v-16\.0h/);
});

test('failures come in the order of their ends, and ticks are round', () => {
  expect(failuresOf(runOf(['failed', 'succeeded', 'timed-out'])).map(({ id }) => id)).toEqual(['0', '2']);
  expect(ticksOf({ fromMs: 500, toMs: 60_500 }, 600)).toEqual([15_000, 30_000, 45_000, 60_000]);
});
