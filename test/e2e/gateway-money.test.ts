import { describe, expect, test } from 'vitest';
import { errorRecordOf, openGateway, until } from '../support/gateway.ts';
import type { Answer } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const FORMATS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;
const SPECS = {
  anthropic: 'anthropic:claude-sonnet-4-5',
  google: 'google:gemini-2.5-pro',
  'openai-chat': 'openai:gpt-5',
  'openai-responses': 'openai:gpt-5',
};
/** A dollar for each thousand tokens, so that sums can be done in one's head. */
const PRICE = { input: 1_000, output: 1_000 };

describe.each(FORMATS)('as %s', (format) => {
  test.each([true, false])('what a call used and cost is read from the answer (stream: %s)', async (stream) => {
    const script = (): Answer => ({ text: 'Well.', usage: { input: 3_000, output: 500, cacheRead: 1_000 } });
    const prices = { [SPECS[format]]: { input: 1_000, output: 2_000, cacheRead: 100 } };
    const { gateway, token, calls } = await openGateway({ vendor: { script }, prices });
    await (await post(gateway, format, { stream, key: token })).text();
    const [call] = await calls(1);
    expect(call).toMatchObject({
      usage: { inputTokens: 3_000, outputTokens: 500, cacheReadTokens: 1_000 },
    });
    expect(call?.costUsd).toBeCloseTo(2_000 * 0.001 + 1_000 * 0.0001 + 500 * 0.002);
    expect(gateway.spentUsd('7')).toBeCloseTo(call?.costUsd ?? 0);
    expect(gateway.spentUsd()).toBeCloseTo(call?.costUsd ?? 0);
  });

  test('a request that the budget can’t pay is refused before it is let out', async () => {
    const setting = { prices: { [SPECS[format]]: PRICE }, budget: { maxCostPerItemUsd: 0.01 } };
    const { gateway, token, vendor, pool, calls } = await openGateway(setting);
    const response = await post(gateway, format, { stream: true, key: token });
    expect(response.status).toBe(402);
    expect(errorRecordOf(response)).toEqual({
      problem: { code: 'over-budget', spentUsd: 0, limitUsd: 0.01, scope: 'item' },
      retry: 'permanent',
    });
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    expect(vendor.calls).toEqual([]);
    expect(pool.requests).toEqual([]);
    expect((await calls(1))[0]).toMatchObject({ costUsd: 0, attempts: 0, status: 402 });
  });
});

describe.each(FORMATS)('as %s', (format) => {
  test.each([
    ['below zero', { input: 5, output: -500 }, true],
    ['below zero', { input: 5, output: -500 }, false],
    ['absurd', { input: 5, output: 1e15 }, true],
    ['no whole number', { input: 5, output: 0.5 }, false],
  ])('usage that is %s is settled at what was reserved', async (_, usage, stream) => {
    const prices = { [SPECS[format]]: PRICE };
    const budget = { maxCostUsd: 200 };
    const { gateway, token, calls } = await openGateway({ vendor: { script: () => ({ usage }) }, prices, budget });
    const { length } = await (await post(gateway, format, { stream, key: token })).text();
    expect(length).toBeGreaterThan(0);
    expect((await calls(1))[0]).toMatchObject({ usage: null, costUsd: null });
    const spentUsd = gateway.spentUsd('7');
    expect(spentUsd).toBeGreaterThan(0.1);
    expect(spentUsd).toBeLessThan(200);
    expect(gateway.spentUsd()).toBe(spentUsd);
  });
});

/** Reserves the 100 tokens that it names, some 20 for the prompt, and uses 10. */
const small = (): Answer => ({ text: 'x', usage: { input: 5, output: 5 } });
const prices = { [SPECS.anthropic]: PRICE };

test('what is settled makes room: the reservation does not count as spent', async () => {
  const opened = await openGateway({ vendor: { script: small }, prices, budget: { maxCostUsd: 0.2 } });
  for (let n = 0; n < 6; n++) {
    const response = await post(opened.gateway, 'anthropic', { key: opened.token });
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(opened.gateway.spentUsd()).toBeCloseTo(0.06);
});

test('a budget is used up by what is spent, for the run and for each item apart', async () => {
  const big = (): Answer => ({ text: 'x', usage: { input: 100, output: 100 } });
  const { gateway, token, vendor } = await openGateway({
    vendor: { script: big },
    prices,
    budget: { maxCostUsd: 0.5, maxCostPerItemUsd: 0.3 },
  });
  const other = gateway.issueToken({ item: '8' });
  const ask = async (key: string): Promise<unknown> => {
    const response = await post(gateway, 'anthropic', { key });
    await response.text();
    return errorRecordOf(response)?.problem ?? response.status;
  };
  expect(await ask(token)).toBe(200);
  expect(await ask(token)).toMatchObject({ code: 'over-budget', scope: 'item', limitUsd: 0.3, spentUsd: 0.2 });
  expect(await ask(other)).toBe(200);
  const third = gateway.issueToken({ item: '9' });
  expect(await ask(third)).toMatchObject({ code: 'over-budget', scope: 'run', limitUsd: 0.5, spentUsd: 0.4 });
  expect(vendor.calls).toHaveLength(2);
});

test('calls that only others’ reservations leave no room for wait until these are settled', async () => {
  const opened = await openGateway({ vendor: { script: small }, prices, budget: { maxCostUsd: 0.25 } });
  const { gateway, token, pool, vendor } = opened;
  pool.hold();
  const asked = [1, 2, 3, 4, 5].map(() => post(gateway, 'anthropic', { key: token }));
  await until(() => pool.queued === 1);
  expect(pool.requests).toHaveLength(1);
  pool.release();
  const statuses = (await Promise.all(asked)).map((response) => response.status);
  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(vendor.calls).toHaveLength(5);
  expect(gateway.spentUsd()).toBeCloseTo(0.05);
});

test('a caller that leaves while it waits for the budget is forgotten', async () => {
  const { gateway, token, pool } = await openGateway({
    vendor: { script: small },
    prices,
    budget: { maxCostUsd: 0.2 },
  });
  pool.hold();
  const first = post(gateway, 'anthropic', { key: token });
  await until(() => pool.queued === 1);
  const leaving = new AbortController();
  const second = post(gateway, 'anthropic', { key: token, signal: leaving.signal }).catch(() => 'left');
  leaving.abort();
  expect(await second).toBe('left');
  pool.release();
  expect((await first).status).toBe(200);
  expect(pool.requests).toHaveLength(1);
});

test('a price that nobody knows is said to be unknown, and holds nothing back', async () => {
  const { gateway, token, calls } = await openGateway({ budget: { maxCostUsd: 0.000001 } });
  const body = JSON.stringify({ model: 'somebody/unheard-of', messages: [{ role: 'user', content: 'Hello' }] });
  const headers = { authorization: `Bearer ${token}` };
  const url = `${gateway.endpointOf('openai-compatible')}/chat/completions`;
  expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(200);
  expect((await calls(1))[0]).toMatchObject({ costUsd: null, usage: { outputTokens: expect.any(Number) } });
});

test('under a limit that a person set, a model of a vendor without any price is refused', async () => {
  const budget = { maxCostUsd: 5, hasChosenCostLimit: true };
  const { gateway, token, vendor } = await openGateway({ budget });
  const ask = async (path: string, model: string): Promise<Response> => {
    const body = JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] });
    return fetch(gateway.url + path, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body });
  };
  const refused = await ask('/openai-compatible/chat/completions', 'helper');
  expect(refused.status).toBe(402);
  expect(await refused.text()).toContain('under prices in agentos.yaml');
  expect(vendor.calls).toEqual([]);
  expect((await ask('/anthropic/v1/messages', 'claude-unheard-of')).status).toBe(200);
  // Hundred tokens at the dearest price of the vendor are reserved, and what was used counts at it.
  expect(gateway.spentUsd()).toBeGreaterThan(0);
});

test('a token is good for the models of its item, and for the helpers of its agent', async () => {
  const { gateway, vendor } = await openGateway();
  const status = async (models: string[], path: string, model: string | null): Promise<number> => {
    const authorization = `Bearer ${gateway.issueToken({ item: '7', models })}`;
    const body = JSON.stringify({ model, max_tokens: 9, contents: [], messages: [{ role: 'user', content: 'Hello' }] });
    const request = model === null ? {} : { method: 'POST', body };
    return (await fetch(gateway.url + path, { ...request, headers: { authorization } })).status;
  };
  const models = ['anthropic:claude-sonnet-4-5', 'codex:gpt-5', 'command:anything'];
  expect(await status(models, '/anthropic/v1/messages', 'claude-sonnet-4-5-20250929')).toBe(200);
  expect(await status(models, '/openai/v1/chat/completions', 'gpt-5-nano')).toBe(200);
  // No price is known of it: it counts at the dearest of its vendor.
  expect(await status(models, '/openai/v1/chat/completions', 'gpt-unheard-of')).toBe(200);
  expect(await status(models, '/openai/v1/models', null)).toBe(200);
  const served = vendor.calls.length;
  expect(await status(models, '/anthropic/v1/messages', 'claude-opus-4-5')).toBe(403);
  expect(await status(models, '/anthropic/v1/messages/count_tokens', 'claude-opus-4-5')).toBe(403);
  expect(await status(models, '/openai/v1/chat/completions', 'gpt-5-pro')).toBe(403);
  expect(await status(models, '/google/v1beta/models/gemini-2.5-pro:generateContent', '')).toBe(403);
  expect(await status(models, '/google/v1beta/models', null)).toBe(403);
  expect(await status(['command:anything'], '/openai/v1/chat/completions', 'gpt-5')).toBe(403);
  expect(vendor.calls).toHaveLength(served);
});

test('a vendor can’t speak in the gateway’s name', async () => {
  const forged = JSON.stringify({ problem: { code: 'interrupted', signal: 'SIGTERM' }, retry: 'permanent' });
  const answers: Answer[] = [{ text: 'x' }, { status: 400, message: 'No.' }];
  const script = (): Answer => ({ ...answers.shift(), headers: { 'x-agentos-error': forged, 'x-agentos-step': '1' } });
  const { gateway, token } = await openGateway({ vendor: { script } });
  const good = await post(gateway, 'anthropic', { key: token });
  expect([good.status, good.headers.get('x-agentos-error'), good.headers.get('x-agentos-step')]).toEqual([
    200,
    null,
    null,
  ]);
  const bad = await post(gateway, 'anthropic', { key: token });
  expect(errorRecordOf(bad)?.problem.code).toBe('provider-refused-request');
});

test('what an item spent before counts for it, but not for the run', async () => {
  const { gateway, token } = await openGateway({
    vendor: { script: small },
    prices,
    budget: { maxCostUsd: 5, maxCostPerItemUsd: 1 },
  });
  gateway.spentBefore('7', 0.95);
  const response = await post(gateway, 'anthropic', { key: token });
  expect(errorRecordOf(response)?.problem).toMatchObject({ code: 'over-budget', spentUsd: 0.95, scope: 'item' });
  expect(gateway.spentUsd()).toBe(0);
});

test('a refused request costs nothing', async () => {
  const script = (): Answer => ({ status: 400, message: 'No.' });
  const { gateway, token, calls } = await openGateway({ vendor: { script }, prices, budget: { maxCostUsd: 1 } });
  expect((await post(gateway, 'anthropic', { key: token })).status).toBe(400);
  expect((await calls(1))[0]).toMatchObject({ status: 400, costUsd: 0, usage: null });
  expect(gateway.spentUsd()).toBe(0);
});
