import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { type LanguageModel, streamText } from 'ai';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { AgentosError } from '../../src/core/errors.ts';
import { errorRecordOf, type GatewayUnderTest, openGateway, until } from '../support/gateway.ts';
import type { Answer } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

const FORMATS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;

const MODELS: Record<(typeof FORMATS)[number], (opened: GatewayUnderTest) => LanguageModel> = {
  anthropic: ({ gateway, token: apiKey }) =>
    createAnthropic({ baseURL: `${gateway.endpointOf('anthropic')}/v1`, apiKey })('claude-sonnet-4-5'),
  google: ({ gateway, token: apiKey }) =>
    createGoogle({ baseURL: `${gateway.endpointOf('google')}/v1beta`, apiKey })('gemini-2.5-pro'),
  'openai-chat': ({ gateway, token: apiKey }) =>
    createOpenAI({ baseURL: `${gateway.endpointOf('openai')}/v1`, apiKey }).chat('gpt-5'),
  'openai-responses': ({ gateway, token: apiKey }) =>
    createOpenAI({ baseURL: `${gateway.endpointOf('openai')}/v1`, apiKey }).responses('gpt-5'),
};

const KEEP_ALIVES = {
  anthropic: 'event: ping\n',
  google: '\n',
  'openai-chat': ': keep-alive\n\n',
  'openai-responses': 'event: keepalive\n',
};

/** Answers in turn; the last one again and again. */
function inTurn(...answers: Answer[]): () => Answer {
  let next = 0;
  return () => answers[Math.min(next++, answers.length - 1)] ?? {};
}

describe.each(FORMATS)('as %s', (format) => {
  test('a request that one key has no quota for is served by the next, before the caller has seen a byte', async () => {
    const script = inTurn({ status: 429 }, { status: 429 }, { text: 'Served.' });
    const { gateway, token, vendor, calls, pool } = await openGateway({ vendor: { script }, keys: ['k1', 'k2', 'k3'] });
    const response = await post(gateway, format, { stream: true, key: token });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('Served.');
    expect(vendor.calls.map((call) => call.key)).toEqual(['k1', 'k2', 'k3']);
    expect((await calls(1))[0]).toMatchObject({ attempts: 3, status: 200, keyId: 'key-3' });
    expect(pool.requests.map(({ isRetry }) => isRetry)).toEqual([false, true, true]);
  });

  test('an overloaded vendor is not asked again: its answer is passed on, with what it means', async () => {
    const overloaded = { status: format === 'anthropic' ? 529 : 503, message: 'Too much to do.' };
    const { gateway, token, vendor } = await openGateway({ vendor: { script: () => overloaded } });
    const refused = await post(gateway, format, { stream: true, key: token });
    expect(refused.status).toBe(overloaded.status);
    expect(errorRecordOf(refused)).toMatchObject({ problem: { code: 'provider-overloaded' }, retry: 'transient' });
    expect(await refused.json()).toMatchObject({ error: { message: 'Too much to do.' } });
    expect(vendor.calls).toHaveLength(1);
  });

  test('a caller that leaves the queue gives its place back at once', async () => {
    const { gateway, token, vendor, pool, calls } = await openGateway();
    pool.hold();
    const leaving = new AbortController();
    const asked = post(gateway, format, { stream: true, key: token, signal: leaving.signal }).catch(() => null);
    await until(() => pool.queued === 1);
    leaving.abort();
    await until(() => pool.queued === 0);
    await asked;
    expect((await calls(1))[0]).toMatchObject({ attempts: 0, status: null, costUsd: 0 });
    expect(vendor.calls).toEqual([]);
  });

  test('a long wait is filled with early headers and keep-alives, and the answer follows', async () => {
    const opened = await openGateway({
      vendor: { script: () => ({ text: 'Worth the wait.' }) },
      bounds: { earlyHeadersMs: 5, keepAliveMs: 5 },
    });
    opened.pool.hold();
    const response = await post(opened.gateway, format, { stream: true, key: opened.token });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    let text = '';
    for await (const piece of response.body ?? []) {
      text += new TextDecoder().decode(piece);
      if (opened.pool.queued === 1 && text.length >= 3 * KEEP_ALIVES[format].length) opened.pool.release();
    }
    expect(text.startsWith(KEEP_ALIVES[format])).toBe(true);
    expect(text).toContain('Worth the wait.');
  });

  test('the vendor’s package takes the keep-alives for nothing', async () => {
    const opened = await openGateway({
      vendor: { script: () => ({ text: 'Worth the wait.' }) },
      bounds: { earlyHeadersMs: 2, keepAliveMs: 2 },
    });
    opened.pool.hold();
    const result = streamText({ model: MODELS[format](opened), prompt: 'Go', maxRetries: 0 });
    const text = result.text;
    await until(() => opened.pool.queued === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    opened.pool.release();
    expect(await text).toBe('Worth the wait.');
    expect(await result.finishReason).toBe('stop');
  });

  test('a failure after early headers is told inside the stream, with our record', async () => {
    const opened = await openGateway({ bounds: { earlyHeadersMs: 5, keepAliveMs: 5, maxWaitMs: 60 } });
    opened.pool.hold();
    const errors: unknown[] = [];
    const result = streamText({
      model: MODELS[format](opened),
      prompt: 'Go',
      maxRetries: 0,
      onError: ({ error }) => void errors.push(error),
    });
    await result.consumeStream();
    expect(errors.length).toBeGreaterThan(0);

    const response = await post(opened.gateway, format, { stream: true, key: opened.token });
    expect(response.status).toBe(200);
    const text = await response.text();
    const record = /"agentos":(\{"problem":\{.*?\},"retry":"\w+"\})/.exec(text)?.[1] ?? 'null';
    expect(JSON.parse(record)).toMatchObject({ problem: { code: 'provider-quota' }, retry: 'quota' });
    expect(opened.pool.queued).toBe(0);
  });

  test('the vendor’s refusal after early headers is told inside the stream', async () => {
    const script = (): Answer => ({ status: 400, message: 'No such thing.' });
    const opened = await openGateway({ vendor: { script }, bounds: { earlyHeadersMs: 1, keepAliveMs: 5 } });
    opened.pool.hold();
    const response = await post(opened.gateway, format, { stream: true, key: opened.token });
    opened.pool.release();
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('No such thing.');
    expect(text).toContain('provider-refused-request');
  });

  test('a caller that did not ask for a stream waits silently, up to its own bound', async () => {
    const { gateway, token, pool, events } = await openGateway({
      bounds: { earlyHeadersMs: 1, keepAliveMs: 1, maxSilentWaitMs: 60 },
    });
    pool.hold();
    const response = await post(gateway, format, { key: token });
    expect(response.status).toBe(429);
    expect(errorRecordOf(response)).toMatchObject({ problem: { code: 'provider-quota' }, retry: 'quota' });
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('no key came free') } });
    expect(pool.queued).toBe(0);
    expect(events.map((event) => event.type)).toEqual(['quota-waiting', 'quota-resumed', 'gateway-call']);
  });

  test('what the pool refuses comes in the vendor’s shape, with the delay and our record', async () => {
    const refuse = new AgentosError(
      { code: 'provider-quota', provider: format, detail: 'all – used', retryAfterMs: 90_500, status: null },
      { retry: 'quota' },
    );
    const { gateway, token, vendor } = await openGateway({ refuse });
    const response = await post(gateway, format, { stream: true, key: token });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('91');
    expect(errorRecordOf(response)).toEqual({ problem: refuse.problem, retry: 'quota' });
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    const marks = { anthropic: 'rate_limit_error', google: 'RESOURCE_EXHAUSTED' } as Record<string, string>;
    expect(JSON.stringify(error)).toContain(marks[format] ?? 'rate_limit_exceeded');
    if (format === 'google') expect(JSON.stringify(error)).toContain('"retryDelay":"90.5s"');
    expect(vendor.calls).toEqual([]);
  });

  test('a refusal that comes as the first event of a stream goes to the next key too', async () => {
    const type =
      { anthropic: 'rate_limit_error', google: 'RESOURCE_EXHAUSTED' }[String(format)] ?? 'rate_limit_exceeded';
    const late = { text: 'x', errorInStream: { type, message: 'Slow down.', afterChars: 0 } };
    const script = inTurn(late, { text: 'Served.' });
    const { gateway, token, vendor, calls } = await openGateway({ vendor: { script }, keys: ['k1', 'k2'] });
    const response = await post(gateway, format, { stream: true, key: token });
    const text = await response.text();
    const begins = format === 'anthropic' || format === 'openai-responses' || format === 'openai-chat';
    // These begin with an event of their own, so the caller has seen a byte: the error is passed on.
    if (begins) {
      expect(text).toContain('Slow down.');
      expect(vendor.calls).toHaveLength(1);
    } else {
      expect(text).toContain('Served.');
      expect((await calls(1))[0]).toMatchObject({ attempts: 2, status: 200 });
    }
  });
});

test('a compatible server that does not stream: its answer after early headers is given as a stream', async () => {
  const script = (): Answer => ({ text: 'All at once.', inOnePiece: true });
  const opened = await openGateway({ vendor: { script }, bounds: { earlyHeadersMs: 1, keepAliveMs: 5 } });
  opened.pool.hold();
  const result = streamText({ model: MODELS['openai-chat'](opened), prompt: 'Go', maxRetries: 0 });
  const text = result.text;
  await until(() => opened.pool.queued === 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  opened.pool.release();
  expect(await text).toBe('All at once.');
  expect((await opened.calls(1))[0]?.usage).toMatchObject({ outputTokens: 3 });
});

test.each(['anthropic', 'google', 'openai-responses'] as const)(
  'as %s: a server that does not stream is named, is paid once, and a retry is useless',
  async (format) => {
    const script = (): Answer => ({ text: 'All at once.', inOnePiece: true });
    const opened = await openGateway({ vendor: { script } });
    const response = await post(opened.gateway, format, { stream: true, key: opened.token });
    expect(response.status).toBe(502);
    expect(errorRecordOf(response)).toMatchObject({ problem: { code: 'provider-bad-reply' }, retry: 'permanent' });
    expect(await response.text()).toContain('in one piece');
    expect((await opened.calls(1))[0]?.usage).toMatchObject({ outputTokens: 3 });
  },
);

test('Gemini’s own clients are told of a failure in a piece by itself, where alone they look for it', async () => {
  const { gateway, token, pool } = await openGateway({ bounds: { earlyHeadersMs: 5, keepAliveMs: 5, maxWaitMs: 60 } });
  pool.hold();
  const response = await post(gateway, 'google', { stream: true, key: token });
  const pieces: string[] = [];
  for await (const piece of response.body ?? []) pieces.push(new TextDecoder().decode(piece));
  const [error, event] = pieces.filter((piece) => piece.trim() !== '');
  expect(JSON.parse(error ?? '')).toMatchObject({ error: { code: 429, status: 'RESOURCE_EXHAUSTED' } });
  expect(event).toMatch(/^data: \{"error":/);
});

test('a dead key is replaced by the next; when all are dead, the caller is told', async () => {
  const { gateway, token, vendor } = await openGateway({ keys: ['k1', 'k2'] });
  vendor.killKey('k1');
  expect((await post(gateway, 'anthropic', { key: token })).status).toBe(200);
  vendor.killKey('k2');
  const response = await post(gateway, 'anthropic', { key: token });
  expect(response.status).toBe(401);
  expect(errorRecordOf(response)).toMatchObject({ problem: { code: 'provider-rejected-key' }, retry: 'permanent' });
});

test('no wait goes beyond the item’s deadline', async () => {
  const { gateway, pool } = await openGateway();
  const deadlineMs = systemClock.now() + 1_234;
  const token = gateway.issueToken({ item: '8', deadlineMs });
  await (await post(gateway, 'anthropic', { key: token, stream: true })).text();
  expect(pool.requests[0]).toMatchObject({ deadlineMs, item: '8', model: 'claude-sonnet-4-5' });
  expect(pool.requests[0]?.estimatedInputTokens).toBeGreaterThan(10);
});

test('an error as the very first event of an Anthropic stream is taken for the refusal that it is', async () => {
  const overloaded =
    'event: error\ndata: {"type":"error","error":{"type":"rate_limit_error","message":"Too many."}}\n\n';
  const { createServer } = await import('node:http');
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      requests += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(requests === 1 ? overloaded : 'event: message_stop\ndata: {"type":"message_stop"}\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const { gateway, token } = await openGateway({ upstream: `http://127.0.0.1:${port}` });
  const response = await post(gateway, 'anthropic', { key: token, stream: true });
  const text = await response.text();
  server.closeAllConnections();
  server.close();
  expect(text).toBe('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  expect(requests).toBe(2);
});
