import { afterEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/core/clock.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const open: Vendor[] = [];
afterEach(async () => {
  for (const vendor of open.splice(0)) await vendor.close();
});

/** A vendor whose time stands still until the test moves it. */
async function start(options: VendorOptions): Promise<Vendor & { pass: (ms: number) => void }> {
  let nowMs = Date.parse('2026-11-16T12:00:00Z');
  const clock: Clock = { ...systemClock, now: () => nowMs, dateMs: () => nowMs, sleep: () => Promise.resolve() };
  const vendor = await startVendor({ clock, ...options });
  open.push(vendor);
  return {
    ...vendor,
    pass(ms) {
      nowMs += ms;
    },
  };
}

async function statuses(count: number, ask: () => Promise<Response>): Promise<number[]> {
  const list: number[] = [];
  for (let i = 0; i < count; i += 1) list.push((await ask()).status);
  return list;
}

const perMinute = { requestsPerMinute: 60, requestBurst: 2 };

describe('requests per minute', () => {
  test('are refused beyond the burst and let in again as time passes', async () => {
    const vendor = await start({ limits: { groups: { default: perMinute } } });
    const ask = () => post(vendor.url, 'anthropic');
    expect(await statuses(3, ask)).toEqual([200, 200, 429]);
    vendor.pass(999);
    expect((await ask()).status).toBe(429);
    vendor.pass(1);
    expect(await statuses(2, ask)).toEqual([200, 429]);
    expect(vendor.counters.total).toMatchObject({ requests: 6, ok: 3, rateLimited: 3 });
  });

  test('belong to the group of the key', async () => {
    const keys = ['a', 'b', 'c'].map((key) => ({ key, group: key === 'c' ? 'other' : 'shared' }));
    const vendor = await start({ keys, limits: { groups: { shared: perMinute, other: perMinute } } });
    const ask = (key: string) => () => post(vendor.url, 'openai-chat', { key });
    expect(await statuses(2, ask('a'))).toEqual([200, 200]);
    expect((await ask('b')()).status).toBe(429);
    const good = await ask('c')();
    expect([good.status, good.headers.get('openai-organization')]).toEqual([200, 'other']);
    expect(vendor.counters.groups).toMatchObject({ shared: { ok: 2, rateLimited: 1 }, other: { ok: 1 } });
    expect(Object.values(vendor.counters.keys).map(({ requests }) => requests)).toEqual([2, 1, 1]);
  });

  test('can be kept apart for each model', async () => {
    const group = { requestsPerMinute: 60, requestBurst: 1, perModel: true };
    const vendor = await start({ limits: { groups: { default: group } } });
    expect((await post(vendor.url, 'anthropic')).status).toBe(200);
    expect((await post(vendor.url, 'openai-chat')).status).toBe(200);
    expect((await post(vendor.url, 'anthropic')).status).toBe(429);
  });

  test('that are refused count too where the vendor charges them', async () => {
    const limits = { groups: { default: { requestsPerMinute: 60, requestBurst: 1 } }, chargeRejected: true };
    const vendor = await start({ limits });
    const ask = () => post(vendor.url, 'anthropic');
    expect(await statuses(2, ask)).toEqual([200, 429]);
    for (let i = 0; i < 5; i += 1) {
      vendor.pass(900);
      expect((await ask()).status).toBe(429);
    }
    vendor.pass(1000);
    expect((await ask()).status).toBe(200);
  });

  test('may be short although the headers say otherwise', async () => {
    const group = { requestsPerMinute: 60, hiddenRequestBurst: 1 };
    const vendor = await start({ limits: { groups: { default: group } } });
    await post(vendor.url, 'anthropic');
    const refused = await post(vendor.url, 'anthropic');
    expect([refused.status, refused.headers.get('anthropic-ratelimit-requests-remaining')]).toEqual([429, '59']);
  });
});

describe('tokens per minute', () => {
  test('are taken by estimate, corrected by use, and the output is paid afterwards', async () => {
    const usage = { input: 500, output: 400, cacheRead: 300 };
    const vendor = await start({
      script: () => ({ text: 'x', usage }),
      limits: { groups: { default: { tokensPerMinute: 6000, tokenBurst: 1000 } } },
    });
    const ask = async () => (await post(vendor.url, 'openai-chat')).headers.get('x-ratelimit-remaining-tokens');
    // The prompt's estimate is 9 tokens; then 500 − 300 + 400 are paid.
    expect(await ask()).toBe('991');
    await vendor.waitForFinished(1);
    expect(await ask()).toBe('391');
    await vendor.waitForFinished(2);
    const refused = await post(vendor.url, 'openai-chat');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '3']);
    expect(await refused.json()).toMatchObject({ error: { type: 'tokens', code: 'rate_limit_exceeded' } });
    vendor.pass(3000);
    expect(await ask()).toBe('91');
  });

  test('of output have a bucket of their own', async () => {
    const vendor = await start({
      script: () => ({ text: 'x', usage: { input: 1, output: 5000 } }),
      limits: { groups: { default: { inputTokensPerMinute: 60_000, outputTokensPerMinute: 6000, tokenBurst: 3000 } } },
    });
    await post(vendor.url, 'anthropic');
    await vendor.waitForFinished(1);
    const refused = await post(vendor.url, 'anthropic');
    expect(refused.headers.get('anthropic-ratelimit-input-tokens-remaining')).toBe('3000');
    expect(refused.headers.get('anthropic-ratelimit-output-tokens-remaining')).toBe('0');
    expect(refused.headers.get('retry-after')).toBe('21');
  });
});

test('concurrency beyond the limit is refused without a hint, and a slot comes back when its caller leaves', async () => {
  const vendor = await start({
    script: (call) => (call.text === 'long' ? { stallAfterChars: 1 } : { text: 'ok' }),
    limits: { groups: { default: { concurrency: 2 } } },
  });
  const left = new AbortController();
  const ask = (text: string, signal?: AbortSignal) =>
    post(vendor.url, 'anthropic', { text, stream: true, ...(signal === undefined ? {} : { signal }) });
  await ask('long', left.signal);
  await ask('long');
  const refused = await ask('short');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, null]);
  left.abort();
  await vendor.waitFor((calls) => calls[0]?.aborted === true);
  expect((await ask('short')).status).toBe(200);
});

describe('what the responses say', () => {
  const limits = { groups: { default: { requestsPerMinute: 10, requestBurst: 1, tokensPerMinute: 120_000 } } };

  test('anthropic: headers on every response, retry-after on a refusal', async () => {
    const vendor = await start({ limits });
    const good = await post(vendor.url, 'anthropic');
    expect(Object.fromEntries(good.headers)).toMatchObject({
      'anthropic-organization-id': 'default',
      'anthropic-ratelimit-requests-limit': '10',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2026-11-16T12:00:06.000Z',
      'anthropic-ratelimit-tokens-limit': '120000',
      'anthropic-ratelimit-tokens-remaining': '120000',
    });
    expect((await post(vendor.url, 'anthropic')).headers.get('retry-after')).toBe('6');
  });

  test('openai: headers with durations, and the wait in the words', async () => {
    const vendor = await start({ limits: { groups: { default: { requestsPerMinute: 0.5, requestBurst: 3 } } } });
    const good = await statuses(2, () => post(vendor.url, 'openai-responses'));
    const last = await post(vendor.url, 'openai-responses');
    expect([...good, last.status]).toEqual([200, 200, 200]);
    expect(Object.fromEntries(last.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '0.5',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '6m0s',
    });
    const refused = await post(vendor.url, 'openai-responses');
    expect(refused.headers.get('retry-after')).toBe('120');
    expect(await refused.text()).toContain('Please try again in 2m0s.');
  });

  test('google: nothing in headers, quota and delay in the body', async () => {
    const vendor = await start({ limits });
    const good = await post(vendor.url, 'google');
    expect([...good.headers.keys()].filter((name) => name.includes('limit'))).toEqual([]);
    const refused = await post(vendor.url, 'google');
    expect(refused.headers.get('retry-after')).toBeNull();
    const { error } = Object(await refused.json());
    expect(error.status).toBe('RESOURCE_EXHAUSTED');
    expect(error.details).toMatchObject([
      { violations: [{ quotaId: 'GenerateRequestsPerMinutePerProjectPerModel', quotaValue: '10' }] },
      { retryDelay: '6s' },
    ]);
  });

  test('headers and hints can be off', async () => {
    const vendor = await start({ limits: { ...limits, headers: false, retryAfter: false } });
    await post(vendor.url, 'anthropic');
    const refused = await post(vendor.url, 'anthropic');
    expect(refused.status).toBe(429);
    expect([...refused.headers.keys()].filter((name) => /limit|retry/.test(name))).toEqual([]);
  });

  test('instants can be off by the skew of the vendor’s clock', async () => {
    const vendor = await start({ limits: { ...limits, skewMs: -3_600_000 } });
    const response = await post(vendor.url, 'anthropic');
    expect(response.headers.get('anthropic-ratelimit-requests-reset')).toBe('2026-11-16T11:00:06.000Z');
  });
});

describe('keys that die', () => {
  test('at a moment, after so many calls, or at a word', async () => {
    const death = { status: 402, type: 'billing_error', message: 'no credit' };
    const keys = [{ key: 'a', diesAtMs: 5000 }, { key: 'b', diesAfterCalls: 1, death }, 'c'];
    const vendor = await start({ keys });
    const ask = async (key: string) => (await post(vendor.url, 'anthropic', { key })).status;
    expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([200, 200, 200]);
    vendor.pass(5000);
    vendor.killKey('c');
    expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([401, 402, 401]);
    expect(vendor.counters.total).toMatchObject({ ok: 3, badKey: 3 });
    const models = await fetch(`${vendor.url}/v1/models`, { headers: { 'x-api-key': 'c' } });
    expect(models.status).toBe(401);
  });
});

describe('overload', () => {
  test('comes at random, the same for the same seed', async () => {
    const run = async (seed: number) => {
      const vendor = await start({ overload: { probability: 0.3, seed } });
      return statuses(40, () => post(vendor.url, 'anthropic'));
    };
    const [first, again, another] = [await run(1), await run(1), await run(2)];
    expect(again).toEqual(first);
    expect(another).not.toEqual(first);
    const overloaded = first.filter((status) => status === 529).length;
    expect(overloaded).toBeGreaterThan(4);
    expect(overloaded).toBeLessThan(20);
  });

  test('comes in spells, in each vendor’s own status, and costs no quota', async () => {
    const vendor = await start({
      overload: { spells: [{ fromMs: 1000, toMs: 2000 }] },
      limits: { groups: { default: { requestsPerMinute: 1, requestBurst: 1 } } },
    });
    vendor.pass(1000);
    expect((await post(vendor.url, 'anthropic')).status).toBe(529);
    expect((await post(vendor.url, 'google')).status).toBe(503);
    expect((await post(vendor.url, 'openai-chat')).status).toBe(503);
    vendor.pass(1000);
    expect((await post(vendor.url, 'anthropic')).status).toBe(200);
    expect(vendor.counters.total).toMatchObject({ overloaded: 3, ok: 1 });
  });
});

test('finish times are kept for each workflow, in the vendor’s time', async () => {
  const vendor = await start({ script: (call) => (call.text === 'bad' ? { status: 500 } : { text: 'ok' }) });
  const ask = (label: string, text = 'good') =>
    post(vendor.url, 'anthropic', { text, headers: { 'x-workflow': label } }).then((response) => response.text());
  await ask('one');
  await ask('one', 'bad');
  vendor.pass(2500);
  await ask('two');
  await vendor.waitForFinished(3);
  expect(vendor.counters.workflows).toMatchObject({
    one: { requests: 2, ok: 1, otherStatus: 1, finishedAtMs: [0] },
    two: { requests: 1, ok: 1, finishedAtMs: [2500] },
  });
});

describe('dilated time', () => {
  const limits = { groups: { default: { requestsPerMinute: 0.3, requestBurst: 1 } } };

  /** Two requests at the same moment, of which one is let in. */
  async function refusal(vendor: Vendor): Promise<Response> {
    const both = await Promise.all([post(vendor.url, 'anthropic'), post(vendor.url, 'anthropic')]);
    const refused = both.find((response) => response.status === 429);
    if (refused === undefined) throw new Error('neither request was refused');
    return refused;
  }

  test('a caller in the vendor’s clock waits what it is told and is let in', async () => {
    const vendor = await startVendor({ dilation: 200, limits });
    open.push(vendor);
    const [vendorMs, wallMs] = [vendor.clock.now(), Date.now()];
    const seconds = Number((await refusal(vendor)).headers.get('retry-after'));
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(seconds).toBeLessThanOrEqual(200);
    await vendor.clock.sleep(seconds * 1000);
    expect((await post(vendor.url, 'anthropic')).status).toBe(200);
    expect((vendor.clock.now() - vendorMs) / (Date.now() - wallMs)).toBeGreaterThan(150);
  });

  test('a caller with real timers can be told real delays', async () => {
    const vendor = await startVendor({ dilation: 20, limits, headerTime: 'wall' });
    open.push(vendor);
    const seconds = Number((await refusal(vendor)).headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(10);
  });

  test('latency and pauses between chunks shrink with it', async () => {
    const script = () => ({ text: 'abcdef', latencyMs: 10_000, chunkDelayMs: 10_000 });
    const vendor = await startVendor({ dilation: 1000, script, chunkChars: 1 });
    open.push(vendor);
    await (await post(vendor.url, 'anthropic', { stream: true })).text();
    await vendor.waitForFinished(1);
    const finishedAtMs = vendor.calls[0]?.finishedAtMs ?? 0;
    expect(finishedAtMs - (vendor.calls[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(69_000);
  });
});
