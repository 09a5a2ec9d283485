import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { proxyVariables } from '../core/proxy.ts';
import type { HostName } from '../core/remote.ts';
import { connectionDetail, hostFailure } from './port.ts';

type Fetch = typeof globalThis.fetch;

const TIMEOUT_MS = 30_000;
const MOST_CACHED = 500;
/** A page of a long list is not worth its memory. */
const MOST_CACHED_BYTES = 256 * 1024;

/** Statuses of responses that never have a body. */
const BODILESS = new Set([204, 205, 304]);

interface CachedResponse {
  etag: string;
  body: ArrayBuffer;
  headers: Headers;
}

/**
 * The fetch of both clients. It reaches one origin only, because every request carries a token: no redirect and no link to the next
 * page leads elsewhere. A response is complete or an error, so that a broken connection never passes for an empty list.
 * Repeated reads send the ETag of the cached response and cost no quota if nothing changed.
 */
export function createWholeFetch(apiUrl: string): Fetch {
  const { origin } = new URL(apiUrl);
  const cache = new Map<string, CachedResponse>();
  return async (input, init = {}) => {
    const url = String(input instanceof Request ? input.url : input);
    if (URL.parse(url)?.origin !== origin) throw new TypeError(`${URL.parse(url)?.host ?? url} is not ${origin}`);
    const headers = new Headers(init.headers);
    const isRead = (init.method ?? 'GET') === 'GET';
    const cached = isRead && !headers.has('if-none-match') ? cache.get(url) : undefined;
    if (cached !== undefined) headers.set('if-none-match', cached.etag);
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const response = await globalThis.fetch(url, { ...init, headers, redirect: 'manual', signal });
    const body = await response.arrayBuffer();
    const { status } = response;
    if (status === 304 && cached !== undefined) return responseOf(url, cached.body, 200, cached.headers);
    if (response.ok && !BODILESS.has(status)) requireWhole(response, body);
    const etag = response.headers.get('etag');
    if (isRead && status === 200 && etag !== null && body.byteLength <= MOST_CACHED_BYTES) {
      cache.delete(url);
      cache.set(url, { etag, body, headers: response.headers });
      const [oldest] = cache.keys();
      if (cache.size > MOST_CACHED && oldest !== undefined) cache.delete(oldest);
    }
    return responseOf(url, BODILESS.has(status) ? null : body, status, response.headers);
  };
}

/** Pagination continues from the URL of the response. */
function responseOf(url: string, body: ArrayBuffer | null, status: number, headers: Headers): Response {
  return Object.defineProperty(new Response(body, { status, headers }), 'url', { value: url });
}

function requireWhole({ headers }: Response, body: ArrayBuffer): void {
  if (body.byteLength === 0) throw new TypeError('the response is empty');
  if (!/\bjson\b/.test(headers.get('content-type') ?? '')) throw new TypeError('the response is not JSON');
}

/** From here on, the runtime's own fetch uses the proxies that the environment names. */
export function followProxies(env: Readonly<Record<string, string | undefined>>): void {
  const proxies = proxyVariables(env);
  if (proxies !== null) http.setGlobalProxyFromEnv(proxies);
}

interface LogOptions {
  host: HostName;
  what: string;
  url: string;
  /** Sent to the service's own origin only. */
  authorization: string;
  maxRetries: number;
}

const LOG_TIMEOUT_MS = 60_000;
const FIRST_RETRY_MS = 500;
const MOST_REDIRECTS = 3;
/** The failure is near the end of a log. */
const TAIL_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 128 * 1024 * 1024;

/**
 * The end of a CI log. Services redirect to a signed URL on another host, which must not receive the token. Null: the log is gone, or
 * the token may not read it.
 */
export async function fetchLog(options: LogOptions): Promise<string | null> {
  const { host, what, maxRetries } = options;
  for (let tries = 0; ; tries++) {
    let status: number | null = null;
    let cause: unknown = null;
    try {
      const response = await follow(options);
      if (response.ok) return await tailOf(response);
      ({ status } = response);
      await response.body?.cancel();
      if (status < 500 && status !== 429) return null;
    } catch (error) {
      cause = error;
    }
    if (tries < maxRetries) await sleep(FIRST_RETRY_MS * (tries + 1) ** 2);
    else {
      const detail = cause === null ? 'no response' : connectionDetail(cause);
      throw hostFailure({ host, what, status, detail, cause });
    }
  }
}

async function follow({ url: first, authorization }: LogOptions): Promise<Response> {
  const { origin } = new URL(first);
  const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
  let url = first;
  for (let redirects = 0; ; redirects++) {
    const target = new URL(url);
    const isOwn = target.origin === origin;
    if (!isOwn && target.protocol !== 'https:') throw new TypeError(`${target.host} is not reached over https`);
    const headers = { 'user-agent': 'agentos', ...(isOwn ? { authorization } : {}) };
    const response = await fetch(url, { headers, redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    if (redirects === MOST_REDIRECTS) throw new TypeError('too many redirects');
    url = new URL(location, url).href;
  }
}

async function tailOf({ body }: Response): Promise<string> {
  const tail: Uint8Array[] = [];
  let bytes = 0;
  let total = 0;
  for await (const piece of body ?? []) {
    const chunk = piece as Uint8Array;
    tail.push(chunk);
    bytes += chunk.length;
    total += chunk.length;
    while (bytes - (tail[0]?.length ?? 0) >= TAIL_BYTES) bytes -= tail.shift()?.length ?? 0;
    if (total > MOST_BYTES) break;
  }
  return Buffer.concat(tail).toString('utf8');
}
