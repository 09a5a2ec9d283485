import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck/light.js';
import { z } from 'zod';
import { formatDuration } from '../core/duration.ts';
import { AgentosError, usageError } from '../core/errors.ts';
import { type HostName, SERVICE_NAMES } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';
import { connectionDetail, hostFailure, orElse } from './failure.ts';
import { createWholeFetch, fetchLog } from './fetch.ts';

export interface HostOptions {
  host: HostName;
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

/** The host of a service's web pages and repositories, from its API URL. */
export function webHostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return host === 'api.github.com' ? 'github.com' : host;
}

/** What fills a route; the rest goes into the query or the body. */
export type Parameters = Readonly<Record<string, unknown>>;

/** `what`: the request in words that follow "may not" and "refused to". */
export type Request = [route: string, what: string, parameters: Parameters];

interface HostResponse {
  status: number;
  headers: { location?: string | undefined };
  data: unknown;
}

/** The delay grows with the square of the tries, from here. */
const FIRST_RETRY_MS = 500;
const NOT_RETRIED = [400, 401, 403, 404, 409, 410, 422, 429, 451];
/** GitHub accepts a burst of posts, and asks that more are spread out. */
const WRITES_AT_ONCE = 20;
const WRITE_EVERY_MS = 1_000;
const MOST_LIMIT_WAITS = 3;
/** The largest page that the services allow. */
const PAGE = 100;

const HEADERS: Record<HostName, Record<string, string>> = {
  github: { 'x-github-api-version': '2022-11-28' },
  gitlab: { accept: 'application/json' },
};

const Client = Octokit.plugin(paginateRest, retry, throttling);

function createOctokit({ host, apiUrl, token, maxRetries, maxWaitMs, onWait }: HostOptions) {
  const waits =
    (kind: string) =>
    (seconds: number, _request: unknown, _octokit: unknown, count: number): boolean => {
      const isShort = seconds * 1_000 <= maxWaitMs && count < MOST_LIMIT_WAITS;
      if (isShort)
        onWait(`${SERVICE_NAMES[host]}: the ${kind} limit is reached, waiting ${formatDuration(seconds * 1_000)}.`);
      return isShort;
    };
  const silent = (): void => undefined;
  const throttle = {
    onRateLimit: waits('rate'),
    onSecondaryRateLimit: waits('secondary rate'),
    triggersNotification: () => false,
    write: new Bottleneck.Group({
      reservoir: WRITES_AT_ONCE,
      reservoirIncreaseAmount: 1,
      reservoirIncreaseInterval: WRITE_EVERY_MS,
      reservoirIncreaseMaximum: WRITES_AT_ONCE,
    }),
  };
  const octokit = new Client({
    baseUrl: apiUrl,
    userAgent: 'agentos',
    log: { debug: silent, info: silent, warn: silent, error: silent },
    request: { fetch: createWholeFetch(apiUrl) },
    retry: { retries: maxRetries, retryAfterBaseValue: FIRST_RETRY_MS, doNotRetry: NOT_RETRIED },
    throttle,
  });
  octokit.hook.before('request', async ({ headers }) => {
    headers.authorization ??= `Bearer ${(await token()).reveal()}`;
    Object.assign(headers, HEADERS[host]);
  });
  return octokit;
}

/** The API of GitHub or GitLab, over octokit. Reads are retried, writes never: see `forge/port.ts`. */
export function createHostClient(options: HostOptions) {
  const { host } = options;
  const octokit = createOctokit(options);

  /** Returns a redirect instead of following it. */
  async function request([route, what, parameters]: Request, more = {}): Promise<HostResponse> {
    const isWrite = !route.startsWith('GET ');
    try {
      return await octokit.request(route, { ...parameters, request: { ...(isWrite ? { retries: 0 } : {}), ...more } });
    } catch (error) {
      throw failureOf(host, what, isWrite, error);
    }
  }

  /** In some responses, the entries are in a field beside their count. */
  function pageOf(what: string, response: HostResponse): HostResponse {
    // octokit's pages read a conflict as an empty list, without an address.
    if (!('url' in response)) throw hostFailure({ host, what, status: 409, detail: 'there is a conflict' });
    if (countsIn(response.data).incomplete_results === true)
      throw hostFailure({ host, what, detail: 'the search took too long, and not everything was found' });
    const lists = [response.data, ...Object.values({ ...(response.data as object) })];
    return { ...response, data: lists.find((one) => Array.isArray(one)) };
  }

  return {
    request,
    /** The pages of a list. `isWhole`: all are needed, so those of a long list are read in parallel. */
    async *pages([route, what, parameters]: Request, isWhole: boolean): AsyncGenerator<HostResponse> {
      const asked = { per_page: PAGE, ...parameters };
      try {
        for await (const response of octokit.paginate.iterator(route, asked)) {
          yield pageOf(what, response);
          if (!isWhole) continue;
          const last = Number(/[?&]page=(\d+)[^>]*>;\s*rel="last"/.exec(response.headers.link ?? '')?.[1] ?? 0);
          requireShown(countsIn(response.data).total_count ?? 0, last * PAGE);
          if (last <= 2) continue;
          const others = Array.from({ length: last - 1 }, async (_, at) =>
            pageOf(what, await octokit.request(route, { ...asked, page: at + 2 })),
          );
          yield* await Promise.all(others);
          return;
        }
      } catch (error) {
        throw failureOf(host, what, false, error);
      }
    },
    async graphql(query: string, what: string, variables: Parameters): Promise<unknown> {
      return octokit.graphql(query, variables).catch((error: unknown) => {
        throw failureOf(host, what, false, error);
      });
    },
    /** A CI log; null: it is gone, or the token may not read it. */
    async log(asked: Request): Promise<string | null> {
      const text = request(asked, { fetch: fetchLog }).then(({ data }) => String(data));
      return orElse(text, null, ['host-not-found', 'host-scope-missing', 'host-token-rejected', 'host-refused']);
    },
  };
}

const counts = z.looseObject({ total_count: z.int().optional(), incomplete_results: z.boolean().optional() });

/** octokit keeps them as fields of the list. */
function countsIn(data: unknown): z.infer<typeof counts> {
  return counts.safeParse({ ...(data as object) }).data ?? {};
}

/** A search returns its first thousand results only; the others must not pass for absent. */
function requireShown(total: number, shown: number): void {
  if (shown === 0 || total <= shown) return;
  throw usageError(
    `The search finds ${total} issues, of which GitHub shows ${shown}.`,
    'Narrow it with --query, or say how many are wanted with --limit.',
  );
}

const saying = z.looseObject({ message: z.unknown(), error: z.unknown(), scope: z.string().optional() }).partial();

function failureOf(host: HostName, what: string, isWrite: boolean, error: unknown): AgentosError {
  if (error instanceof AgentosError) return error;
  const { status, response } = error as {
    status?: number;
    response?: { headers?: Record<string, string>; data?: unknown };
  };
  const { message, error: code, scope } = saying.safeParse(response?.data).data ?? {};
  const said = message ?? code;
  return hostFailure({
    host,
    what,
    isWrite,
    // octokit reports a missing response as status 500.
    status: (response && status) ?? null,
    // GitLab names the sufficient scopes in the body.
    headers: { ...response?.headers, ...(scope && { 'x-accepted-oauth-scopes': scope.replaceAll(' ', ',') }) },
    detail: typeof said === 'string' ? said : said === undefined ? connectionDetail(error) : JSON.stringify(said),
    cause: error,
  });
}
