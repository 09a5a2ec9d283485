import { describe, expect, test } from 'vitest';
import { routeOf } from './route.ts';

function route(method: string, path: string, headers: Record<string, string> = {}) {
  const found = routeOf(method, new URL(path, 'http://127.0.0.1'), headers);
  return found === null ? null : { ...found, format: found.format.name };
}

describe('bare paths tell the vendor', () => {
  test.each([
    ['/v1/messages', 'anthropic', 'anthropic', 'generate', '/messages'],
    ['/v1/messages?beta=true', 'anthropic', 'anthropic', 'generate', '/messages'],
    ['/v1/messages/count_tokens', 'anthropic', 'anthropic', 'count', '/messages/count_tokens'],
    ['/v1/chat/completions', 'openai', 'openai-chat', 'generate', '/chat/completions'],
    ['/v1/responses', 'openai', 'openai-responses', 'generate', '/responses'],
    [
      '/v1beta/models/gemini-2.5-pro:generateContent',
      'google',
      'google',
      'generate',
      '/models/gemini-2.5-pro:generateContent',
    ],
    ['/v1beta/models/m:countTokens', 'google', 'google', 'count', '/models/m:countTokens'],
  ])('%s', (path, vendor, format, kind, rest) => {
    expect(route('POST', path)).toMatchObject({ vendor, format, kind, path: rest });
  });

  test('a list of models is the vendor’s whose header is there', () => {
    expect(route('GET', '/v1/models')).toMatchObject({ vendor: 'openai', kind: 'models' });
    const headers = { 'anthropic-version': '2023-06-01' };
    expect(route('GET', '/v1/models', headers)).toMatchObject({ vendor: 'anthropic' });
    expect(route('GET', '/v1beta/models/gemini-2.5-pro')).toMatchObject({ vendor: 'google', kind: 'models' });
  });
});

describe('a prefix names the vendor, with the version or without', () => {
  test.each([
    ['/anthropic/v1/messages', 'anthropic', '/messages'],
    ['/openai/v1/responses', 'openai', '/responses'],
    ['/google/v1beta/models/m:generateContent', 'google', '/models/m:generateContent'],
    ['/openai-compatible/chat/completions', 'openai-compatible', '/chat/completions'],
    ['/openai-compatible/v1/chat/completions', 'openai-compatible', '/chat/completions'],
    ['/compatible/v1/chat/completions/', 'openai-compatible', '/chat/completions'],
  ])('%s', (path, vendor, rest) => {
    expect(route('POST', path)).toMatchObject({ vendor, path: rest });
  });
});

test('Gemini’s path tells the model and the kind of stream', () => {
  const path = '/v1beta/models/gemini%2Dx:streamGenerateContent';
  expect(route('POST', `${path}?alt=sse`)).toMatchObject({ model: 'gemini-x', streaming: true, sse: true });
  expect(route('POST', path)).toMatchObject({ streaming: true, sse: false });
});

test.each([
  ['POST', '/'],
  ['GET', '/v1/messages'],
  ['DELETE', '/v1/models/m'],
  ['POST', '/v1/messages/batches'],
  ['POST', '/anthropic/v1/chat/completions'],
  ['POST', '/google/v1beta/models/m:predict'],
  ['POST', '/v1beta/models/../../messages'],
  ['GET', '/constructor/v1/models'],
])('%s %s is nobody’s', (method, path) => {
  expect(route(method, path)).toBeNull();
});
