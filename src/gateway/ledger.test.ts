import { describe, expect, test } from 'vitest';
import { codeOf, type ErrorRecord } from '../core/errors.ts';
import { NO_USAGE } from '../core/money.ts';
import { type CallEnd, createLedger, expectedCostUsd, type Ledger } from './ledger.ts';

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

const UNBOUNDED = { maxCostUsd: null, maxCostPerItemUsd: null };

/** Reserves for a call of the item; ends it by what it cost. */
async function reserve(ledger: Ledger, item: string, usd: number, leaves = signal): Promise<(costUsd: number) => void> {
  const call = ledger.open(item);
  await call.reserve(usd, leaves);
  return (costUsd) => call.close(costUsd, null);
}

test('without limits every call passes', async () => {
  const ledger = createLedger(UNBOUNDED);
  (await reserve(ledger, '1', 1_000_000))(5);
  expect(ledger.spentUsd()).toBe(5);
});

test('a limit may be used to the last cent', async () => {
  const ledger = createLedger({ ...UNBOUNDED, maxCostUsd: 1 });
  for (let n = 0; n < 2; n++) (await reserve(ledger, '1', 0.5))(0.5);
  const error = await reserve(ledger, '1', 0.01).catch((thrown: unknown) => thrown);
  expect(codeOf(error)).toBe('over-budget');
});

test('a call that waits for others is refused when these spend what was left', async () => {
  const ledger = createLedger({ ...UNBOUNDED, maxCostUsd: 1 });
  const closeFirst = await reserve(ledger, '1', 0.6);
  const second = reserve(ledger, '2', 0.6).catch(codeOf);
  closeFirst(0.6);
  expect(await second).toBe('over-budget');
});

test('fractions that don’t add up leave no call waiting', async () => {
  const ledger = createLedger({ ...UNBOUNDED, maxCostUsd: 0.3 });
  const some = [await reserve(ledger, '1', 0.1), await reserve(ledger, '1', 0.1)];
  const whole = reserve(ledger, '1', 0.3);
  for (const close of some) close(0);
  (await whole)(0);
  expect(ledger.spentUsd()).toBe(0);
});

test('a caller that leaves stops waiting', async () => {
  const ledger = createLedger({ ...UNBOUNDED, maxCostUsd: 1 });
  const closeFirst = await reserve(ledger, '1', 0.6);
  const leaving = new AbortController();
  const second = reserve(ledger, '2', 0.6, leaving.signal).catch(() => 'left');
  leaving.abort();
  expect(await second).toBe('left');
  closeFirst(0.1);
  (await reserve(ledger, '3', 0.9))(0);
  expect(ledger.spentUsd()).toBe(0.1);
});

const usage = { ...NO_USAGE, inputTokens: 10, outputTokens: 2 };
const answer: CallEnd = {
  model: 'v:m-1',
  usage,
  costUsd: 0.5,
  answered: 'm-1',
  begun: true,
  good: true,
  refusal: null,
};
const overBudget: ErrorRecord = {
  problem: { code: 'over-budget', spentUsd: 1, limitUsd: 1, scope: 'item' },
  retry: 'permanent',
};
const refused: CallEnd = {
  model: 'v:m-1',
  usage: null,
  costUsd: 0,
  answered: null,
  begun: false,
  good: false,
  refusal: overBudget,
};

describe('the account of an item', () => {
  test('adds up what its calls used, and says what is under way', () => {
    const ledger = createLedger(UNBOUNDED);
    const calls = [ledger.open('1'), ledger.open('1')];
    ledger.open('2');
    calls[0]?.close(0, answer);
    expect(ledger.accountOf('1')).toMatchObject({ usage, costUsd: 0.5, calls: 1, inFlight: 1, answered: 'm-1' });
    calls[1]?.close(0, answer);
    expect(ledger.accountOf('1')).toMatchObject({ costUsd: 1, calls: 2, inFlight: 0 });
    expect(ledger.accountOf('2')).toMatchObject({ usage: NO_USAGE, calls: 0, inFlight: 1 });
  });

  test('keeps calls without a price apart from free ones', () => {
    const ledger = createLedger(UNBOUNDED);
    for (const costUsd of [0, null, 0.25]) ledger.open('1').close(0, { ...answer, costUsd });
    expect(ledger.accountOf('1')).toMatchObject({ costUsd: 0.25, unpriced: 1, calls: 3 });
  });

  test('is kept by model too', () => {
    const ledger = createLedger(UNBOUNDED);
    for (const model of ['v:m-1', 'v:small', 'v:m-1']) ledger.open('1').close(0, { ...answer, model });
    ledger.open('1').close(0, { ...answer, model: 'v:small', costUsd: null });
    ledger.open('1').close(0, refused);
    const twice = { ...NO_USAGE, inputTokens: 20, outputTokens: 4 };
    expect(ledger.accountOf('1').models).toEqual([
      { model: 'v:m-1', calls: 2, usage: twice, costUsd: 1 },
      { model: 'v:small', calls: 2, usage: twice, costUsd: null },
    ]);
  });

  test('remembers a refusal until a good answer comes, and how many there were', () => {
    const ledger = createLedger(UNBOUNDED);
    const call = (end: CallEnd | null): void => ledger.open('1').close(0, end);
    call(answer);
    call(refused);
    expect(ledger.accountOf('1')).toMatchObject({ refusal: overBudget, refusals: 1, answered: 'm-1' });
    call(null);
    call({ ...answer, good: false });
    expect(ledger.accountOf('1').refusal).toEqual(overBudget);
    call(answer);
    expect(ledger.accountOf('1')).toMatchObject({ refusal: null, refusals: 1 });
  });
});
