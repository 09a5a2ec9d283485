import { expect, test } from 'vitest';
import { parseTraceparent, traceparentOf } from './traceparent.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

test('what is written is read again, with the decision whether it is recorded', () => {
  for (const sampled of [true, false]) {
    const text = traceparentOf({ traceId: TRACE, spanId: SPAN }, sampled);
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  }
});

test('a later version may say more, and other flags than the first are passed over', () => {
  expect(parseTraceparent(` 01-${TRACE}-${SPAN}-03-more `)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true });
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-02`)?.sampled).toBe(false);
});

test.each([
  [undefined],
  [''],
  ['00-short-ids-01'],
  [`00-${TRACE}-${SPAN}-01-more`],
  [`ff-${TRACE}-${SPAN}-01`],
  [`00-${'0'.repeat(32)}-${SPAN}-01`],
  [`00-${TRACE}-${'0'.repeat(16)}-01`],
  [`00-${TRACE.toUpperCase()}-${SPAN}-01`],
])('%s is no context', (text) => {
  expect(parseTraceparent(text)).toBeNull();
});
