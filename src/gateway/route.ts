import { VENDORS, type VendorName } from '../core/keys.ts';
import { anthropic } from './vendors/anthropic.ts';
import type { WireFormat } from './vendors/format.ts';
import { google } from './vendors/google.ts';
import { openaiChat, openaiResponses } from './vendors/openai.ts';

export interface Route {
  vendor: VendorName;
  format: WireFormat;
  /** `generate` costs money; the others need a key all the same. */
  kind: 'generate' | 'count' | 'models';
  /** Below the vendor's base URL, which ends with the version: `/messages`. */
  path: string;
  /** Where the path names it. */
  model: string | null;
  /** Where the path says so; other formats say it in the body. */
  streaming: boolean;
}

type Endpoint = Omit<Route, 'vendor'>;

const VERSION = /^\/v\d+[a-z]*\d*(?=\/)/;

/** Clients are given the gateway's URL with the vendor's name behind it. Null: the gateway has no such path. */
export function routeOf(method: string, url: URL): Route | null {
  const [, prefix = '', rest = ''] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
  const vendor = VENDORS.find((name) => name === prefix);
  if (vendor === undefined) return null;
  const endpoint = ENDPOINTS[vendor](method, rest.replace(/\/+$/, '').replace(VERSION, ''), url);
  return endpoint === null ? null : { vendor, ...endpoint };
}

const PLAIN = { model: null, streaming: false };

function modelList(format: WireFormat, method: string, path: string): Endpoint | null {
  return method === 'GET' && /^\/models(?:\/[^:]+)?$/.test(path) ? { ...PLAIN, format, kind: 'models', path } : null;
}

function anthropicEndpoint(method: string, path: string): Endpoint | null {
  const at = { ...PLAIN, format: anthropic, path };
  if (method === 'POST' && path === '/messages') return { ...at, kind: 'generate' };
  if (method === 'POST' && path === '/messages/count_tokens') return { ...at, kind: 'count' };
  return modelList(anthropic, method, path);
}

function openaiEndpoint(method: string, path: string): Endpoint | null {
  if (method === 'POST' && path === '/chat/completions')
    return { ...PLAIN, format: openaiChat, kind: 'generate', path };
  const at = { ...PLAIN, format: openaiResponses, path };
  if (method === 'POST' && (path === '/responses' || path === '/responses/compact')) return { ...at, kind: 'generate' };
  if (method === 'POST' && path === '/responses/input_tokens') return { ...at, kind: 'count' };
  return modelList(openaiChat, method, path);
}

function googleEndpoint(method: string, path: string, url: URL): Endpoint | null {
  const [, model, action] = /^\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/.exec(path) ?? [];
  if (method !== 'POST' || model === undefined) return modelList(google, method, path);
  const streaming = action === 'streamGenerateContent';
  // Without it the stream is one JSON array, which none of the clients asks for.
  if (streaming && url.searchParams.get('alt') !== 'sse') return null;
  return {
    format: google,
    kind: action === 'countTokens' ? 'count' : 'generate',
    path,
    model: decoded(model),
    streaming,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const ENDPOINTS: Record<VendorName, (method: string, path: string, url: URL) => Endpoint | null> = {
  anthropic: anthropicEndpoint,
  google: googleEndpoint,
  openai: openaiEndpoint,
  'openai-compatible': openaiEndpoint,
};
