import { expect, test } from 'vitest';
import type { AgentosEvent, ItemEvent } from './events.ts';
import { outlookOf } from './progress.ts';
import { foldEvent, newRunState, type RunState } from './run-state.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (seconds: number): string => new Date(START + seconds * 1_000).toISOString();

/** `done` of four items took 10 s and $1 each; the next one is under way since then. */
function running(done: number): RunState {
  const state = newRunState();
  const items = ['1', '2', '3', '4'];
  const add = (seconds: number, item: string, event: ItemEvent): void =>
    foldEvent(state, { at: at(seconds), item, workflow: 'lld', ...event } as AgentosEvent);
  foldEvent(state, {
    at: at(0),
    type: 'run-started',
    runId: 'r',
    workflow: 'lld',
    items,
    parallel: 1,
    models: {},
    groups: [],
  });
  const usage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  for (const [index, id] of items.slice(0, done + 1).entries()) {
    add(index * 10, id, { type: 'item-started', title: '', attempt: 1, reusedSteps: 0 });
    if (index === done) break;
    add(index * 10 + 5, id, {
      type: 'gateway-call',
      vendor: 'v',
      model: 'm',
      keyId: null,
      status: 200,
      attempts: 1,
      waitedMs: 0,
      durationMs: 1,
      costUsd: 1,
      usage,
    });
    add(index * 10 + 10, id, {
      type: 'item-finished',
      status: 'succeeded',
      attempts: 1,
      durationMs: 10_000,
      reason: null,
      error: null,
      outputs: [],
    });
  }
  return state;
}

test('what is left takes and costs what the others did', () => {
  expect(outlookOf(running(2), START + 20_000)).toEqual({ endsAtMs: START + 40_000, costUsd: 4, from: 2, waits: [] });
});

test('without an item that ended there is nothing to tell it from', () => {
  expect(outlookOf(running(0), START)).toEqual({ endsAtMs: null, costUsd: null, from: 0, waits: [] });
});

test('a vendor without quota is named, and whether the run ends before it has some again', () => {
  const state = running(2);
  for (const [vendor, forMs] of [
    ['early', 5_000],
    ['late', 90_000],
    ['unknown', null],
  ] as const)
    foldEvent(state, { at: at(20), type: 'pool-exhausted', vendor, reason: 'quota', forMs });
  expect(outlookOf(state, START + 20_000)?.waits).toEqual([
    { vendor: 'early', untilMs: START + 25_000, endsBefore: false },
    { vendor: 'late', untilMs: START + 110_000, endsBefore: true },
    { vendor: 'unknown', untilMs: null, endsBefore: false },
  ]);
});

test('a run that has ended has none', () => {
  const state = running(2);
  foldEvent(state, { at: at(30), type: 'run-finished', runId: 'r', exitCode: 0, durationMs: 1 });
  expect(outlookOf(state, START + 40_000)).toBeNull();
});
