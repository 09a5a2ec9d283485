import http from 'node:http';
import { proxyVariables } from '../core/proxy.ts';

type Fetch = typeof globalThis.fetch;

const TIMEOUT_MS = 30_000;
const MOST_KEPT = 500;
/** A page of a long list is not worth its memory. */
const MOST_KEPT_BYTES = 256 * 1024;

/** Answers without a body, by their nature. */
const BODILESS = new Set([204, 205, 304]);

interface Kept {
  etag: string;
  body: ArrayBuffer;
  headers: Headers;
}

/**
 * The fetch of both clients. It speaks to one origin alone, because a token goes with every request: neither a redirect nor a link
 * to another page leads elsewhere. An answer is whole or an error: one that breaks off must not pass for an empty list.
 * What was read before is asked for with its ETag, so that reading it again costs no quota.
 */
export function createWholeFetch(apiUrl: string): Fetch {
  const { origin } = new URL(apiUrl);
  const known = new Map<string, Kept>();
  return async (input, init = {}) => {
    const url = String(input instanceof Request ? input.url : input);
    if (URL.parse(url)?.origin !== origin) throw new TypeError(`${URL.parse(url)?.host ?? url} is not ${origin}`);
    const headers = new Headers(init.headers);
    const isRead = (init.method ?? 'GET') === 'GET';
    const kept = isRead && !headers.has('if-none-match') ? known.get(url) : undefined;
    if (kept !== undefined) headers.set('if-none-match', kept.etag);
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const response = await globalThis.fetch(url, { ...init, headers, redirect: 'manual', signal });
    const body = await response.arrayBuffer();
    const { status } = response;
    if (status === 304 && kept !== undefined) return answerOf(url, kept.body, 200, kept.headers);
    if (response.ok && !BODILESS.has(status)) requireWhole(response, body);
    const etag = response.headers.get('etag');
    if (isRead && status === 200 && etag !== null && body.byteLength <= MOST_KEPT_BYTES)
      keep(known, url, { etag, body, headers: response.headers });
    return answerOf(url, BODILESS.has(status) ? null : body, status, response.headers);
  };
}

/** Pages are continued from the address of the answer. */
function answerOf(url: string, body: ArrayBuffer | null, status: number, headers: Headers): Response {
  return Object.defineProperty(new Response(body, { status, headers }), 'url', { value: url });
}

function requireWhole({ headers }: Response, body: ArrayBuffer): void {
  if (body.byteLength === 0) throw new TypeError('the answer is empty');
  if (!/\bjson\b/.test(headers.get('content-type') ?? '')) throw new TypeError('the answer is not JSON');
}

function keep(known: Map<string, Kept>, url: string, answer: Kept): void {
  known.delete(url);
  known.set(url, answer);
  const [oldest] = known.keys();
  if (known.size > MOST_KEPT && oldest !== undefined) known.delete(oldest);
}

/** The runtime's own fetch goes through the proxies that the environment names, from here on. */
export function followProxies(env: Readonly<Record<string, string | undefined>>): void {
  const proxies = proxyVariables(env);
  if (proxies !== null) http.setGlobalProxyFromEnv(proxies);
}
