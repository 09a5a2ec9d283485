import { setTimeout as sleep } from 'node:timers/promises';
import type { HostName } from '../core/remote.ts';
import { connectionDetail, hostFailure } from './failure.ts';

interface LogOptions {
  host: HostName;
  /** For messages. */
  what: string;
  url: string;
  /** The token, for the service's own host and for no other. */
  authorization: string;
  maxRetries: number;
}

const TIMEOUT_MS = 60_000;
const FIRST_RETRY_MS = 500;
const MOST_REDIRECTS = 3;
/** What failed is near the end of a log. */
const KEPT_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 128 * 1024 * 1024;

/**
 * The end of a log of CI. Services keep logs elsewhere and redirect there, with an address that is a key by itself: the token does
 * not go along. Null: it is not there any more, or the token may not read it.
 */
export async function fetchLog(options: LogOptions): Promise<string | null> {
  const { host, what, maxRetries } = options;
  for (let tries = 0; ; tries++) {
    let status: number | null = null;
    let cause: unknown = null;
    try {
      const response = await follow(options);
      if (response.ok) return await endOf(response);
      ({ status } = response);
      await response.body?.cancel();
      if (status < 500 && status !== 429) return null;
    } catch (error) {
      cause = error;
    }
    if (tries < maxRetries) await sleep(FIRST_RETRY_MS * (tries + 1) ** 2);
    else {
      const detail = cause === null ? 'no answer' : connectionDetail(cause);
      throw hostFailure({ host, what, isWrite: false, status, headers: {}, detail, cause });
    }
  }
}

async function follow({ url: first, authorization }: LogOptions): Promise<Response> {
  const { origin } = new URL(first);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
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

async function endOf({ body }: Response): Promise<string> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  let total = 0;
  for await (const piece of body ?? []) {
    const chunk = piece as Uint8Array;
    kept.push(chunk);
    bytes += chunk.length;
    total += chunk.length;
    while (bytes - (kept[0]?.length ?? 0) >= KEPT_BYTES) bytes -= kept.shift()?.length ?? 0;
    if (total > MOST_BYTES) break;
  }
  return Buffer.concat(kept).toString('utf8');
}
