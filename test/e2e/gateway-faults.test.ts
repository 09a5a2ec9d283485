import { describe, expect, test } from 'vitest';
import type { AgentosError } from '../../src/core/errors.ts';
import { errorRecordOf, openGateway, REAL_KEY, until } from '../support/gateway.ts';
import { type Answer, startVendor } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const FORMATS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;

const BEFORE_THE_FIRST_BYTE: [name: string, answer: Answer, status: number, code: string, says: string][] = [
  ['a page with status 200', { html: true, status: 200, message: 'Sign in' }, 502, 'provider-bad-reply', 'Sign in'],
  ['a page with status 502', { html: true, message: 'Bad Gateway' }, 502, 'provider-bad-reply', 'Bad Gateway'],
  ['nothing', { emptyBody: true }, 502, 'provider-bad-reply', 'empty'],
  ['a closed connection', { hangup: true }, 502, 'provider-unreachable', 'hang up'],
  ['a redirect', { redirectTo: 'http://elsewhere.test/v1' }, 502, 'provider-bad-reply', 'elsewhere.test'],
];

describe.each(FORMATS)('as %s', (format) => {
  describe.each([true, false])('asked for a stream: %s', (stream) => {
    test.each(BEFORE_THE_FIRST_BYTE)(
      '%s becomes an error in the vendor’s shape',
      async (_, answer, status, code, says) => {
        const { gateway, token, pool, calls } = await openGateway({ vendor: { script: () => answer } });
        const response = await post(gateway, format, { stream, key: token });
        expect(response.status).toBe(status);
        expect(response.headers.get('content-type')).toContain('application/json');
        expect(errorRecordOf(response)?.problem.code).toBe(code);
        const { error } = (await response.json()) as { error: { message: string } };
        expect(error.message).toContain(says);
        expect(JSON.stringify(error)).not.toContain(REAL_KEY);
        await calls(1);
        expect(pool.inFlight).toBe(0);
      },
    );

    test('half an answer is an error, not an end', async () => {
      const script = (): Answer => ({ text: 'x'.repeat(500), cutAfterChars: 100 });
      const { gateway, token, pool, calls } = await openGateway({ vendor: { script } });
      const response = await post(gateway, format, { stream, key: token });
      const text = await response.text();
      expect(text).toContain('provider-bad-reply');
      expect(text).toContain('broke off');
      expect(response.status).toBe(stream ? 200 : 502);
      await calls(1);
      expect(pool.inFlight).toBe(0);
    });

    test('a vendor that stalls is given up after the idle bound', async () => {
      const script = (): Answer => ({ text: 'x'.repeat(500), stallAfterChars: 100 });
      const { gateway, token, vendor, pool } = await openGateway({ vendor: { script }, bounds: { idleMs: 80 } });
      const response = await post(gateway, format, { stream, key: token });
      expect(response.status).toBe(stream ? 200 : 504);
      expect(await response.text()).toContain('call-idle');
      await vendor.waitFor((calls) => calls[0]?.aborted === true);
      await until(() => pool.inFlight === 0);
    });
  });

  test('a vendor that does not even send headers is given up after the idle bound', async () => {
    const script = (): Answer => ({ latencyMs: 3_600_000 });
    const { gateway, token } = await openGateway({ vendor: { script }, bounds: { idleMs: 80 } });
    const response = await post(gateway, format, { stream: true, key: token });
    expect(response.status).toBe(504);
    expect(errorRecordOf(response)).toMatchObject({ problem: { code: 'call-idle' }, retry: 'idle' });
  });

  test('an error inside a stream that began well is passed on as it is', async () => {
    const script = (): Answer => ({ text: 'x'.repeat(90), errorInStream: { type: 'api_error', message: 'Oh no.' } });
    const { gateway, token, calls } = await openGateway({ vendor: { script } });
    const text = await (await post(gateway, format, { stream: true, key: token })).text();
    expect(text).toContain('Oh no.');
    expect(text).not.toContain('agentos');
    expect((await calls(1))[0]).toMatchObject({ status: 200 });
  });
});

test('a redirect is never followed: the host that it names sees neither the request nor the key', async () => {
  const elsewhere = await startVendor();
  const { gateway, token } = await openGateway({ vendor: { script: () => ({ redirectTo: elsewhere.url }) } });
  const response = await post(gateway, 'anthropic', { key: token });
  expect(response.status).toBe(502);
  expect(response.headers.get('location')).toBeNull();
  expect([...elsewhere.calls, ...elsewhere.others]).toEqual([]);
  await elsewhere.close();
});

test('a vendor that is not there is said to be unreachable', async () => {
  const gone = await startVendor();
  await gone.close();
  const { gateway, token, pool } = await openGateway({ upstream: gone.url });
  const response = await post(gateway, 'anthropic', { key: token, stream: true });
  expect(response.status).toBe(502);
  expect(errorRecordOf(response)).toMatchObject({ problem: { code: 'provider-unreachable' }, retry: 'transient' });
  expect(await response.text()).toContain('ECONNREFUSED');
  expect(pool.endings).toEqual([null]);
});

test('a vendor that speaks no TLS where it should is said to be unreachable', async () => {
  const plain = await startVendor();
  const { gateway, token } = await openGateway({ upstream: plain.url.replace('http:', 'https:') });
  const response = await post(gateway, 'anthropic', { key: token });
  expect(response.status).toBe(502);
  expect(errorRecordOf(response)?.problem).toMatchObject({
    code: 'provider-unreachable',
    detail: expect.stringMatching(/EPROTO|SSL/),
  });
  await plain.close();
});

test('a vendor that echoes the key in its error does not give it away', async () => {
  const script = (): Answer => ({
    status: 400,
    message: `No good: ${REAL_KEY}`,
    headers: { 'x-echo': `key ${REAL_KEY}` },
  });
  const { gateway, token } = await openGateway({ vendor: { script } });
  const response = await post(gateway, 'openai-chat', { key: token });
  expect(response.status).toBe(400);
  expect(`${await response.text()}${response.headers.get('x-echo')}`).not.toContain(REAL_KEY);
});

test('a compatible server without an address is refused with what to do', async () => {
  const { startGateway } = await import('../../src/gateway/server.ts');
  const { createKeyRota } = await import('../support/key-rota.ts');
  const { systemClock } = await import('../../src/core/clock.ts');
  await using gateway = await startGateway({
    pool: createKeyRota([REAL_KEY]),
    upstreams: {},
    prices: {},
    budget: { maxCostUsd: null, maxCostPerItemUsd: null },
    clock: systemClock,
  });
  const token = gateway.issueToken({ item: '1' });
  const response = await post(gateway.endpointOf('openai-compatible'), 'openai-chat', { key: token });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('endpoints.openai-compatible');
});

test('closing ends callers that wait and calls in flight', async () => {
  const stalls = (): Answer => ({ text: 'x'.repeat(90), stallAfterChars: 10 });
  const { gateway, token, vendor, pool } = await openGateway({ vendor: { script: stalls } });
  const flying = post(gateway, 'anthropic', { key: token, stream: true }).then((response) => response.text());
  const recorded = post(gateway, 'anthropic', {
    key: token,
    stream: true,
    text: 'other',
    headers: { 'x-agentos-step': 's' },
  }).then((response) => response.text());
  await vendor.waitForCalls(2);
  pool.hold();
  const queued = post(gateway, 'google', { key: token, stream: true });
  const ends = Promise.allSettled([flying, recorded, queued]);
  await until(() => pool.queued === 1);
  await gateway.close();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await vendor.waitFor((calls) => calls.every((call) => call.aborted));
  expect(pool.queued + pool.inFlight).toBe(0);
});

test('an error that is not ours is told without its stack', async () => {
  const refuse = new Error('secret path') as AgentosError;
  const { gateway, token } = await openGateway({ refuse });
  const response = await post(gateway, 'anthropic', { key: token });
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('node:');
});
