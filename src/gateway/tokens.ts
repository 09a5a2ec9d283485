import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What a token stands for: one attempt at one item. */
export interface Grant {
  item: string;
  /** On the gateway's clock: no wait goes beyond it. */
  deadlineMs?: number | null | undefined;
}

export interface TokenBook {
  issue(grant: Grant): string;
  revoke(token: string): void;
  /** The grant of the first known token among those that the request carries. */
  find(tokens: readonly string[]): Grant | null;
}

export function createTokenBook(): TokenBook {
  const grants = new Map<string, Grant>();
  return {
    issue(grant) {
      const token = `agentos-${randomBytes(24).toString('base64url')}`;
      grants.set(token, grant);
      return token;
    },
    revoke: (token) => void grants.delete(token),
    find: (tokens) => tokens.map((token) => grants.get(token)).find((grant) => grant !== undefined) ?? null,
  };
}

/** Where the clients of each vendor put their key. */
export function tokensOf(headers: IncomingHttpHeaders, url: URL): string[] {
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  return [headers['x-api-key'], bearer, headers['x-goog-api-key'], ...url.searchParams.getAll('key')]
    .flatMap((value) => value ?? [])
    .map((value) => value.trim());
}
