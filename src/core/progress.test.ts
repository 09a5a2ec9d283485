import { describe, expect, test } from 'vitest';
import type { AgentosEvent, ItemEvent, WaitReason } from './events.ts';
import type { ItemStatus } from './item.ts';
import { type ProgressView, progressOf } from './progress.ts';
import { foldEvent, newRunState } from './run-state.ts';

interface Progress {
  add(event: AgentosEvent): void;
  view(nowMs: number): ProgressView;
}

function createProgress(mask: (text: string) => string): Progress {
  const state = newRunState();
  return { add: (event) => foldEvent(state, event), view: (nowMs) => progressOf(state, nowMs, mask) };
}

const START_MS = Date.parse('2026-01-01T00:00:00Z');

function started(total: number): { progress: Progress; at: (seconds: number, item: string, event: ItemEvent) => void } {
  const progress = createProgress((text) => text.replaceAll('s3cr3t', '********'));
  const items = Array.from({ length: total }, (_, index) => String(index + 1));
  const time = (seconds: number): string => new Date(START_MS + seconds * 1_000).toISOString();
  progress.add({
    at: time(0),
    type: 'run-started',
    runId: 'r',
    workflow: 'lld',
    items,
    parallel: 1,
    models: {},
    groups: [],
  });
  return {
    progress,
    at: (seconds, item, event) => progress.add({ at: time(seconds), item, workflow: 'lld', ...event } as AgentosEvent),
  };
}

const start = (title = 'A title', attempt = 1): ItemEvent => ({ type: 'item-started', title, attempt, reusedSteps: 0 });
const step = (name: string): ItemEvent => ({ type: 'step-started', step: name, model: null });
const finish = (status: ItemStatus, seconds: number, attempts = 1): ItemEvent => ({
  type: 'item-finished',
  status,
  durationMs: seconds * 1_000,
  attempts,
  reason: null,
  error: null,
  outputs: [],
});
const retry = (delayMs: number, cause: 'transient' | 'quota'): ItemEvent => ({
  type: 'item-retrying',
  attempt: 2,
  delayMs,
  error: { problem: { code: 'reply-empty', provider: 'p' }, retry: cause },
});
const USAGE = { inputTokens: 1_000, outputTokens: 200, cacheReadTokens: 900, cacheWriteTokens: 0 };
const answer = (costUsd: number | null, metered = true): ItemEvent => ({
  type: 'gateway-call',
  vendor: 'google',
  model: 'm',
  keyId: null,
  status: 200,
  attempts: 1,
  waitedMs: 0,
  durationMs: 1,
  usage: metered ? USAGE : null,
  costUsd,
});
const viewAt = (progress: Progress, seconds: number) => progress.view(START_MS + seconds * 1_000);
const etaSeconds = (progress: Progress, seconds: number): number | null => {
  const { etaMs } = viewAt(progress, seconds);
  return etaMs === null ? null : etaMs / 1_000;
};

test('a stage of a pipeline leaves its place, but its item is not done before the last one', () => {
  const { progress, at } = started(2);
  at(0, '1', start());
  at(4, '1', { ...finish('succeeded', 4), goesOnWith: 'implement' } as ItemEvent);
  expect(viewAt(progress, 4)).toMatchObject({ done: 0, total: 2, counts: {}, workers: [], etaMs: null });
  at(10, '1', finish('succeeded', 6));
  expect(viewAt(progress, 10)).toMatchObject({ done: 1, total: 2, counts: { succeeded: 1 } });
  // Both stages of the item that is left.
  expect(etaSeconds(progress, 10)).toBe(10);
});

describe('workers', () => {
  test('an item is at work from its start to its end, with its step, time, tokens and cost', () => {
    const { progress, at } = started(2);
    at(1, '1', start());
    at(2, '1', step('review-1'));
    at(3, '1', answer(0.25));
    at(4, '1', answer(0.5));
    expect(viewAt(progress, 11).workers).toEqual([
      {
        label: 'LLD-1',
        title: 'A title',
        step: 'review-1',
        wait: null,
        elapsedMs: 10_000,
        tokens: 2_400,
        costUsd: 0.75,
      },
    ]);
    at(12, '1', finish('succeeded', 11));
    expect(viewAt(progress, 12)).toMatchObject({
      workers: [],
      done: 1,
      total: 2,
      counts: { succeeded: 1 },
      costUsd: 0.75,
    });
  });

  test('an item takes the place of the one that ended, and the others keep theirs', () => {
    const { progress, at } = started(4);
    for (const id of ['1', '2', '3']) at(0, id, start());
    at(1, '2', finish('succeeded', 1));
    at(1, '4', start());
    expect(viewAt(progress, 1).workers.map((worker) => worker.label)).toEqual(['LLD-1', 'LLD-4', 'LLD-3']);
  });

  test('a retry counts down until the next attempt, which goes on with the time and cost of the first', () => {
    const { progress, at } = started(1);
    at(0, '1', start());
    at(1, '1', answer(0.5));
    at(2, '1', retry(8_000, 'transient'));
    expect(viewAt(progress, 5).workers[0]).toMatchObject({
      wait: { reason: 'retry', untilMs: START_MS + 10_000 },
    });
    at(10, '1', start('A title', 2));
    expect(viewAt(progress, 10).workers).toHaveLength(1);
    expect(viewAt(progress, 10).workers[0]).toMatchObject({
      wait: null,
      elapsedMs: 10_000,
      costUsd: 0.5,
    });
  });

  test('an item that waits for quota is paused', () => {
    const { progress, at } = started(1);
    at(0, '1', retry(42_000, 'quota'));
    expect(viewAt(progress, 0).workers[0]).toMatchObject({
      wait: { reason: 'quota', untilMs: START_MS + 42_000 },
    });
  });

  test('a line that comes after the end of its item does not bring it back', () => {
    const { progress, at } = started(1);
    at(0, '1', start());
    at(1, '1', finish('failed', 1));
    at(2, '1', { type: 'output-line', stream: 'stderr', line: 'late' });
    at(2, '1', step('late'));
    expect(viewAt(progress, 2).workers).toEqual([]);
  });

  test('a clock that was set back gives no negative time', () => {
    const { progress, at } = started(1);
    at(10, '1', start());
    expect(viewAt(progress, 0).workers[0]?.elapsedMs).toBe(0);
  });

  test('a secret in a title is masked', () => {
    const { progress, at } = started(1);
    at(0, '1', start('Rotate s3cr3t now'));
    expect(viewAt(progress, 0).workers[0]?.title).toBe('Rotate ******** now');
  });
});

describe('cost', () => {
  test('an unknown price makes the sum unknown, a call without usage does not', () => {
    const { progress, at } = started(2);
    at(0, '1', start());
    at(0, '2', start());
    at(1, '1', answer(0.5));
    at(1, '2', answer(null, false));
    expect(viewAt(progress, 1).costUsd).toBe(0.5);
    at(2, '2', answer(null));
    expect(viewAt(progress, 2).costUsd).toBeNull();
    expect(viewAt(progress, 2).workers.map((worker) => worker.costUsd)).toEqual([0.5, null]);
  });
});

describe('ETA', () => {
  test('is unknown until an item was worked on to its end', () => {
    const { progress, at } = started(5);
    at(0, '1', finish('skipped', 0, 0));
    at(0, '2', finish('failed', 0, 0));
    at(0, '3', start());
    expect(etaSeconds(progress, 5)).toBeNull();
    at(10, '3', finish('succeeded', 10));
    expect(etaSeconds(progress, 10)).toBe(20);
  });

  test('is not shortened by items that were skipped', () => {
    const { progress, at } = started(4);
    at(0, '1', start());
    at(10, '1', finish('succeeded', 10));
    at(10, '2', finish('skipped', 0, 0));
    expect(etaSeconds(progress, 10)).toBe(20);
  });

  test('counts down while items run', () => {
    const { progress, at } = started(2);
    at(0, '1', start());
    at(10, '1', finish('discuss', 10));
    at(10, '2', start());
    expect(etaSeconds(progress, 13)).toBe(7);
  });

  test('shares what is left between as many workers as were seen at once', () => {
    const { progress, at } = started(8);
    at(0, '1', start());
    at(0, '2', start());
    at(10, '1', finish('succeeded', 10));
    at(10, '2', finish('succeeded', 10));
    expect(etaSeconds(progress, 10)).toBe(30);
  });

  test('is never shorter than what the longest item still needs', () => {
    const { progress, at } = started(4);
    for (const id of ['1', '2', '3']) at(0, id, start());
    for (const id of ['1', '2', '3']) at(10, id, finish('succeeded', 10));
    expect(etaSeconds(progress, 10)).toBe(10);
  });

  test('is unknown when all that is left takes longer than the others did, and when the run is stopping', () => {
    const { progress, at } = started(2);
    at(0, '1', start());
    at(10, '1', finish('succeeded', 10));
    at(10, '2', start());
    expect(etaSeconds(progress, 25)).toBeNull();
    expect(etaSeconds(progress, 15)).toBe(5);
    progress.add({ at: new Date(START_MS).toISOString(), type: 'interrupted', signal: 'SIGINT' });
    expect(viewAt(progress, 15)).toMatchObject({ etaMs: null, stopping: true });
  });
});

const exhausted = (seconds: number, reason: WaitReason, forMs: number): AgentosEvent => ({
  at: new Date(START_MS + seconds * 1_000).toISOString(),
  type: 'pool-exhausted',
  vendor: 'anthropic',
  reason,
  forMs,
});

test('an item waits for the reason that was given, and for quota once the vendor refuses it', () => {
  const { progress, at } = started(1);
  at(0, '1', start());
  at(1, '1', { type: 'quota-waiting', vendor: 'anthropic', reason: 'pace', forMs: 3_000 });
  const paced = { reason: 'pace', untilMs: START_MS + 4_000 };
  expect(viewAt(progress, 1)).toMatchObject({ workers: [{ wait: paced }], pause: paced });
  progress.add(exhausted(2, 'quota', 40_000));
  expect(viewAt(progress, 2).workers[0]?.wait).toEqual({ reason: 'quota', untilMs: START_MS + 42_000 });
  at(42, '1', { type: 'quota-resumed', vendor: 'anthropic', reason: 'quota', waitedMs: 41_000 });
  expect(viewAt(progress, 43)).toMatchObject({ workers: [{ wait: null }], pause: null });
});

test('a run in which nothing can be started waits for what its vendor waits for', () => {
  const { progress, at } = started(2);
  at(0, '1', start());
  progress.add(exhausted(1, 'quota', 40_000));
  expect(viewAt(progress, 1).pause).toBeNull();
  at(2, '1', finish('failed', 2));
  expect(viewAt(progress, 2).pause).toEqual({ reason: 'quota', untilMs: START_MS + 41_000 });
  progress.add({ at: new Date(START_MS).toISOString(), type: 'pool-resumed', vendor: 'anthropic', reason: 'quota' });
  expect(viewAt(progress, 3).pause).toBeNull();
});

test('what was cancelled or paused is not done: it is resumed by the next run', () => {
  const { progress, at } = started(4);
  for (const [id, status] of [
    ['1', 'succeeded'],
    ['2', 'cancelled'],
    ['3', 'paused'],
    ['4', 'failed'],
  ] as const)
    at(1, id, finish(status, 1));
  expect(viewAt(progress, 2)).toMatchObject({ done: 2, total: 4 });
});

test('a key is known from its first call, cools for its time, and is out when it was rejected', () => {
  const { progress, at } = started(1);
  const time = new Date(START_MS).toISOString();
  const call = { vendor: 'google', model: 'm', status: 200, attempts: 1, waitedMs: 0, durationMs: 1, costUsd: 0 };
  at(0, '1', { type: 'gateway-call', ...call, keyId: 'G1', usage: null });
  progress.add({ at: time, type: 'key-cooling', keyId: 'G2', forMs: 5_000, why: 'rate' });
  progress.add({ at: time, type: 'key-dead', keyId: 'G3', reason: 'no' });
  expect(viewAt(progress, 1).keys).toEqual([
    { id: 'G1', state: 'ready', untilMs: null },
    { id: 'G2', state: 'cooling', untilMs: START_MS + 5_000 },
    { id: 'G3', state: 'rejected', untilMs: null },
  ]);
  expect(viewAt(progress, 6).keys[1]).toEqual({ id: 'G2', state: 'ready', untilMs: null });
});
