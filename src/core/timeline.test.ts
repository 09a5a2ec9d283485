import { expect, test } from 'vitest';
import type { AgentosEvent, ItemEvent, RunEvent } from './events.ts';
import { snapshotOf, stateOfSnapshot } from './run-snapshot.ts';
import { foldEvent, newRunState, type RunState } from './run-state.ts';

const START = Date.parse('2026-01-01T10:00:00Z');
const usage = { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0, cacheWriteTokens: 0 };

function at(seconds: number, event: RunEvent): AgentosEvent {
  return { at: new Date(START + seconds * 1_000).toISOString(), ...event };
}

function of(seconds: number, item: string, event: ItemEvent): AgentosEvent {
  return { at: new Date(START + seconds * 1_000).toISOString(), item, workflow: 'lld', ...event } as AgentosEvent;
}

const ms = (seconds: number): number => START + seconds * 1_000;
const started: ItemEvent = { type: 'item-started', title: 'A', attempt: 1, reusedSteps: 0 };
const answered = (step: string, costUsd: number | null): ItemEvent => ({
  type: 'model-answered',
  step,
  role: 'drafter',
  asked: 'm',
  answered: 'm2',
  promptHash: '',
  replyHash: '',
  usage,
  metered: true,
  costUsd,
  durationMs: 2_000,
});
const ended: ItemEvent = {
  type: 'item-finished',
  status: 'failed',
  attempts: 2,
  durationMs: 1,
  reason: null,
  error: null,
  outputs: [],
};

/** Two items on one worker: a retry, a wait for quota, a step that the end cuts off; then a key that rests and one that dies. */
const EVENTS: AgentosEvent[] = [
  at(0, { type: 'run-started', runId: 'r', workflow: 'lld', items: ['1', '2'], parallel: 1, models: {}, groups: [] }),
  of(1, '1', started),
  of(2, '1', { type: 'step-started', step: 'draft', model: 'm' }),
  of(3, '1', { type: 'quota-waiting', vendor: 'v', reason: 'quota', forMs: null }),
  of(5, '1', { type: 'quota-resumed', vendor: 'v', reason: 'quota', waitedMs: 2_000 }),
  of(8, '1', answered('draft', 0.5)),
  of(9, '1', { type: 'step-finished', step: 'draft', replayed: false, durationMs: 1, costUsd: 0.5 }),
  of(10, '1', {
    type: 'item-retrying',
    attempt: 2,
    delayMs: 5_000,
    error: { problem: { code: 'git-missing' }, retry: 'transient' },
  }),
  of(15, '1', { ...started, attempt: 2 } as ItemEvent),
  of(16, '1', { type: 'step-started', step: 'review-1', model: 'm' }),
  of(20, '1', ended),
  of(21, '2', started),
  of(30, '2', {
    type: 'gateway-call',
    vendor: 'v',
    model: 'm',
    keyId: 'K1',
    status: 200,
    attempts: 1,
    waitedMs: 0,
    durationMs: 1,
    costUsd: null,
    usage: null,
  }),
  of(31, '2', answered('draft', null)),
  at(32, { type: 'key-cooling', keyId: 'K1', forMs: 10_000, why: 'rate' }),
  at(40, { type: 'key-dead', keyId: 'K2', reason: '401' }),
  at(41, { type: 'warning', text: 'careful' }),
];

function folded(events: readonly AgentosEvent[], state = newRunState([], { withTimeline: true })): RunState {
  for (const event of events) foldEvent(state, event);
  return state;
}

test('steps, waits, retries and calls of an item have their times, and its end closes what is open', () => {
  const { timeline, places } = folded(EVENTS);
  expect(timeline?.items.get('1')).toEqual({
    stageRuns: [{ place: 0, workflow: 'lld', fromMs: ms(1), toMs: ms(20), status: 'failed' }],
    spans: [
      { kind: 'step', name: 'draft', fromMs: ms(2), toMs: ms(9) },
      { kind: 'wait', name: 'quota', fromMs: ms(3), toMs: ms(5) },
      { kind: 'retry', name: 'git-missing', fromMs: ms(10), toMs: ms(15) },
      { kind: 'step', name: 'review-1', fromMs: ms(16), toMs: ms(20) },
    ],
    calls: [
      {
        workflow: 'lld',
        step: 'draft',
        role: 'drafter',
        model: 'm2',
        fromMs: ms(6),
        toMs: ms(8),
        inputTokens: 10,
        outputTokens: 5,
        costUsd: 0.5,
      },
    ],
  });
  // The second item takes the place of the first.
  expect(timeline?.items.get('2')?.stageRuns).toEqual([
    { place: 0, workflow: 'lld', fromMs: ms(21), toMs: null, status: null },
  ]);
  expect(places.map((item) => item?.id)).toEqual(['2']);
});

test('keys have their requests by the minute and their rests, and money is counted by hour, role and model', () => {
  const { timeline } = folded(EVENTS);
  expect(timeline?.keys.get('K1')).toEqual({
    requests: [[ms(30) / 60_000 - 0.5, 1]],
    cooling: [{ fromMs: ms(32), toMs: ms(42), why: 'rate' }],
    deadAtMs: null,
  });
  expect(timeline?.keys.get('K2')?.deadAtMs).toBe(ms(40));
  expect(timeline?.spending).toEqual([
    {
      hour: '2026-01-01T10',
      role: 'drafter',
      model: 'm2',
      calls: 2,
      usage: { inputTokens: 20, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costUsd: 0.5,
      unpriced: 1,
    },
  ]);
  expect(timeline?.warnings).toEqual([{ atMs: ms(41), text: 'careful' }]);
});

test('a reader that starts from a snapshot and folds the rest comes to the same state, wherever it starts', () => {
  const whole = snapshotOf(folded(EVENTS));
  for (let cut = 0; cut <= EVENTS.length; cut++) {
    const sent = JSON.stringify(snapshotOf(folded(EVENTS.slice(0, cut))));
    const resumed = folded(EVENTS.slice(cut), stateOfSnapshot(JSON.parse(sent)));
    expect(snapshotOf(resumed)).toEqual(whole);
  }
});

test('without a timeline nothing of it is kept', () => {
  expect(folded(EVENTS, newRunState()).timeline).toBeNull();
});
