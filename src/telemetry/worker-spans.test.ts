import { expect, test } from 'vitest';
import { openSpan, type SpanRecord } from './span.ts';
import { createWorkerSpans } from './tracer.ts';

const TRACE = { traceId: 'a'.repeat(32), spanId: null };

function start() {
  const posts: string[][] = [];
  const told = Promise.withResolvers<void>();
  const spans = createWorkerSpans((records: SpanRecord[]) => {
    posts.push(records.map(({ name, endMs }) => `${name} ${endMs === null ? 'open' : 'ended'}`));
    told.resolve();
  }, false);
  return { spans, posts, told: told.promise };
}

test('a span that starts and ends before the next message is sent once', () => {
  const { spans, posts } = start();
  const outer = openSpan(spans, TRACE, 'outer');
  openSpan(spans, outer.record, 'inner').end();
  spans.flush();
  outer.end();
  spans.flush();
  spans.flush();
  expect(posts).toEqual([['outer open', 'inner ended'], ['outer ended']]);
});

test('the parent gets a span before anyone else', () => {
  const { spans, posts } = start();
  openSpan(spans, TRACE, 'asks');
  expect(posts).toEqual([]);
  spans.leaving?.();
  expect(posts).toEqual([['asks open']]);
});

test('spans are sent after a while without a flush', async () => {
  const { spans, posts, told } = start();
  openSpan(spans, TRACE, 'waits');
  await told;
  expect(posts).toEqual([['waits open']]);
});
