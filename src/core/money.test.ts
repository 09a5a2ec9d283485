import { describe, expect, it, test } from 'vitest';
import { costUsd, dearestPrice, isBelowList, priceOf } from './money.ts';

const priced = (spec: string, overrides = {}) => priceOf(spec, overrides);

describe('priceOf', () => {
  it('knows an alias and its dated snapshots', () => {
    expect(priced('anthropic:claude-opus-4-5')).toMatchObject({
      input: 5,
      output: 25,
      cacheRead: 0.5,
      cacheWrite: 6.25,
    });
    expect(priced('anthropic:claude-opus-4-5-20251101')).toEqual(priced('anthropic:claude-opus-4-5'));
    expect(priced('google:gemini-3-pro-preview')).toMatchObject({ input: 2, output: 12 });
  });

  it('tells sizes, versions and a snapshot with its own price apart', () => {
    expect(priced('openai:gpt-5-mini')?.input).toBe(0.25);
    expect(priced('anthropic:claude-opus-4-1')?.input).toBe(15);
    expect(priced('openai:gpt-4o-2024-05-13')?.input).toBe(5);
    expect(priced('openai:gpt-4o-2024-08-06')?.input).toBe(2.5);
  });

  it('has no price for what it does not know, and none for commands', () => {
    expect(priced('anthropic:claude-unheard-of')).toBeNull();
    expect(priced('openai-compatible:gpt-5')).toBeNull();
    expect(priced('command:gpt-5')).toBeNull();
  });

  it('charges nothing for the recorded tour', () => {
    const usage = { inputTokens: 10, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const price = priced('offline');
    expect(price && costUsd(usage, price)).toBe(0);
  });

  it('lets the configuration override and add', () => {
    expect(priced('openai:gpt-5-2025-08-07', { 'openai:gpt-5': { input: 9, output: 9 } })).toEqual({
      input: 9,
      output: 9,
      cacheRead: 9,
      cacheWrite: 9,
    });
    expect(priced('command:./m', { 'command:./m': { input: 1, output: 2, cacheRead: 0 } })?.cacheRead).toBe(0);
  });
});

test('a setting that makes a listed model cheaper in any part is known', () => {
  const below = (input: number, output: number, cacheRead?: number) =>
    isBelowList('anthropic:claude-opus-5', { 'anthropic:claude-opus-5': { input, output, cacheRead } });
  expect([below(0, 0), below(10, 0), below(5, 25, 0)]).toEqual([true, true, true]);
  expect([below(5, 25), below(50, 250), isBelowList('anthropic:claude-opus-5', {})]).toEqual([false, false, false]);
  const own = { 'openai-compatible:local': { input: 0, output: 0 } };
  expect(isBelowList('openai-compatible:local', own)).toBe(false);
});

test('the dearest price of a vendor is that of each part, long inputs and the configuration included', () => {
  expect(dearestPrice('anthropic', {})).toEqual(priceOf('anthropic:claude-opus-4-1', {}));
  expect(dearestPrice('google', {})).toMatchObject({ input: 4, output: 18 });
  const own = { 'anthropic:claude-new': { input: 1, output: 500 } };
  expect(dearestPrice('anthropic', own)).toMatchObject({ input: 15, output: 500 });
  expect(dearestPrice('openai-compatible', own)).toBeNull();
  expect(dearestPrice('openai-compatible', { 'openai-compatible:x': { input: 1, output: 2 } })).toMatchObject({
    input: 1,
    output: 2,
  });
});

describe('costUsd', () => {
  it('counts cached input once, at its own price', () => {
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cacheReadTokens: 600_000,
      cacheWriteTokens: 300_000,
    };
    expect(costUsd(usage, { input: 10, output: 50, cacheRead: 1, cacheWrite: 12 })).toBeCloseTo(1 + 0.6 + 3.6 + 5, 10);
  });

  it('charges a long call by the long price as a whole', () => {
    const price = priced('google:gemini-2.5-pro');
    const usage = { inputTokens: 200_000, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(price && costUsd(usage, price)).toBeCloseTo(0.25, 10);
    expect(price && costUsd({ ...usage, inputTokens: 400_000 }, price)).toBeCloseTo(1, 10);
  });
});
