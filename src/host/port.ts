import type { z } from 'zod';
import { AgentosError, codeOf, type ErrorCode, type Problem, systemCode } from '../core/errors.ts';
import { oneLine } from '../core/lines.ts';
import type { HostName } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';

export interface HostOptions {
  apiUrl: string;
  /** The token belongs to a GitHub App. */
  isApp: boolean;
  token: () => Promise<Secret>;
  /** How often a read is retried. Writes are never retried. */
  maxRetries: number;
  /** A rate limit that lasts longer is an error. */
  maxWaitMs: number;
  /** Called at the start of each wait for a rate limit, with a line for the user. */
  onWait: (text: string) => void;
}

/** A repository as its service describes it. */
export interface RepositoryFacts {
  /** The current name; repositories get renamed and transferred. */
  path: string;
  webUrl: string;
  defaultBranch: string;
  isArchived: boolean;
  /** Null: the service does not say. */
  canPush: boolean | null;
}

/** A request that failed. */
interface Refusal {
  host: HostName;
  /** The request in words that follow "may not" and "refused to": `comment on #12`. */
  what: string;
  /** A write whose response was lost may have happened, so it must not be retried blindly. */
  isWrite?: boolean;
  /** Null: no response at all. */
  status?: number | null;
  headers?: ResponseHeaders;
  /** The service's message, or why there was no response. */
  detail: string;
  cause?: unknown;
}

type ResponseHeaders = Readonly<Record<string, string | number | undefined>>;

const LONGEST_DETAIL = 300;

/** Classified by status and headers, never by words. Short rate limits were waited for already and don't end up here. */
export function hostFailure(refusal: Refusal): AgentosError {
  return new AgentosError(problemOf(refusal), { cause: refusal.cause });
}

function problemOf({ host, what, isWrite, status = null, headers = {}, detail: said }: Refusal): Problem {
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

/** `read issue 12 of acme/widget` → `issue 12 of acme/widget`. */
function thingOf(what: string): string {
  return what.slice(what.indexOf(' ') + 1);
}

/** How long the rate limit lasts; null: the headers name none. */
function limitMs(headers: ResponseHeaders): number | null {
  const retryAfter = Number(headers['retry-after']);
  if (retryAfter > 0) return retryAfter * 1_000;
  const remaining = headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'];
  if (String(remaining) !== '0') return null;
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  return Math.max(0, reset * 1_000 - Date.now());
}

/** A fine-grained token lacks `issues: write`, a classic one lacks one of several scopes. */
function neededScopes(headers: ResponseHeaders): string[] {
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

/** The message of fetch is only "fetch failed"; the innermost cause says why. */
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

/** Parses a response; one of an unexpected form is a failed request. */
export function parseResponse<T>(
  host: HostName,
  { what, route }: { what: string; route: string },
  schema: z.ZodType<T>,
  data: unknown,
): T {
  const result = schema.safeParse(data);
  if (result.success) return result.data;
  const detail = `${what}: unexpected response (${result.error.issues[0]?.path.join('.') ?? ''})`;
  throw hostFailure({ host, what, isWrite: !route.startsWith('GET '), detail, cause: result.error });
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

/** Throws unless issues and comments can be written there. */
export function requireActive(host: HostName, { isArchived, path }: RepositoryFacts): void {
  if (isArchived) throw new AgentosError({ code: 'host-archived', host, repository: path });
}

/** Throws unless branches can be pushed there. `missing`: what the token or its user lacks if they can't. */
export function requirePush(
  host: HostName,
  facts: RepositoryFacts,
  missing: { needs: string[]; detail: string },
): void {
  requireActive(host, facts);
  if (facts.canPush !== false) return;
  throw new AgentosError({ code: 'host-scope-missing', host, what: `push to ${facts.path}`, ...missing });
}
