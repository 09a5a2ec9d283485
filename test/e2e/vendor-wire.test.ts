import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { readCallFile } from '../support/vendor/call-file.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';
import { startVendorProcess } from '../support/vendor/process.ts';
import { post } from '../support/vendor/requests.ts';

const open: Vendor[] = [];
afterEach(async () => {
  for (const vendor of open.splice(0)) await vendor.close();
});

async function start(options: VendorOptions = {}): Promise<Vendor> {
  const vendor = await startVendor(options);
  open.push(vendor);
  return vendor;
}

const VENDORS = ['anthropic', 'google', 'openai-chat', 'openai-responses'] as const;

/** The parsed `data:` lines of a stream. */
async function events(response: Response): Promise<unknown[]> {
  return (await response.text())
    .split(/\r?\n\r?\n/)
    .map((event) => /^data: (.*)$/m.exec(event)?.[1] ?? '')
    .filter((data) => data !== '' && data !== '[DONE]')
    .map((data): unknown => JSON.parse(data));
}

describe('streams, event by event', () => {
  const script = () => ({ text: 'abcdef', toolCalls: [{ name: 'look', input: { at: 'x' } }] });

  test('anthropic', async () => {
    const { url } = await start({ script, chunkChars: 3 });
    const list = await events(await post(url, 'anthropic', { stream: true }));
    const json = { type: 'input_json_delta' };
    expect(list).toMatchObject([
      { type: 'message_start', message: { model: 'claude-sonnet-4-5', content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'abc' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'def' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', name: 'look', input: {} } },
      { type: 'content_block_delta', index: 1, delta: { ...json, partial_json: '' } },
      { type: 'content_block_delta', index: 1, delta: { ...json, partial_json: '{"a' } },
      { type: 'content_block_delta', index: 1, delta: { ...json, partial_json: 't":' } },
      { type: 'content_block_delta', index: 1, delta: { ...json, partial_json: '"x"' } },
      { type: 'content_block_delta', index: 1, delta: { ...json, partial_json: '}' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ]);
  });

  test('google, as events and as an array', async () => {
    const { url } = await start({ script, chunkChars: 3 });
    const expected = [
      { candidates: [{ content: { role: 'model', parts: [{ text: 'abc' }] } }], modelVersion: 'gemini-2.5-pro' },
      { candidates: [{ content: { role: 'model', parts: [{ text: 'def' }] } }] },
      { candidates: [{ content: { parts: [{ functionCall: { name: 'look', args: { at: 'x' } } }] } }] },
      { candidates: [{ finishReason: 'STOP' }], usageMetadata: { candidatesTokenCount: 4 } },
    ];
    expect(await events(await post(url, 'google', { stream: true }))).toMatchObject(expected);
    const plain = await fetch(`${url}/v1beta/models/gemini-2.5-pro:streamGenerateContent`, {
      method: 'POST',
      body: '{"contents":[]}',
    });
    expect(plain.headers.get('content-type')).toContain('application/json');
    expect(await plain.json()).toMatchObject(expected);
  });

  test('openai chat, with usage only where it was asked for', async () => {
    const { url } = await start({ script, chunkChars: 6 });
    const response = await post(url, 'openai-chat', { stream: true });
    const choice = (delta: unknown, finish: string | null = null) => ({ choices: [{ delta, finish_reason: finish }] });
    const part = (facts: unknown) => choice({ tool_calls: [{ index: 0, function: facts }] });
    const list = await events(response);
    expect(list).toMatchObject([
      choice({ role: 'assistant', content: '' }),
      choice({ content: 'abcdef' }),
      part({ name: 'look', arguments: '' }),
      part({ arguments: '{"at":' }),
      part({ arguments: '"x"}' }),
      choice({}, 'tool_calls'),
      { choices: [], usage: { completion_tokens: 4 } },
    ]);
    const bare = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'gpt-5', stream: true, messages: [] }),
    });
    const text = await bare.text();
    expect(text).not.toContain('usage');
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test('openai responses, numbered without a gap', async () => {
    const { url } = await start({ script, chunkChars: 6 });
    const list = await events(await post(url, 'openai-responses', { stream: true }));
    const types = [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.output_item.done',
      'response.completed',
    ];
    expect(list).toMatchObject(types.map((type, index) => ({ type, sequence_number: index })));
    expect(list.at(-1)).toMatchObject({
      response: {
        status: 'completed',
        output: [
          { type: 'message', content: [{ text: 'abcdef' }] },
          { type: 'function_call', name: 'look', arguments: '{"at":"x"}' },
        ],
        usage: { output_tokens: 4 },
      },
    });
  });

  test('a freeform tool call of openai responses carries its input as text', async () => {
    const { url } = await start({ script: () => ({ toolCalls: [{ name: 'apply_patch', input: '*** Begin' }] }) });
    const list = await events(await post(url, 'openai-responses', { stream: true }));
    expect(list.at(-2)).toMatchObject({ item: { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin' } });
  });
});

describe.each(VENDORS)('faults of %s', (vendor) => {
  test.each([true, false])('HTML, nothing, a redirect, a hang-up (streaming: %s)', async (stream) => {
    const answers = [
      { html: true, status: 200 },
      { emptyBody: true },
      { redirectTo: 'http://127.0.0.1:9/elsewhere' },
      { hangup: true },
    ];
    const { url, calls } = await start({ script: (call) => answers[call.index] ?? {} });
    const html = await post(url, vendor, { stream });
    expect([html.status, html.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(await html.text()).toContain('<html>');
    const empty = await post(url, vendor, { stream });
    expect([empty.status, await empty.text()]).toEqual([200, '']);
    const redirect = await post(url, vendor, { stream });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([307, 'http://127.0.0.1:9/elsewhere']);
    await expect(post(url, vendor, { stream })).rejects.toThrow('fetch failed');
    expect(calls).toHaveLength(4);
  });

  test('a reply in one piece can be cut, and can stall', async () => {
    const { url, waitFor } = await start({
      script: (call) => (call.index === 0 ? { cutAfterChars: 10 } : { stallAfterChars: 10 }),
    });
    const cut = await post(url, vendor);
    await expect(cut.text()).rejects.toThrow('terminated');
    const left = new AbortController();
    const stalled = await post(url, vendor, { signal: left.signal });
    left.abort();
    await expect(stalled.text()).rejects.toThrow('aborted');
    await waitFor((calls) => calls[0]?.aborted === false && calls[1]?.aborted === true);
  });

  test('extra headers go along, on replies and on errors', async () => {
    const { url } = await start({
      script: (call) => ({ status: call.index === 0 ? 200 : 500, headers: { 'x-extra': 'yes' } }),
    });
    expect((await post(url, vendor)).headers.get('x-extra')).toBe('yes');
    expect((await post(url, vendor)).headers.get('x-extra')).toBe('yes');
  });

  test('a caller that leaves while the script thinks is noticed', async () => {
    const { url, waitForCalls, waitFor } = await start({ script: () => new Promise(() => undefined) });
    const left = new AbortController();
    const pending = post(url, vendor, { signal: left.signal });
    await waitForCalls(1);
    left.abort();
    await expect(pending).rejects.toThrow('aborted');
    await waitFor((calls) => calls[0]?.aborted === true);
  });
});

describe('errors in each vendor’s own shape', () => {
  const quotaId = 'GenerateRequestsPerDayPerProjectPerModel';
  const script = () => ({ status: 429, message: 'no more', code: 'insufficient_quota', retryAfter: 12.5, quotaId });

  test('anthropic', async () => {
    const response = await post((await start({ script })).url, 'anthropic');
    expect(response.headers.get('retry-after')).toBe('12.5');
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', message: 'no more' },
    });
  });

  test.each(['openai-chat', 'openai-responses'] as const)('%s', async (vendor) => {
    const response = await post((await start({ script })).url, vendor);
    expect(response.headers.get('retry-after')).toBe('12.5');
    expect(await response.json()).toMatchObject({
      error: { type: 'requests', code: 'insufficient_quota', message: 'no more' },
    });
  });

  test('google', async () => {
    const response = await post((await start({ script })).url, 'google');
    expect(response.headers.get('retry-after')).toBeNull();
    const { error } = Object(await response.json());
    expect(error).toMatchObject({ code: 429, status: 'RESOURCE_EXHAUSTED', message: 'no more' });
    expect(error.details).toContainEqual(expect.objectContaining({ retryDelay: '12.5s' }));
    expect(error.details).toContainEqual(
      expect.objectContaining({ violations: [expect.objectContaining({ quotaId })] }),
    );
  });
});

describe('around the calls', () => {
  test.each([
    ['/v1/models', { 'x-api-key': 'k' }, { data: [{ type: 'model', id: 'm-1' }], has_more: false }],
    ['/v1beta/models?key=k', {}, { models: [{ name: 'models/m-1' }] }],
    ['/models', { authorization: 'Bearer k' }, { object: 'list', data: [{ id: 'm-1', object: 'model' }] }],
    ['/v1/models/m-1', { authorization: 'Bearer k' }, { id: 'm-1', object: 'model' }],
  ])('GET %s lists models in the vendor’s way', async (path, headers, expected) => {
    const { url } = await start({ models: ['m-1'], keys: ['k'] });
    expect(await (await fetch(url + path, { headers })).json()).toMatchObject(expected);
  });

  test('token counts, probes and unknown paths are not calls', async () => {
    const { url, calls, others } = await start();
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(400) }] });
    const counted = await fetch(`${url}/v1/messages/count_tokens`, { method: 'POST', body });
    expect(await counted.json()).toEqual({ input_tokens: 108 });
    const gemini = await fetch(`${url}/v1beta/models/m:countTokens`, { method: 'POST', body: '{"contents":[]}' });
    expect(await gemini.json()).toEqual({ totalTokens: 1 });
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${url}/nowhere`, { method: 'POST', body })).status).toBe(404);
    expect(calls).toHaveLength(0);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 404]);
  });

  test('paths without a version or behind a prefix are the same calls', async () => {
    const { url, calls } = await start();
    for (const path of ['/messages', '/proxy/v1/messages', '/responses', '/models/gem:generateContent']) {
      expect((await fetch(url + path, { method: 'POST', body: '{"model":"m"}' })).status).toBe(200);
    }
    expect(calls.map((call) => [call.vendor, call.model])).toEqual([
      ['anthropic', 'm'],
      ['anthropic', 'm'],
      ['openai-responses', 'm'],
      ['google', 'gem'],
    ]);
  });

  test('a body that is compressed is read, one that is not JSON is refused', async () => {
    const { url, calls } = await start();
    const body = gzipSync(JSON.stringify({ model: 'm', input: 'packed' }));
    await fetch(`${url}/v1/responses`, { method: 'POST', body, headers: { 'content-encoding': 'gzip' } });
    expect(calls[0]?.text).toBe('packed');
    expect((await fetch(`${url}/v1/responses`, { method: 'POST', body: '{' })).status).toBe(400);
  });

  test('what a script throws is the vendor’s 500', async () => {
    const { url } = await start({
      script: () => {
        throw new Error('oops');
      },
    });
    const response = await post(url, 'anthropic');
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('oops')]);
  });

  test('closing ends open streams and fails those who still wait for calls', async () => {
    const vendor = await startVendor({ script: () => ({ stallAfterChars: 3 }) });
    const response = await post(vendor.url, 'anthropic', { stream: true });
    const waiting = vendor.waitForCalls(2).catch(String);
    await vendor.close();
    expect(await waiting).toContain('closed after 1 calls');
    await expect(response.text()).rejects.toThrow('terminated');
    await expect(fetch(vendor.url)).rejects.toThrow('fetch failed');
  });

  test('hundreds of streams at once arrive whole', async () => {
    const text = 'All work and no play makes Jack a dull boy. '.repeat(20);
    const { url, counters } = await start({ script: () => ({ text, chunkDelayMs: 1 }), chunkChars: 20 });
    const all = await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const list = await events(await post(url, 'openai-chat', { stream: true, text: `caller ${index}` }));
        return list.map((event) => Object(event).choices[0]?.delta.content ?? '').join('');
      }),
    );
    expect(new Set(all)).toEqual(new Set([text]));
    expect(counters.total).toMatchObject({ requests: 300, ok: 300, aborted: 0 });
  });
});

describe('as a process of its own', () => {
  test('it runs a script file and logs each call for others to count', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vendor-'));
    const script = join(folder, 'script.ts');
    const options = join(folder, 'options.json');
    const log = join(folder, 'calls.jsonl');
    await writeFile(script, 'export default (call: { text: string }) => ({ text: `heard ${call.text}` });\n');
    await writeFile(options, JSON.stringify({ keys: [{ key: 'secret-key', group: 'org' }] }));
    const child = await startVendorProcess(['--script', script, '--options', options, '--log', log]);
    const answer = await post(child.url, 'anthropic', { text: 'one', key: 'secret-key' });
    expect(await answer.text()).toContain('heard one');
    expect((await post(child.url, 'anthropic', { text: 'two', key: 'wrong' })).status).toBe(401);
    expect(await child.stop()).toBe(0);
    const logged = readCallFile(log);
    expect(logged).toMatchObject([
      { index: 0, text: 'one', group: 'org', ended: { status: 200, finished: true, aborted: false } },
      { index: 1, text: 'two', ended: { status: 401, finished: true } },
    ]);
    expect(JSON.stringify(logged)).not.toContain('secret-key');
    await rm(folder, { recursive: true });
  });

  test('it ends when the process that holds its stdin is gone', async () => {
    const main = fileURLToPath(new URL('../support/vendor/main.ts', import.meta.url));
    const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('a wrong option stops it with the reason', async () => {
    await expect(startVendorProcess(['--dilation', 'fast'])).rejects.toThrow('--dilation takes a number');
    await expect(startVendorProcess(['--colour', 'red'])).rejects.toThrow('--colour');
  });
});
