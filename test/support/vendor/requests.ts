import type { VendorName } from './dialect.ts';

/** Where the gateway serves a format. */
const GATEWAY_VENDORS = {
  anthropic: 'anthropic',
  google: 'google',
  'openai-chat': 'openai',
  'openai-responses': 'openai',
} as const;

/** The smallest request of each format, for callers that speak it without an SDK: to a vendor's URL or a gateway. */
export function post(
  to: string | { endpointOf(vendor: 'anthropic' | 'google' | 'openai'): string },
  vendor: VendorName,
  options: {
    text?: string;
    stream?: boolean;
    key?: string;
    headers?: Record<string, string>;
    signal?: AbortSignal;
  } = {},
): Promise<Response> {
  const { text = 'Hello', stream = false, key = 'key-1' } = options;
  const turn = { role: 'user', content: text };
  const shapes: Record<VendorName, { path: string; body: unknown; auth: Record<string, string> }> = {
    anthropic: {
      path: '/v1/messages',
      body: { model: 'claude-sonnet-4-5', max_tokens: 100, stream, messages: [turn] },
      auth: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    },
    google: {
      path: `/v1beta/models/gemini-2.5-pro:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
      body: { contents: [{ role: 'user', parts: [{ text }] }] },
      auth: { 'x-goog-api-key': key },
    },
    'openai-chat': {
      path: '/v1/chat/completions',
      body: { model: 'gpt-5', stream, stream_options: { include_usage: true }, messages: [turn] },
      auth: { authorization: `Bearer ${key}` },
    },
    'openai-responses': {
      path: '/v1/responses',
      body: { model: 'gpt-5', stream, input: text },
      auth: { authorization: `Bearer ${key}` },
    },
  };
  const { path, body, auth } = shapes[vendor];
  const url = typeof to === 'string' ? to : to.endpointOf(GATEWAY_VENDORS[vendor]);
  return fetch(url + path, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'content-type': 'application/json', ...auth, ...options.headers },
    body: JSON.stringify(body),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
