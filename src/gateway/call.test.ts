import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readCall, routeOf } from './call.ts';

function route(method: string, path: string) {
  const found = routeOf(method, new URL(path, 'http://127.0.0.1'));
  return found === null ? null : { ...found, format: found.format.name };
}

describe('a prefix names the vendor, with the version or without', () => {
  test.each([
    ['/anthropic/v1/messages', 'anthropic', 'anthropic', 'generate', '/messages'],
    ['/anthropic/v1/messages?beta=true', 'anthropic', 'anthropic', 'generate', '/messages'],
    ['/anthropic/v1/messages/count_tokens', 'anthropic', 'anthropic', 'count', '/messages/count_tokens'],
    ['/openai/v1/responses', 'openai', 'openai-responses', 'generate', '/responses'],
    ['/openai/v1/chat/completions', 'openai', 'openai-chat', 'generate', '/chat/completions'],
    ['/google/v1beta/models/m:generateContent', 'google', 'google', 'generate', '/models/m:generateContent'],
    ['/google/v1beta/models/m:countTokens', 'google', 'google', 'count', '/models/m:countTokens'],
    ['/openai-compatible/chat/completions', 'openai-compatible', 'openai-chat', 'generate', '/chat/completions'],
    ['/openai-compatible/v1/chat/completions/', 'openai-compatible', 'openai-chat', 'generate', '/chat/completions'],
  ])('%s', (path, vendor, format, kind, rest) => {
    expect(route('POST', path)).toMatchObject({ vendor, format, kind, path: rest });
  });

  test.each([
    ['/openai/v1/models', 'openai'],
    ['/anthropic/v1/models', 'anthropic'],
    ['/google/v1beta/models/gemini-2.5-pro', 'google'],
    ['/openai-compatible/v1/models/meta-llama%2FLlama-3.3', 'openai-compatible'],
  ])('%s lists models', (path, vendor) => {
    expect(route('GET', path)).toMatchObject({ vendor, kind: 'models' });
  });
});

test('Gemini’s path tells the model and the kind of stream', () => {
  const path = '/google/v1beta/models/gemini%2Dx:streamGenerateContent';
  expect(route('POST', `${path}?alt=sse`)).toMatchObject({ model: 'gemini-x', streaming: true });
  expect(route('POST', path)).toBeNull();
});

test.each([
  ['POST', '/'],
  ['POST', '/v1/messages'],
  ['GET', '/anthropic/v1/messages'],
  ['DELETE', '/anthropic/v1/models/m'],
  ['POST', '/anthropic/v1/messages/batches'],
  ['POST', '/anthropic/v1/chat/completions'],
  ['POST', '/google/v1beta/models/m:predict'],
  ['POST', '/google/v1beta/models/../../messages'],
  ['GET', '/constructor/v1/models'],
  ['GET', '/openai/v1/models/..%2f..%2forganization'],
  ['GET', '/openai/v1/models/%252e%252e%252ffiles'],
  ['GET', '/openai/v1/models/a/%2e%2e%5cfiles'],
  ['GET', '/google/v1beta/models/..%2ffiles'],
  ['GET', '/anthropic/v1/models/%E0%A4%A'],
  ['POST', '/google/v1beta/models/..%2f..%2fv1%2fmodels%2fm:generateContent'],
])('%s %s is nobody’s', (method, path) => {
  expect(route(method, path)).toBeNull();
});

test('a model that is named twice is sent once: the one that was allowed', async () => {
  const url = new URL('/openai/v1/chat/completions', 'http://127.0.0.1');
  const text = '{"model":"gpt-5-pro","messages":[],"mod\\u0065l":"gpt-5-nano"}';
  const request = Object.assign(Readable.from([Buffer.from(text)]), { method: 'POST', headers: {} });
  const found = routeOf('POST', url);
  if (found === null) throw new Error('no route');
  const call = await readCall({
    request: request as unknown as IncomingMessage,
    url,
    route: found,
    grant: { item: '1', models: ['openai:gpt-5-nano'] },
    base: 'https://api.openai.com/v1',
    prices: {},
    maxBytes: 1_000,
  });
  expect(call.body?.toString()).toBe('{"model":"gpt-5-nano","messages":[]}');
});
