import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AgentosError } from '../core/errors.ts';
import { parseTraceparent } from '../core/traceparent.ts';
import {
  below,
  createWorkerSpans,
  currentTraceparent,
  openSpan,
  type SpanRecord,
  type SpanSink,
  traced,
  withTraceparent,
} from './tracer.ts';

const PARENT = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) };

function recorder(): SpanSink & { spans: SpanRecord[]; told: string[] } {
  const spans: SpanRecord[] = [];
  const told: string[] = [];
  return {
    spans,
    told,
    content: false,
    opened: ({ name }) => void told.push(`opened ${name}`),
    closed: (span) => void spans.push(span),
    leaving: () => void told.push('leaving'),
  };
}

test('outside of a trace, work just runs and no span is recorded', async () => {
  const env = { PATH: '/bin' };
  const result = await traced('nothing', {}, async (span) => {
    span.set({ a: 1 });
    span.event('x');
    expect(currentTraceparent()).toBeNull();
    expect(withTraceparent(env)).toBe(env);
    return 42;
  });
  expect(result).toBe(42);
});

test('spans nest by where they start, also in parallel and after waits', async () => {
  const sink = recorder();
  await below(sink, PARENT, () =>
    traced('outer', {}, () =>
      Promise.all(
        ['left', 'right'].map((name) =>
          traced(name, {}, async () => {
            await sleep(1);
            await traced(`in ${name}`, {}, async () => undefined);
          }),
        ),
      ),
    ),
  );
  const byName = new Map(sink.spans.map((span) => [span.name, span]));
  const parentOf = (name: string) => byName.get(name)?.parentSpanId;
  expect(parentOf('outer')).toBe(PARENT.spanId);
  for (const name of ['left', 'right']) {
    expect(parentOf(name)).toBe(byName.get('outer')?.spanId);
    expect(parentOf(`in ${name}`)).toBe(byName.get(name)?.spanId);
  }
  expect(new Set(sink.spans.map((span) => span.traceId))).toEqual(new Set([PARENT.traceId]));
  for (const { startMs, endMs } of sink.spans) expect(endMs).toBeGreaterThanOrEqual(startMs);
});

test('a thrown error is recorded by its code, and rethrown', async () => {
  const sink = recorder();
  const error = new AgentosError({ code: 'reply-empty', provider: 'x' });
  const work = below(sink, PARENT, () => traced('fails', {}, () => Promise.reject(error)));
  await expect(work).rejects.toBe(error);
  expect(sink.spans[0]).toMatchObject({ failed: true, attributes: { 'error.type': 'reply-empty' } });
});

test('a program gets the span that it is started in, after the parent process did', async () => {
  const sink = recorder();
  await below(sink, PARENT, () =>
    traced('starts', {}, async () => {
      const { TRACEPARENT } = withTraceparent({ A: 'b' });
      expect(sink.told).toEqual(['opened starts', 'leaving']);
      expect(parseTraceparent(TRACEPARENT)).toMatchObject({ traceId: PARENT.traceId, sampled: true });
      sink.told.push(TRACEPARENT ?? '');
    }),
  );
  expect(sink.told[2]).toContain(sink.spans[0]?.spanId);
});

test('a short wait gets no span, a long one does', async () => {
  const sink = recorder();
  await below(sink, PARENT, async () => {
    await traced('short', { fromMs: 10_000 }, async () => undefined);
    await traced('long', { fromMs: 5 }, () => sleep(20));
  });
  expect(sink.spans.map((span) => span.name)).toEqual(['long']);
});

test('unknown values are left out of the attributes', async () => {
  const sink = recorder();
  await below(sink, PARENT, () =>
    traced('some', { attributes: { a: null, b: 1 } }, async (span) => span.set({ c: undefined, d: ['x'] })),
  );
  expect(sink.spans[0]?.attributes).toEqual({ b: 1, d: ['x'] });
});

function gathered() {
  const posts: string[][] = [];
  const told = Promise.withResolvers<void>();
  const spans = createWorkerSpans((records: SpanRecord[]) => {
    posts.push(records.map(({ name, endMs }) => `${name} ${endMs === null ? 'open' : 'ended'}`));
    told.resolve();
  }, false);
  return { spans, posts, told: told.promise };
}

test('a span that starts and ends before the next message is sent once', () => {
  const { spans, posts } = gathered();
  const outer = openSpan(spans, PARENT, 'outer');
  openSpan(spans, outer.record, 'inner').end();
  spans.flush();
  outer.end();
  spans.flush();
  spans.flush();
  expect(posts).toEqual([['outer open', 'inner ended'], ['outer ended']]);
});

test('the parent gets a span before anyone else', () => {
  const { spans, posts } = gathered();
  openSpan(spans, PARENT, 'asks');
  expect(posts).toEqual([]);
  spans.leaving?.();
  expect(posts).toEqual([['asks open']]);
});

test('spans are sent after a while without a flush', async () => {
  const { spans, posts, told } = gathered();
  openSpan(spans, PARENT, 'waits');
  await told;
  expect(posts).toEqual([['waits open']]);
});
