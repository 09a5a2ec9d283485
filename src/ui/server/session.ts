import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Access control. */
export interface Session {
  /** Why a request is refused even with a valid cookie; null: it is not. */
  refusal(request: IncomingMessage): string | null;
  isSignedIn(request: IncomingMessage): boolean;
  /** The cookie in exchange for the token or an unused one-time key; null: it is neither. */
  cookieFor(token: string): string | null;
  /** A key that works once, for a command line that others can read. */
  oneTimeKey(): string;
}

export interface SessionOptions {
  token: string;
  port: number;
  /** The accepted host names; null: any, because the server listens on every address. */
  hosts: readonly string[] | null;
}

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The token is in the fragment of the URL, which browsers never send, and is exchanged for a cookie that no script can read and no
 * other site can use. Requests of other sites are refused by their origin, and DNS rebinding by the Host header.
 */
export function createSession({ token, port, hosts }: SessionOptions): Session {
  const name = `agentos-ui-${port}`;
  const value = createHmac('sha256', token).update('session').digest('base64url');
  const keys = new Set<string>();
  const isOurs = (host: string): boolean => {
    const called = host.replace(/:\d+$/, '').toLowerCase();
    return hosts === null ? /^[\w.:[\]-]+$/.test(called) : hosts.some((one) => one === called);
  };
  return {
    refusal({ method, headers }) {
      const { host = '', origin } = headers;
      if (!isOurs(host)) return `This server does not answer to the name ${JSON.stringify(host)}.`;
      const site = headers['sec-fetch-site'];
      const isForeign =
        (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) ||
        site === 'cross-site' ||
        site === 'same-site';
      // Another site may link to the page itself, which contains no data.
      const isNavigation = method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && origin === undefined;
      if (isForeign && !isNavigation) return 'Requests from other sites are refused.';
      if (method === 'POST' && origin === undefined) return 'A request that changes something has to name its origin.';
      return null;
    },
    isSignedIn: ({ headers }) => {
      const cookies = (headers.cookie ?? '').split(/;\s*/);
      return cookies.some((cookie) => isSame(cookie, `${name}=${value}`));
    },
    cookieFor(given) {
      const isKnown = isSame(given, token) || keys.delete(given);
      return isKnown ? `${name}=${value}; Path=/; HttpOnly; SameSite=Strict` : null;
    },
    oneTimeKey() {
      const key = newToken();
      keys.add(key);
      return key;
    },
  };
}

/** In constant time. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHmac('sha256', 'compare').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
