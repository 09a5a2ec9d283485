import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** Who may ask. */
export interface Session {
  /** Why a request is refused, signed in or not; null: it is not. */
  refusal(request: IncomingMessage): string | null;
  isSignedIn(request: IncomingMessage): boolean;
  /** The cookie for one who knows the token, or a key that was not used before; null: neither. */
  cookieFor(token: string): string | null;
  /** A key that signs in once, for a command line that others can read. */
  oneTimeKey(): string;
}

export interface SessionOptions {
  token: string;
  port: number;
  /** Names that the server may be called by; null: any, because it listens on every address. */
  hosts: readonly string[] | null;
}

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * The token comes in the fragment of the address, which browsers never send, and is exchanged for a cookie that no script can
 * read and no other site can use. A page of another site is kept out by its origin; one that pretends to be this machine by
 * its name (DNS rebinding), by the name that the browser asks for.
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
      // A link on another site may lead to the page itself, which says nothing without the cookie.
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

/** Takes as long whatever differs. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHmac('sha256', 'compare').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
