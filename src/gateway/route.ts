import type { IncomingHttpHeaders } from 'node:http';
import { VENDORS, type VendorName } from '../core/keys.ts';
import { anthropic } from './vendors/anthropic.ts';
import type { WireFormat } from './vendors/format.ts';
import { google } from './vendors/google.ts';
import { openaiChat } from './vendors/openai-chat.ts';
import { openaiResponses } from './vendors/openai-responses.ts';

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
  /** A stream of server-sent events; only Gemini has another kind. */
  sse: boolean;
}

type Endpoint = Pick<Route, 'format' | 'kind' | 'path' | 'model' | 'streaming' | 'sse'>;

/** The other name of the compatible servers' prefix. */
const PREFIXES: Readonly<Record<string, VendorName>> = {
  ...Object.fromEntries(VENDORS.map((vendor) => [vendor, vendor])),
  compatible: 'openai-compatible',
};

const VERSION = /^\/v\d+[a-z]*\d*(?=\/)/;

/**
 * Clients are given the gateway's URL with the vendor's name behind it; without the name, the path tells the vendor.
 * Null: the gateway has no such path.
 */
export function routeOf(method: string, url: URL, headers: IncomingHttpHeaders): Route | null {
  const [, prefix = '', rest = ''] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
  const named = Object.hasOwn(PREFIXES, prefix) ? PREFIXES[prefix] : undefined;
  const path = (named === undefined ? url.pathname : rest).replace(/\/+$/, '');
  const vendor = named ?? vendorOfBarePath(path, headers);
  if (vendor === null) return null;
  const endpoint = ENDPOINTS[vendor](method, path.replace(VERSION, ''), url);
  return endpoint === null ? null : { vendor, ...endpoint };
}

function vendorOfBarePath(path: string, headers: IncomingHttpHeaders): VendorName | null {
  if (path.startsWith('/v1beta/')) return 'google';
  if (/^\/v1\/messages(?:\/|$)/.test(path)) return 'anthropic';
  if (/^\/v1\/(?:chat\/completions|responses)(?:\/|$)/.test(path)) return 'openai';
  if (!/^\/v1\/models(?:\/|$)/.test(path)) return null;
  return headers['anthropic-version'] === undefined ? 'openai' : 'anthropic';
}

const PLAIN = { model: null, streaming: false, sse: true };

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
  return {
    format: google,
    kind: action === 'countTokens' ? 'count' : 'generate',
    path,
    model: decoded(model),
    streaming: action === 'streamGenerateContent',
    sse: url.searchParams.get('alt') === 'sse',
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
