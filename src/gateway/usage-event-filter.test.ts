import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createUsageEventFilter } from './usage-event-filter.ts';

function filter(text: string, cuts: readonly number[] = []): string {
  const whole = Buffer.from(text);
  const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length];
  const usage = createUsageEventFilter();
  const passed = at.slice(1).map((end, index) => usage.push(whole.subarray(at[index], end)));
  return Buffer.concat([...passed, usage.end()]).toString('utf8');
}

const delta = 'data: {"choices":[{"delta":{"content":"ü [] \\"usage\\""}}],"usage":null}\n\n';
const azure = 'data: {"choices":[],"prompt_filter_results":[],"usage":null}\n\n';
const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3}}\n\n';
const done = 'data: [DONE]\n\n';

test('only the event that holds nothing but the usage is taken out', () => {
  expect(filter(azure + delta + usage + done)).toBe(azure + delta + done);
});

test('it does not matter where the stream is cut', () => {
  const text = `: comment\n\n${delta}${usage}${delta.replaceAll('\n', '\r\n')}${usage.replaceAll('\n', '\r\n')}${done}`;
  const expected = `: comment\n\n${delta}${delta.replaceAll('\n', '\r\n')}${done}`;
  fc.assert(
    fc.property(fc.array(fc.nat(Buffer.byteLength(text))), (cuts) => {
      expect(filter(text, cuts)).toBe(expected);
    }),
  );
});

test('what is left without an end passes too', () => {
  expect(filter(`${delta}data: {"cho`)).toBe(`${delta}data: {"cho`);
});

test('a long event is not held up until its end', () => {
  const passing = createUsageEventFilter();
  expect(passing.push(Buffer.from(`data: ${'x'.repeat(100_000)}`)).byteLength).toBe(100_006);
});
