import type { IncomingHttpHeaders } from 'node:http';
import { anthropic } from './anthropic.ts';
import type { Dialect } from './dialect.ts';
import { google } from './google.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';

export interface Route {
  kind: 'generate' | 'count' | 'models';
  dialect: Dialect;
  /** In the path for Gemini; the id of a single model for `models`. */
  model: string | null;
  streaming: boolean;
  sse: boolean;
}

const GEMINI_METHOD = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/;
const MODELS = /\/models(?:\/([^/:]+))?$/;

/** By the end of the path: base URLs come with `/v1`, `/v1beta`, another prefix or none. */
export function route(method: string, url: URL, headers: IncomingHttpHeaders): Route | null {
  const path = url.pathname.replace(/\/+$/, '');
  const plain = { model: null, streaming: false, sse: true };
  if (method === 'POST') {
    if (path.endsWith('/messages')) return { ...plain, kind: 'generate', dialect: anthropic };
    if (path.endsWith('/messages/count_tokens')) return { ...plain, kind: 'count', dialect: anthropic };
    if (path.endsWith('/chat/completions')) return { ...plain, kind: 'generate', dialect: openaiChat };
    if (path.endsWith('/responses')) return { ...plain, kind: 'generate', dialect: openaiResponses };
    const gemini = GEMINI_METHOD.exec(path);
    if (gemini === null) return null;
    return {
      kind: gemini[2] === 'countTokens' ? 'count' : 'generate',
      dialect: google,
      model: decodeURIComponent(gemini[1] ?? ''),
      streaming: gemini[2] === 'streamGenerateContent',
      sse: url.searchParams.get('alt') === 'sse',
    };
  }
  const models = method === 'GET' ? MODELS.exec(path) : null;
  if (models === null) return null;
  return { ...plain, kind: 'models', dialect: modelsDialect(url, headers), model: models[1] ?? null };
}

/** The vendors share this path, so the way of giving the key tells them apart. */
function modelsDialect(url: URL, headers: IncomingHttpHeaders): Dialect {
  if (headers['anthropic-version'] !== undefined || headers['x-api-key'] !== undefined) return anthropic;
  if (headers['x-goog-api-key'] !== undefined || url.searchParams.has('key')) return google;
  return url.pathname.includes('/v1beta/') ? google : openaiChat;
}

export function keyOf(url: URL, headers: IncomingHttpHeaders): string | null {
  const single = (value: string | string[] | undefined): string | undefined =>
    Array.isArray(value) ? value[0] : value;
  const bearer = /^Bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1];
  return (
    single(headers['x-api-key']) ?? bearer ?? single(headers['x-goog-api-key']) ?? url.searchParams.get('key') ?? null
  );
}
