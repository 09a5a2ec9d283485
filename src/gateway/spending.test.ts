import { describe, expect, test } from 'vitest';
import { codeOf } from '../core/errors.ts';
import { createSpending, expectedCostUsd } from './spending.ts';

const signal = new AbortController().signal;
const price = { input: 1_000, output: 2_000, cacheRead: 0, cacheWrite: 0 };

describe('what a call is expected to cost', () => {
  const none = { maxCostUsd: null, maxCostPerItemUsd: null };
  const opus = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
  const longReply = { inputTokens: 0, maxOutputTokens: 64_000 };

  test('its input, and the output that it allows itself', () => {
    expect(expectedCostUsd(price, { inputTokens: 1_000, maxOutputTokens: 500 }, none)).toBeCloseTo(1 + 1);
  });

  test('its input as if all of it were written to the cache, where that is dearer', () => {
    expect(expectedCostUsd(opus, { inputTokens: 1_000_000, maxOutputTokens: 0 }, none)).toBeCloseTo(6.25);
  });

  test('the longest reply where a limit can bear that, so that it holds', () => {
    expect(expectedCostUsd(opus, longReply, { ...none, maxCostPerItemUsd: 20 })).toBeCloseTo(1.6);
    expect(
      expectedCostUsd(opus, { ...longReply, maxOutputTokens: null }, { ...none, maxCostPerItemUsd: 20 }),
    ).toBeCloseTo(3.2);
  });

  test('a usual reply where the longest would use up a small limit; of two limits the smaller one counts', () => {
    const usual = (16_384 * 25) / 1_000_000;
    expect(expectedCostUsd(opus, longReply, { ...none, maxCostPerItemUsd: 0.6 })).toBeCloseTo(usual);
    expect(expectedCostUsd(opus, longReply, { maxCostUsd: 1, maxCostPerItemUsd: 20 })).toBeCloseTo(usual);
  });

  test('the higher price of a long input', () => {
    const long = { aboveInputTokens: 100, input: 3_000, output: 3_000, cacheRead: 0, cacheWrite: 0 };
    expect(expectedCostUsd({ ...price, long }, { inputTokens: 1_000, maxOutputTokens: 1_000 }, none)).toBeCloseTo(6);
  });
});

test('without limits everything is let out', async () => {
  const spending = createSpending({ maxCostUsd: null, maxCostPerItemUsd: null });
  (await spending.reserve('1', 1_000_000, signal)).settle(5);
  expect(spending.spentUsd()).toBe(5);
});

test('a limit may be used to the last cent', async () => {
  const spending = createSpending({ maxCostUsd: 1, maxCostPerItemUsd: null });
  for (let n = 0; n < 2; n++) (await spending.reserve('1', 0.5, signal)).settle(0.5);
  const error = await spending.reserve('1', 0.01, signal).catch((thrown: unknown) => thrown);
  expect(codeOf(error)).toBe('over-budget');
});

test('a reservation is settled once, whoever settles it again', async () => {
  const spending = createSpending({ maxCostUsd: 10, maxCostPerItemUsd: null });
  const reservation = await spending.reserve('1', 1, signal);
  reservation.settle(2);
  reservation.settle(2);
  expect(spending.spentUsd('1')).toBe(2);
});

test('who waits for others is refused when these spend what was left', async () => {
  const spending = createSpending({ maxCostUsd: 1, maxCostPerItemUsd: null });
  const first = await spending.reserve('1', 0.6, signal);
  const second = spending.reserve('2', 0.6, signal).catch(codeOf);
  first.settle(0.6);
  expect(await second).toBe('over-budget');
});

test('fractions that don’t add up leave nobody waiting', async () => {
  const spending = createSpending({ maxCostUsd: 0.3, maxCostPerItemUsd: null });
  const some = [await spending.reserve('1', 0.1, signal), await spending.reserve('1', 0.1, signal)];
  const whole = spending.reserve('1', 0.3, signal);
  for (const reservation of some) reservation.settle(0);
  (await whole).settle(0);
  expect(spending.spentUsd()).toBe(0);
});

test('a caller that leaves stops waiting', async () => {
  const spending = createSpending({ maxCostUsd: 1, maxCostPerItemUsd: null });
  const first = await spending.reserve('1', 0.6, signal);
  const leaving = new AbortController();
  const second = spending.reserve('2', 0.6, leaving.signal).catch(() => 'left');
  leaving.abort();
  expect(await second).toBe('left');
  first.settle(0.1);
  (await spending.reserve('3', 0.9, signal)).settle(0);
  expect(spending.spentUsd()).toBe(0.1);
});
