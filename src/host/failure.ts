import { AgentosError, codeOf, type ErrorCode, originOf, type Problem, systemCode } from '../core/errors.ts';
import { oneLine } from '../core/lines.ts';
import type { HostName } from '../core/remote.ts';

/** A request that failed. */
interface Refusal {
  host: HostName;
  /** The request in words that follow "may not" and "refused to": `comment on #12`. */
  what: string;
  /** A write whose response was lost may have happened, so it must not be retried blindly. */
  isWrite?: boolean;
  /** Null: no response at all. */
  status?: number | null;
  headers?: Readonly<Record<string, string | number | undefined>>;
  /** The service's message, or why there was no response. */
  detail: string;
  cause?: unknown;
}

const LONGEST_DETAIL = 300;

export function hostFailure(refusal: Refusal): AgentosError {
  return new AgentosError(problemOf(refusal), { cause: refusal.cause });
}

/** Decided by status and headers, never by words. Short rate limits were waited for already and don't end up here. */
function problemOf({ host, what, isWrite, status = null, headers = {}, detail: said }: Refusal): Problem {
  const detail = oneLine(said).slice(0, LONGEST_DETAIL) || 'it does not say why';
  const forMs = limitMs(headers);
  if (status === 401) return { code: 'host-token-rejected', host, detail };
  if (status === 429 || (status === 403 && forMs !== null)) return { code: 'host-limited', host, forMs, detail };
  if (status === 403) return { code: 'host-scope-missing', host, what, needs: neededScopes(headers), detail };
  // `read issue 12 of acme/widget` → `issue 12 of acme/widget`.
  if (status === 404) return { code: 'host-not-found', host, what: what.slice(what.indexOf(' ') + 1) };
  if (status !== null && status < 500) return { code: 'host-refused', host, what, status, detail };
  if (isWrite) return { code: 'host-uncertain', host, what, detail: status === null ? detail : `${status} ${detail}` };
  return { code: 'host-unreachable', host, status, detail };
}

/** How long the rate limit lasts; null: the headers name none. */
function limitMs(headers: NonNullable<Refusal['headers']>): number | null {
  const retryAfter = Number(headers['retry-after']);
  if (retryAfter > 0) return retryAfter * 1_000;
  if (String(headers['x-ratelimit-remaining']) !== '0') return null;
  return Math.max(0, Number(headers['x-ratelimit-reset']) * 1_000 - Date.now());
}

/** A fine-grained token lacks `issues: write`, a classic one lacks one of several scopes. */
function neededScopes(headers: NonNullable<Refusal['headers']>): string[] {
  const words = (name: string): string[] =>
    String(headers[name] ?? '')
      .split(/[;,]/)
      .map((word) => word.trim().replace('=', ': '))
      .filter((word) => word !== '');
  const permissions = words('x-accepted-github-permissions');
  if (permissions.length > 0) return permissions;
  const held = new Set(words('x-oauth-scopes'));
  return words('x-accepted-oauth-scopes').filter((scope) => !held.has(scope));
}

/** Why there was no response. */
export function connectionDetail(error: unknown): string {
  const origin = originOf(error);
  const message = origin instanceof Error ? origin.message : String(origin);
  const code = systemCode(origin);
  return code === null || message.includes(code) ? message : `${code}: ${message}`;
}

/** The fallback if the request fails with one of these codes. */
export async function orElse<T, U>(
  request: Promise<T>,
  fallback: U,
  codes: readonly ErrorCode[] = ['host-not-found'],
): Promise<T | U> {
  return request.catch((error: unknown) => {
    if (!codes.some((code) => code === codeOf(error))) throw error;
    return fallback;
  });
}
