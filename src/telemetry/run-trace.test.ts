import { expect, test } from 'vitest';
import type { ErrorRecord } from '../core/errors.ts';
import { parseTraceparent } from '../core/traceparent.ts';
import { openItemTrace } from './run-trace.ts';
import { openSpan, type SpanRecord } from './tracer.ts';

const RUN = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };
const CRASHED: ErrorRecord = {
  problem: { code: 'worker-crashed', exitCode: null, signal: 'SIGKILL', detail: '' },
  retry: 'transient',
};

function start() {
  const ended: SpanRecord[] = [];
  const sink = { closed: (span: SpanRecord) => void ended.push(span), content: false };
  return { ended, trace: openItemTrace(sink, RUN, { id: '42', workflow: 'lld' }) };
}

test('an item with a retry is one span with two attempts below it', () => {
  const { ended, trace } = start();
  trace.attempt(1).ended(CRASHED);
  trace.note({ type: 'item-retrying', attempt: 2, delayMs: 5, error: CRASHED });
  const second = trace.attempt(2);
  trace.note({ type: 'review-read', round: 1, verdict: 'APPROVED', tiers: [0, 0, 1], problems: [] });
  second.ended(null);
  trace.note({
    type: 'item-finished',
    status: 'succeeded',
    durationMs: 1,
    attempts: 2,
    reason: null,
    error: null,
    outputs: [],
  });

  const [first, again, item] = ended;
  expect(ended.map(({ name, failed }) => [name, failed])).toEqual([
    ['attempt 1', true],
    ['attempt 2', false],
    ['lld 42', false],
  ]);
  expect(first?.attributes['error.type']).toBe('worker-crashed');
  expect([first?.parentSpanId, again?.parentSpanId]).toEqual([item?.spanId, item?.spanId]);
  expect(item?.parentSpanId).toBe(RUN.spanId);
  expect(item?.events).toMatchObject([{ name: 'retrying', attributes: { 'error.type': 'worker-crashed' } }]);
  expect(again?.events).toMatchObject([{ name: 'verdict', attributes: { 'agentos.verdict': 'APPROVED' } }]);
});

test('spans that a worker left open when it died end with the attempt', () => {
  const { ended, trace } = start();
  const attempt = trace.attempt(1);
  const context = parseTraceparent(attempt.traceparent);
  if (context === null) throw new TypeError('no context');
  const inWorker = { closed: () => undefined, content: false };
  const step = openSpan(inWorker, context, 'step draft');
  const done = openSpan(inWorker, step.record, 'git log');
  done.end();
  attempt.spans([structuredClone(step.record), structuredClone(done.record)]);
  attempt.ended(CRASHED);
  expect(ended.map(({ name, failed }) => [name, failed])).toEqual([
    ['git log', false],
    ['step draft', true],
    ['attempt 1', true],
  ]);
  for (const { endMs, startMs } of ended) expect(endMs).toBeGreaterThanOrEqual(startMs);
  expect(ended[1]?.attributes['error.type']).toBe('worker-crashed');
});

test('a call from outside belongs to the agent that runs, else to the attempt, else to the item', () => {
  const { trace } = start();
  const item = trace.current();
  const attempt = trace.attempt(1);
  const context = parseTraceparent(attempt.traceparent);
  expect(trace.current().spanId).toBe(context?.spanId);
  const attributes = { 'gen_ai.operation.name': 'invoke_agent' };
  const inWorker = { closed: () => undefined, content: false };
  const agent = openSpan(inWorker, context ?? RUN, 'invoke_agent codex', { attributes });
  const git = openSpan(inWorker, agent.record, 'git status');
  attempt.spans([agent.record, git.record]);
  expect(trace.current().spanId).toBe(agent.record.spanId);
  agent.end();
  attempt.spans([agent.record]);
  expect(trace.current().spanId).toBe(context?.spanId);
  attempt.ended(null);
  expect(trace.current().spanId).toBe(item.spanId);
});
