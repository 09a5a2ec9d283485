import http from 'node:http';
import { proxyVariables } from '../core/proxy.ts';

type Fetch = typeof globalThis.fetch;

const TIMEOUT_MS = 30_000;
const MOST_CACHED = 500;
/** A page of a long list is not worth its memory. */
const MOST_CACHED_BYTES = 256 * 1024;

/** Statuses of responses that never have a body. */
const BODILESS = new Set([204, 205, 304]);

/** GitLab and proxies say how long a limit lasts, but not in GitHub's headers, which octokit waits by. */
const USUAL_LIMIT_S = 60;

/**
 * The fetch for both services. It reaches one origin only, because every request carries a token: no redirect and no link to the next
 * page leads elsewhere. A response is complete or an error, so that a broken connection never passes for an empty list.
 * Repeated reads send the ETag of the cached response and cost no quota if nothing changed.
 */
export function createWholeFetch(apiUrl: string): Fetch {
  const { origin } = new URL(apiUrl);
  const cache = new Map<string, { etag: string; body: ArrayBuffer; headers: Headers }>();
  return async (input, init = {}) => {
    const url = String(input instanceof Request ? input.url : input);
    if (URL.parse(url)?.origin !== origin) throw new TypeError(`${URL.parse(url)?.host ?? url} is not ${origin}`);
    const isRead = (init.method ?? 'GET') === 'GET';
    const cached = isRead ? cache.get(url) : undefined;
    const headers = new Headers(init.headers);
    if (cached !== undefined) headers.set('if-none-match', cached.etag);
    const response = await fetch(url, {
      ...init,
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const body = await response.arrayBuffer();
    const { status, headers: said } = response;
    if (status === 304 && cached !== undefined) return responseOf(url, cached.body, 200, cached.headers);
    if (response.ok && !BODILESS.has(status)) requireWhole(response, body);
    const etag = said.get('etag');
    if (isRead && status === 200 && etag !== null && body.byteLength <= MOST_CACHED_BYTES) {
      cache.set(url, { etag, body, headers: said });
      const [oldest] = cache.keys();
      if (cache.size > MOST_CACHED && oldest !== undefined) cache.delete(oldest);
    }
    return responseOf(url, BODILESS.has(status) ? null : body, status, status === 429 ? limitHeaders(said) : said);
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

function limitHeaders(given: Headers): Headers {
  const headers = new Headers(given);
  if (headers.has('x-ratelimit-remaining')) return headers;
  const endsMs = Date.now() + (Number(headers.get('retry-after')) || USUAL_LIMIT_S) * 1_000;
  headers.set('x-ratelimit-remaining', '0');
  headers.set('x-ratelimit-reset', String(Math.floor(endsMs / 1_000)));
  return headers;
}

const LOG_TIMEOUT_MS = 60_000;
/** The failure is near the end of a log. */
const TAIL_BYTES = 4 * 1024 * 1024;

/**
 * The fetch for a CI log. Services redirect to a signed URL, mostly on another host, which must not receive the token. The response
 * holds the end of the log.
 */
export async function fetchLog(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const own = new URL(String(input instanceof Request ? input.url : input));
  const signal = AbortSignal.timeout(LOG_TIMEOUT_MS);
  let response = await fetch(own, { ...init, redirect: 'manual', signal });
  const location = response.headers.get('location');
  if (location !== null) {
    const stored = new URL(location, own);
    if (stored.origin !== own.origin && stored.protocol !== 'https:')
      throw new TypeError(`${stored.host} is not reached over https`);
    response = await fetch(stored, { redirect: 'error', signal });
  }
  return response.ok ? new Response(await tailOf(response), { headers: { 'content-type': 'text/plain' } }) : response;
}

async function tailOf({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const tail: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    const chunk = piece as Uint8Array;
    tail.push(chunk);
    bytes += chunk.length;
    while (bytes - (tail[0]?.length ?? 0) >= TAIL_BYTES) bytes -= tail.shift()?.length ?? 0;
  }
  return Buffer.concat(tail);
}

/** From here on, the runtime's own fetch uses the proxies that the environment names. */
export function followProxies(env: Readonly<Record<string, string | undefined>>): void {
  const proxies = proxyVariables(env);
  if (proxies !== null) http.setGlobalProxyFromEnv(proxies);
}
