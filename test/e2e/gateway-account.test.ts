import { expect, test } from 'vitest';
import { AgentosError } from '../../src/core/errors.ts';
import { ACCOUNT_PATH, type Account } from '../../src/gateway/ledger.ts';
import { type GatewayUnderTest, openGateway, until } from '../support/gateway.ts';

async function accountOf({ gateway, token }: GatewayUnderTest): Promise<Account> {
  const response = await fetch(`${gateway.url}${ACCOUNT_PATH}`, { headers: { authorization: `Bearer ${token}` } });
  expect(response.status).toBe(200);
  return (await response.json()) as Account;
}

async function ask({ gateway, token }: GatewayUnderTest, model = 'claude-sonnet-4-5'): Promise<Response> {
  const response = await fetch(`${gateway.endpointOf('anthropic')}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': token },
    body: JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return response;
}

test('an item’s token reads what its calls used and cost', async () => {
  const opened = await openGateway({
    vendor: { script: () => ({ text: 'Hi', usage: { input: 1_000, output: 100, cacheRead: 400 } }) },
  });
  expect(await accountOf(opened)).toMatchObject({ costUsd: 0, calls: 0, answered: null });
  await ask(opened);
  await ask(opened, 'a-model-nobody-knows');
  const [first] = await opened.calls(2);
  const account = await accountOf(opened);
  expect(account).toMatchObject({
    usage: { inputTokens: 2_000, outputTokens: 200, cacheReadTokens: 800 },
    costUsd: first?.costUsd,
    unpriced: 1,
    calls: 2,
    inFlight: 0,
    answered: 'a-model-nobody-knows',
    refusals: 0,
    refusal: null,
  });
  expect(account.costUsd).toBeGreaterThan(0);
});

test('a model whose name is none has no price, whoever says it', async () => {
  const opened = await openGateway({
    vendor: { script: ({ model }) => ({ text: 'Hi', model: model === '-x' ? ' ' : '-y' }) },
  });
  expect((await ask(opened)).status).toBe(200);
  expect((await ask(opened, '-x')).status).toBe(200);
  await opened.calls(2);
  expect(await accountOf(opened)).toMatchObject({ calls: 2, inFlight: 0 });
});

test('nobody else reads it', async () => {
  const { gateway } = await openGateway();
  const response = await fetch(`${gateway.url}${ACCOUNT_PATH}`, { headers: { 'x-api-key': 'agentos-guessed' } });
  expect(response.status).toBe(401);
  expect(await response.text()).not.toContain('usage');
});

test('a call that waits for a key is under way', async () => {
  const opened = await openGateway();
  opened.pool.hold();
  const asked = ask(opened);
  await until(() => opened.pool.queued === 1);
  expect(await accountOf(opened)).toMatchObject({ inFlight: 1, calls: 0 });
  opened.pool.release();
  await asked;
  await opened.calls(1);
  expect(await accountOf(opened)).toMatchObject({ inFlight: 0, calls: 1 });
});

test('the refusal is told as the gateway raised it', async () => {
  const quota = { code: 'provider-quota', provider: 'anthropic', detail: 'no', retryAfterMs: 5, status: 429 } as const;
  const opened = await openGateway({ refuse: new AgentosError(quota, { retry: 'quota' }) });
  await ask(opened);
  await opened.calls(1);
  expect(await accountOf(opened)).toMatchObject({ refusals: 1, refusal: { problem: quota, retry: 'quota' }, calls: 0 });
});

test('a vendor’s own refusal is told as what it means', async () => {
  const script = (): { status: number; message: string } => ({ status: 404, message: 'model: no-such' });
  const opened = await openGateway({ vendor: { script } });
  expect((await ask(opened)).status).toBe(404);
  await opened.calls(1);
  const { refusal } = await accountOf(opened);
  expect(refusal).toMatchObject({ retry: 'permanent', problem: { code: 'provider-refused-request', status: 404 } });
  expect(JSON.stringify(refusal)).toContain('no-such');
});
