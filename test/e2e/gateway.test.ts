import { createServer } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogle } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, type LanguageModel, streamText } from 'ai';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorRecordOf, type GatewayUnderTest, openGateway, REAL_KEY, until } from '../support/gateway.ts';
import { startVendor } from '../support/vendor/index.ts';
import { post } from '../support/vendor/requests.ts';

type Client = (opened: GatewayUnderTest) => LanguageModel;

const CLIENTS: [name: string, client: Client][] = [
  [
    'anthropic',
    ({ gateway, token: apiKey }) =>
      createAnthropic({ baseURL: `${gateway.endpointOf('anthropic')}/v1`, apiKey })('claude-sonnet-4-5'),
  ],
  [
    'google',
    ({ gateway, token: apiKey }) =>
      createGoogle({ baseURL: `${gateway.endpointOf('google')}/v1beta`, apiKey })('gemini-2.5-pro'),
  ],
  [
    'openai-chat',
    ({ gateway, token: apiKey }) =>
      createOpenAI({ baseURL: `${gateway.endpointOf('openai')}/v1`, apiKey }).chat('gpt-5'),
  ],
  [
    'openai-responses',
    ({ gateway, token: apiKey }) =>
      createOpenAI({ baseURL: `${gateway.endpointOf('openai')}/v1`, apiKey }).responses('gpt-5'),
  ],
  [
    'openai-chat',
    ({ gateway, token: apiKey }) =>
      createOpenAICompatible({
        name: 'other',
        baseURL: gateway.endpointOf('openai-compatible'),
        apiKey,
        includeUsage: true,
      })('gpt-5'),
  ],
];

const ANSWER = { text: 'Zwölf Boxkämpfer 🥊 jagen Viktor.', usage: { input: 1200, output: 34, cacheRead: 1000 } };
const USAGE = { inputTokens: 1200, outputTokens: 34, cacheReadTokens: 1000, cacheWriteTokens: 0 };
const FORMATS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;

describe.each(CLIENTS)('the AI SDK as %s', (wire, client) => {
  test('streams through the gateway, with the real key at the vendor and the usage metered', async () => {
    const opened = await openGateway({ vendor: { script: () => ANSWER, chunkChars: 5 } });
    const result = streamText({ model: client(opened), system: 'Be brief.', prompt: 'Tell me.', maxRetries: 0 });
    expect(await result.text).toBe(ANSWER.text);
    expect(await result.finishReason).toBe('stop');
    const [call] = await opened.calls(1);
    expect(call).toMatchObject({
      item: '7',
      status: 200,
      attempts: 1,
      keyId: 'key-1',
      usage: USAGE,
    });
    expect(call?.costUsd === null).toBe(call?.vendor === 'openai-compatible');
    const [arrived] = opened.vendor.calls;
    expect(arrived).toMatchObject({ vendor: wire, key: REAL_KEY, system: 'Be brief.', text: 'Tell me.' });
    expect(JSON.stringify(arrived?.headers)).not.toContain(opened.token);
    expect(opened.pool.endings).toEqual([USAGE]);
  });

  test('gets a whole answer, and its usage is metered', async () => {
    const opened = await openGateway({ vendor: { script: () => ANSWER } });
    const result = await generateText({ model: client(opened), prompt: 'Tell me.', maxRetries: 0 });
    expect(result.text).toBe(ANSWER.text);
    expect((await opened.calls(1))[0]).toMatchObject({ status: 200, usage: USAGE });
  });
});

describe.each(FORMATS)('as %s', (format) => {
  test('a stream passes byte for byte', async () => {
    const answer = { text: 'Größe: 42 €\r\n'.repeat(200), usage: { input: 10, output: 20 } };
    const opened = await openGateway({ vendor: { script: () => answer, chunkChars: 7 } });
    const direct = await startVendor({ script: () => answer, chunkChars: 7 });
    onTestFinished(() => direct.close());
    const stable = (text: string): string => text.replaceAll(/"created(_at)?":\d+/g, '');
    const expected = await (await post(direct.url, format, { stream: true })).text();
    const response = await post(opened.gateway, format, { stream: true, key: opened.token });
    expect(stable(await response.text())).toBe(stable(expected));
    expect(response.headers.get('content-type')).toContain('text/event-stream');
  });

  test('the first piece arrives while the vendor is still at work', async () => {
    const script = (): { text: string; stallAfterChars: number } => ({ text: 'ab'.repeat(50), stallAfterChars: 20 });
    const { gateway, token, vendor } = await openGateway({ vendor: { script } });
    const response = await post(gateway, format, { stream: true, key: token });
    let seen = '';
    for await (const piece of response.body ?? []) {
      seen += new TextDecoder().decode(piece);
      if (seen.includes('ab')) break;
    }
    expect(seen).toContain('ab');
    expect(vendor.calls[0]?.finished).toBe(false);
  });

  test('a token that is unknown, missing or revoked is refused in the vendor’s shape, and nothing is forwarded', async () => {
    const { gateway, token, vendor, pool } = await openGateway();
    gateway.revoke(token);
    for (const key of [token, REAL_KEY, '']) {
      const response = await post(gateway, format, { key });
      expect(response.status).toBe(401);
      expect(errorRecordOf(response)?.problem).toMatchObject({ code: 'provider-rejected-key' });
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      expect(error['message']).toContain('token');
      const mark =
        { anthropic: 'authentication_error', google: 'UNAUTHENTICATED' }[String(format)] ?? 'invalid_api_key';
      expect(JSON.stringify(error)).toContain(mark);
    }
    expect(vendor.calls).toEqual([]);
    expect(pool.requests).toEqual([]);
  });
});

test('the token is taken wherever a client puts its key, and no other credential goes on', async () => {
  const { gateway, token, vendor } = await openGateway();
  const places: { headers: Record<string, string>; query?: string }[] = [
    { headers: { 'x-api-key': token } },
    { headers: { authorization: `Bearer ${token}` } },
    { headers: { 'x-goog-api-key': token } },
    { headers: {}, query: `?key=${token}&alt=json` },
    { headers: { 'x-api-key': 'something else', authorization: `Bearer ${token}`, cookie: 'a=b' } },
  ];
  const paths = [
    '/anthropic/v1/messages',
    '/google/v1beta/models/gemini-2.5-pro:generateContent',
    '/openai/v1/chat/completions',
  ];
  for (const { headers, query = '' } of places) {
    for (const path of paths) {
      const body = JSON.stringify({ model: 'some-model', max_tokens: 5, messages: [], contents: [] });
      const response = await fetch(`${gateway.url}${path}${query}`, { method: 'POST', headers, body });
      expect(response.status).toBe(200);
      await response.text();
    }
  }
  expect(vendor.calls).toHaveLength(places.length * paths.length);
  for (const call of vendor.calls) {
    expect(call.key).toBe(REAL_KEY);
    expect(call.headers['cookie']).toBeUndefined();
    const credentials = ['x-api-key', 'authorization', 'x-goog-api-key'].filter((name) => call.headers[name]);
    expect(credentials).toHaveLength(1);
    expect(JSON.stringify(call.headers)).not.toContain(token);
  }
});

test('headers that belong to one connection, or to us, do not go on; the others do', async () => {
  const { gateway, token, vendor } = await openGateway();
  const headers = {
    'x-agentos-step': 'step-1',
    'x-agentos-other': 'x',
    'anthropic-beta': 'some-beta',
    te: 'trailers',
    'accept-encoding': 'gzip',
  };
  await (await post(gateway, 'anthropic', { key: token, headers })).text();
  const [call] = vendor.calls;
  expect(call?.headers).toMatchObject({
    host: new URL(vendor.url).host,
    'anthropic-beta': 'some-beta',
    'anthropic-version': '2023-06-01',
    'accept-encoding': 'identity',
  });
  expect(Object.keys(call?.headers ?? {}).filter((name) => /^x-agentos|^te$/.test(name))).toEqual([]);
});

test('a path that no vendor has is answered with 404 in JSON', async () => {
  const { gateway, token, vendor } = await openGateway();
  for (const path of ['/', '/v1/embeddings', '/anthropic/v1/complete', '/google/v1beta/models/x:embedContent', '/%']) {
    const headers = { 'x-api-key': token };
    const response = await fetch(gateway.url + path, { method: 'POST', headers, body: '{}' });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  }
  expect([...vendor.calls, ...vendor.others]).toEqual([]);
});

test('lists of models and counts of tokens pass, and cost nothing', async () => {
  const { gateway, token, vendor, calls } = await openGateway({ budget: { maxCostUsd: 0.000001 } });
  const headers = { 'x-api-key': token, 'anthropic-version': '2023-06-01' };
  const models = await fetch(`${gateway.endpointOf('anthropic')}/v1/models`, { headers });
  expect(await models.json()).toMatchObject({ data: [{ type: 'model' }, {}, {}] });
  const body = JSON.stringify({ model: 'claude-sonnet-4-5', messages: [{ role: 'user', content: 'Hello' }] });
  const count = await fetch(`${gateway.url}/anthropic/v1/messages/count_tokens`, { method: 'POST', headers, body });
  expect(await count.json()).toMatchObject({ input_tokens: expect.any(Number) });
  expect(vendor.others.map(({ status }) => status)).toEqual([200, 200]);
  expect(await calls(2)).toMatchObject([{ costUsd: 0, usage: null }, { costUsd: 0 }]);
});

describe('the request’s body', () => {
  test('is refused when it is too large', async () => {
    const { gateway, token, vendor } = await openGateway({ bounds: { maxRequestBytes: 1_000 } });
    const response = await post(gateway, 'anthropic', { key: token, text: 'x'.repeat(2_000) });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'request_too_large' } });
    expect(vendor.calls).toEqual([]);
  });

  test.each(['', 'not JSON', '[]', '"text"'])('is refused when it is %j', async (body) => {
    const { gateway, token, vendor } = await openGateway();
    const headers = { 'x-api-key': token };
    const response = await fetch(`${gateway.url}/anthropic/v1/messages`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    expect(vendor.calls).toEqual([]);
  });

  test('may be compressed', async () => {
    const { gateway, token, vendor } = await openGateway();
    const headers = { 'x-api-key': token, 'content-encoding': 'gzip' };
    const body = gzipSync(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'packed' }] }));
    const response = await fetch(`${gateway.url}/anthropic/v1/messages`, { method: 'POST', headers, body });
    expect(response.status).toBe(200);
    expect(vendor.calls[0]?.text).toBe('packed');
  });
});

test('a vendor that compresses unasked is read and metered all the same', async () => {
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      const body = JSON.stringify({ type: 'message', model: 'm', usage: { input_tokens: 3, output_tokens: 4 } });
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const upstream = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const { gateway, token, calls } = await openGateway({ upstream });
  const response = await post(gateway, 'anthropic', { key: token });
  expect(await response.json()).toMatchObject({ type: 'message' });
  expect((await calls(1))[0]?.usage).toMatchObject({ inputTokens: 3, outputTokens: 4 });
});

test('a caller that does not read holds the vendor back instead of filling the memory', async () => {
  const total = 64 * 1024 * 1024;
  let written = 0;
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const piece = Buffer.from(`data: {"type":"ping","x":"${'x'.repeat(64 * 1024)}"}\n\n`);
      const more = (): void => {
        written += piece.byteLength;
        if (written >= total) response.end();
        else response.write(piece, more);
      };
      more();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const address = server.address();
  const upstream = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const { gateway, token, pool } = await openGateway({ upstream });
  const body = JSON.stringify({ model: 'm', stream: true, messages: [] });
  const { port } = new URL(gateway.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /anthropic/v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  socket.pause();
  let before = -1;
  for (let same = 0; same < 20; same = written > 0 && written === before ? same + 1 : 0) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  expect(written).toBeLessThan(total / 2);
  socket.destroy();
  await until(() => pool.inFlight === 0);
});
