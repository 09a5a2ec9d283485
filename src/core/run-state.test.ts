import { expect, test } from 'vitest';
import type { AgentosEvent, ItemEvent } from './events.ts';
import type { ItemEnd } from './item.ts';
import type { WorkflowName } from './paths.ts';
import { foldEvent, newRunState, type RunState } from './run-state.ts';
import { summaryOf } from './summary.ts';

const AT = '2026-01-01T00:00:00.000Z';

function folded(...events: [workflow: WorkflowName, event: ItemEvent][]): RunState {
  const state = newRunState([{ id: '42', title: 'Planned', workflow: 'lld' }]);
  for (const [workflow, event] of events) foldEvent(state, { at: AT, item: '42', workflow, ...event } as AgentosEvent);
  return state;
}

const started: ItemEvent = { type: 'item-started', title: 'Add a number', attempt: 1, reusedSteps: 0 };
const step = (name: string, replayed = false): ItemEvent => ({
  type: 'step-finished',
  step: name,
  replayed,
  durationMs: 5,
  costUsd: null,
});
const USAGE = { inputTokens: 10, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
const paid = (costUsd: number | null, metered = true): ItemEvent => ({
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
const ended = (end: Partial<ItemEnd>, goesOnWith?: WorkflowName): ItemEvent => ({
  type: 'item-finished',
  status: 'succeeded',
  attempts: 1,
  durationMs: 10,
  reason: null,
  error: null,
  outputs: [],
  ...end,
  ...(goesOnWith && { goesOnWith }),
});

test('an item of a pipeline is summed up over its stages: the last tells how it ended, and its outputs come first', () => {
  const state = folded(
    ['lld', started],
    ['lld', step('draft')],
    ['lld', paid(0.5)],
    ['lld', ended({ outputs: ['docs/lld/LLD-42.md'] }, 'implement')],
    ['implement', { ...started, attempt: 2 } as ItemEvent],
    ['implement', step('tests-1')],
    ['implement', paid(0.25)],
    ['implement', ended({ status: 'discuss', attempts: 2, reason: 'who pays?', outputs: ['agentos/42-add'] })],
  );
  const item = state.items.get('42');
  if (item === undefined) throw new Error('no item');
  expect(summaryOf(item, { kept: null, question: null })).toMatchObject({
    id: '42',
    workflow: 'implement',
    title: 'Add a number',
    status: 'discuss',
    reason: 'who pays?',
    attempts: 3,
    durationMs: 20,
    steps: [{ name: 'draft' }, { name: 'tests-1' }],
    usage: { inputTokens: 20, outputTokens: 2 },
    costUsd: 0.75,
    outputs: ['agentos/42-add', 'docs/lld/LLD-42.md'],
  });
  expect(state).toMatchObject({ done: 1, counts: { discuss: 1 }, costUsd: 0.75, places: [null] });
});

test('between two stages an item is in the next one, at no step, and has not ended', () => {
  const state = folded(['lld', started], ['lld', step('draft')], ['lld', ended({}, 'implement')]);
  expect(state.items.get('42')).toMatchObject({ workflow: 'implement', step: null, status: null, startedAtMs: null });
  expect(state.done).toBe(0);
});

test('what was paid counts, whatever came of it; a price that is not known makes the sum unknown, no usage does not', () => {
  const sum = (...events: ItemEvent[]): number | null | undefined =>
    folded(...[started, ...events].map((event): [WorkflowName, ItemEvent] => ['lld', event])).items.get('42')?.costUsd;
  expect(sum(paid(0.5), ended({ status: 'failed' }))).toBe(0.5);
  expect(sum(paid(0.5), paid(null, false))).toBe(0.5);
  expect(sum(paid(0.5), paid(null))).toBeNull();
});

test('last words after the end of an item change nothing that is shown', () => {
  const state = folded(
    ['lld', started],
    ['lld', ended({ status: 'cancelled' })],
    ['lld', { type: 'step-started', step: 'late', model: null }],
  );
  expect(state.items.get('42')).toMatchObject({ status: 'cancelled', step: null });
  // It is resumed by the next run.
  expect(state).toMatchObject({ done: 0, counts: { cancelled: 1 } });
});
