import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import type { ItemEvent } from '../../src/core/events.ts';
import { Secret } from '../../src/core/secret.ts';
import { type Gateway, startGateway } from '../../src/gateway/server.ts';
import { CredentialPool } from '../../src/pool/pool.ts';
import { errorRecordOf } from '../support/gateway.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const KEYS = ['k1', 'k2', 'k3'];

async function open(
  options: VendorOptions,
  keys: readonly string[] = KEYS,
): Promise<{ vendor: Vendor; gateway: Gateway; events: ItemEvent[] }> {
  const vendor = await startVendor({ keys: KEYS.map((key) => ({ key, group: key })), ...options });
  const events: ItemEvent[] = [];
  const pool = new CredentialPool({
    keys: keys.map((key, index) => ({ id: `key-${index + 1}`, vendor: 'anthropic' as const, secret: new Secret(key) })),
    clock: vendor.clock,
    random: Math.random,
    onEvent: () => {},
  });
  const gateway = await startGateway({
    pool,
    upstreams: { anthropic: vendor.url },
    prices: {},
    budget: { maxCostUsd: null, maxCostPerItemUsd: null },
    clock: vendor.clock,
    onEvent: (_item, event) => events.push(event),
  });
  onTestFinished(async () => {
    await gateway.close();
    await vendor.close();
  });
  return { vendor, gateway, events };
}

test('with the real pool, many callers on few keys all get their answers, and none sees a refusal', async () => {
  const { vendor, gateway, events } = await open({
    dilation: 60,
    limits: { groups: Object.fromEntries(KEYS.map((key) => [key, { requestsPerMinute: 120, requestBurst: 10 }])) },
    script: () => ({ text: 'Served.' }),
  });
  const workflows = ['LLD-1', 'LLD-2', 'LLD-3', 'LLD-4'];
  const tokens = workflows.map((item) => gateway.issueToken({ item }));
  const asked = Array.from({ length: 120 }, async (_, n) => {
    const response = await post(gateway, 'anthropic', { stream: true, key: tokens[n % tokens.length] ?? '' });
    return `${response.status} ${(await response.text()).includes('message_stop')}`;
  });
  expect(new Set(await Promise.all(asked))).toEqual(new Set(['200 true']));
  expect(vendor.counters.total.ok).toBe(120);
  expect(events.filter((event) => event.type === 'gateway-call')).toHaveLength(120);
});

test('with the real pool, a dead key is asked once and the others go on', async () => {
  const { vendor, gateway } = await open({ script: () => ({ text: 'Served.' }) });
  vendor.killKey('k2');
  const token = gateway.issueToken({ item: '1' });
  for (let n = 0; n < 9; n++) {
    const response = await post(gateway, 'anthropic', { key: token });
    expect(response.status).toBe(200);
    await response.text();
  }
  expect(vendor.calls.filter((call) => call.key === 'k2').length).toBeLessThanOrEqual(1);
});

test('with the real pool, a wait that goes beyond the deadline is refused at once, with the time of the reset', async () => {
  const { vendor, gateway } = await open({
    script: () => ({ status: 429, retryAfter: 25 * 86_400, message: 'Come back next month.' }),
  });
  const token = gateway.issueToken({ item: '1', deadlineMs: systemClock.now() + 60_000 });
  const response = await post(gateway, 'anthropic', { stream: true, key: token });
  expect(response.status).toBe(429);
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(86_400);
  expect(await response.text()).toContain('quota');
  expect(vendor.calls.length).toBeLessThanOrEqual(KEYS.length);
});

test('with the real pool, a key that no header can hold is never sent, and never shown', async () => {
  const broken = 'sk-first-line\nsk-second-line';
  const { gateway, vendor } = await open({ script: () => ({ text: 'Served.' }) }, [broken, 'k1']);
  expect((await post(gateway, 'anthropic', { key: gateway.issueToken({ item: '1' }) })).status).toBe(200);
  expect(vendor.calls.map((call) => call.key)).toEqual(['k1']);

  const alone = await open({}, [broken]);
  const response = await post(alone.gateway, 'anthropic', { key: alone.gateway.issueToken({ item: '1' }) });
  expect(response.status).toBe(401);
  expect(`${JSON.stringify(errorRecordOf(response))}${await response.text()}`).not.toContain('sk-first-line');
  expect(alone.vendor.calls).toEqual([]);
});
