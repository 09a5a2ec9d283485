import { Agent, request } from 'node:http';
import type { Usage } from '../../src/core/money.ts';
import type { Situation } from './gateway-situation.ts';

export interface Exchange {
  status: number;
  headers: Record<string, string>;
  body: unknown;
  usage: Usage | null;
}

export interface Wire {
  model: string;
  send(key: string, workflow: string, text: string): Promise<Exchange>;
  close(): void;
}

export const MODELS = { anthropic: 'claude-sonnet-4-5', google: 'gemini-2.5-pro', openai: 'gpt-5' };

/** Requests to the loopback vendor over connections that are kept. */
export function openWire(url: string, { wire, wordless }: Situation): Wire {
  const agent = new Agent({ keepAlive: true, maxSockets: 512 });
  const model = MODELS[wire];
  const { hostname, port } = new URL(url);
  return {
    model,
    send: (key, workflow, text) =>
      new Promise((resolve, reject) => {
        const { path, auth, body } = shape(wire, model, key, text);
        const headers = { 'content-type': 'application/json', 'x-workflow': workflow, ...auth };
        const sent = request({ agent, hostname, port, path, method: 'POST', headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const parsed = parse(Buffer.concat(chunks).toString('utf8'));
            const status = response.statusCode ?? 0;
            const said = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
            // The wall's date, beside instants of a time that runs faster.
            const kept = Object.fromEntries(said.filter(([name]) => name !== 'date'));
            const usage = status < 300 ? usageOf(wire, parsed) : null;
            resolve({ status, headers: kept, body: wordless ? null : parsed, usage });
          });
        });
        sent.on('error', reject);
        sent.end(JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}

function shape(wire: Situation['wire'], model: string, key: string, text: string) {
  switch (wire) {
    case 'anthropic':
      return {
        path: '/v1/messages',
        auth: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
        body: { model, max_tokens: 1000, messages: [{ role: 'user', content: text }] },
      };
    case 'google':
      return {
        path: `/v1beta/models/${model}:generateContent`,
        auth: { 'x-goog-api-key': key },
        body: { contents: [{ role: 'user', parts: [{ text }] }] },
      };
    case 'openai':
      return {
        path: '/v1/chat/completions',
        auth: { authorization: `Bearer ${key}` },
        body: { model, messages: [{ role: 'user', content: text }] },
      };
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const USAGE_FIELDS = {
  anthropic: ['usage', 'input_tokens', 'output_tokens'],
  google: ['usageMetadata', 'promptTokenCount', 'candidatesTokenCount'],
  openai: ['usage', 'prompt_tokens', 'completion_tokens'],
} as const;

export function usageOf(wire: Situation['wire'], body: unknown): Usage | null {
  const [field, input, output] = USAGE_FIELDS[wire];
  const usage = member(body, field);
  const inputTokens = member(usage, input);
  const outputTokens = member(usage, output);
  if (typeof inputTokens !== 'number' || typeof outputTokens !== 'number') return null;
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 };
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && name in value
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined;
}
