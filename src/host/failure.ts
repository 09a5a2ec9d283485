import { AgentosError, type Problem, systemCode } from '../core/errors.ts';
import { oneLine } from '../core/lines.ts';
import type { HostName } from '../core/remote.ts';

/** A request that a service did not answer with success. */
export interface Refusal {
  host: HostName;
  /** What was asked for, to follow "may not" and "refused to": `comment on #12`. */
  what: string;
  /** A write may have been carried out although its answer was lost; it is not repeated blindly. */
  isWrite: boolean;
  /** Null: there was no answer at all. */
  status: number | null;
  headers: Readonly<Record<string, string | number | undefined>>;
  /** What the service says, or why there was no answer. */
  detail: string;
  cause: unknown;
}

const LONGEST_DETAIL = 300;

/** By status and headers, never by words. The service's limits are waited for elsewhere: here the wait would be too long. */
export function hostFailure(refusal: Refusal): AgentosError {
  return new AgentosError(problemOf(refusal), { cause: refusal.cause });
}

function problemOf({ host, what, isWrite, status, headers, detail: said }: Refusal): Problem {
  const detail = oneLine(said).slice(0, LONGEST_DETAIL) || 'it does not say why';
  const forMs = limitMs(headers);
  if (status === 401) return { code: 'host-token-rejected', host, detail };
  if (status === 429 || (status === 403 && forMs !== null)) return { code: 'host-limited', host, forMs, detail };
  if (status === 403) return { code: 'host-scope-missing', host, what, needs: neededScopes(headers), detail };
  if (status === 404) return { code: 'host-not-found', host, what: thingOf(what) };
  if (status !== null && status < 500) return { code: 'host-refused', host, what, status, detail };
  if (isWrite) return { code: 'host-uncertain', host, what, detail: status === null ? detail : `${status} ${detail}` };
  return { code: 'host-unreachable', host, status, detail };
}

/** `read issue 12 of acme/widget` is about `issue 12 of acme/widget`. */
function thingOf(what: string): string {
  return what.slice(what.indexOf(' ') + 1);
}

/** How long a limit lasts; null: no limit is the reason. */
function limitMs(headers: Refusal['headers']): number | null {
  const retryAfter = Number(headers['retry-after']);
  if (retryAfter > 0) return retryAfter * 1_000;
  const remaining = headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'];
  if (String(remaining) !== '0') return null;
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  return Math.max(0, reset * 1_000 - Date.now());
}

/** Of a fine-grained token, `issues=write`; of a classic one, the scopes that would do. */
function neededScopes(headers: Refusal['headers']): string[] {
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

/** fetch says "fetch failed"; what failed is at the end of the causes. */
export function connectionDetail(error: unknown): string {
  let current = error;
  for (let depth = 0; depth < 5; depth++) {
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0];
    else if (current instanceof Error && current.cause !== undefined) current = current.cause;
    else break;
  }
  const message = current instanceof Error ? current.message : String(current);
  const code = systemCode(current);
  return code === null || message.includes(code) ? message : `${code}: ${message}`;
}
