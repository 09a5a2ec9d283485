import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck/light.js';
import { z } from 'zod';
import { formatDuration } from '../core/duration.ts';
import { AgentosError, usageError } from '../core/errors.ts';
import { createWholeFetch, fetchLog } from './fetch.ts';
import {
  connectionDetail,
  type HostOptions,
  hostFailure,
  orElse,
  parseResponse,
  type RepositoryFacts,
} from './port.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** `what`: the request in words that follow "may not" and "refused to". */
export interface Ask {
  what: string;
  route: string;
  parameters?: Parameters;
}

/** GitHub's REST API, parsed with schemas. Reads are retried, writes never: see `forge/port.ts`. */
export interface GitHubClient {
  readonly options: HostOptions;
  get<T>(ask: Ask, schema: z.ZodType<T>): Promise<T>;
  /** Returns a redirect instead of following it. */
  find<T>(ask: Ask, schema: z.ZodType<T>): Promise<{ value: T } | { status: number; location: string | null }>;
  /** All pages, or as many as contain `most.count` wanted entries. */
  list<T>(ask: Ask, schema: z.ZodType<T>, most?: { count: number; isWanted: (one: T) => boolean }): Promise<T[]>;
  send<T>(ask: Ask, schema: z.ZodType<T>): Promise<T>;
  graphql<T>(what: string, query: string, variables: Parameters, schema: z.ZodType<T>): Promise<T>;
  /** A CI log; null: it is gone, or the token may not read it. */
  log(ask: Ask): Promise<string | null>;
  /** A mark that changes when the response does. A response that did not change since `last` costs no quota. */
  mark(ask: Ask, last: string | null): Promise<string>;
  repository(path: string): Promise<RepositoryFacts>;
  /** The user of the token; null: the token of an app has none. */
  viewer(): Promise<string | null>;
  /** Whether a post may be ours: by the token's user, or by a bot if the token has no user. */
  isOwn(by: z.infer<typeof user> | null | undefined): Promise<boolean>;
}

const user = z.looseObject({ login: z.string(), type: z.string().optional() });

/** Builds requests below a repository, by its current path: `GET /issues` reads its issues. */
export function repositoryAsk(client: GitHubClient, path: string) {
  return async (route: string, what: string, parameters: Parameters = {}): Promise<Ask> => {
    const [owner, repo] = (await client.repository(path)).path.split('/');
    const [method = '', rest = ''] = route.split(' ');
    return { what, route: `${method} /repos/{owner}/{repo}${rest}`, parameters: { owner, repo, ...parameters } };
  };
}

/** The largest page that GitHub allows. */
const PAGE = { per_page: 100 };

/** GitHub's names for people who belong to a repository. */
export const TRUSTED: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** The delay grows with the square of the tries, from here. */
const FIRST_RETRY_MS = 500;
const NOT_RETRIED = [400, 401, 403, 404, 409, 410, 422, 429, 451];
/** GitHub accepts a burst of posts, and asks that more are spread out. */
const WRITES_AT_ONCE = 20;
const WRITE_EVERY_MS = 1_000;
const MOST_LIMIT_WAITS = 3;

const Client = Octokit.plugin(paginateRest, retry, throttling);

export function createGitHubClient(options: HostOptions): GitHubClient {
  const { apiUrl, token, maxRetries, maxWaitMs, onWait } = options;
  const waits =
    (kind: string) =>
    (seconds: number, _request: unknown, _octokit: unknown, count: number): boolean => {
      const isShort = seconds * 1_000 <= maxWaitMs && count < MOST_LIMIT_WAITS;
      if (isShort) onWait(`GitHub: the ${kind} limit is reached, waiting ${formatDuration(seconds * 1_000)}.`);
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
  octokit.hook.before('request', async (request) => {
    request.headers.authorization ??= `Bearer ${(await token()).reveal()}`;
    request.headers['x-github-api-version'] = '2022-11-28';
  });

  const request = async (ask: Ask, more: Parameters = {}) => {
    const isWrite = !ask.route.startsWith('GET ');
    const once = isWrite ? { request: { retries: 0 } } : {};
    try {
      return await octokit.request(ask.route, { ...ask.parameters, ...once, ...more });
    } catch (error) {
      throw failureOf(ask.what, isWrite, error);
    }
  };
  const parsed = <T>(ask: Ask, schema: z.ZodType<T>, data: unknown): T => parseResponse('github', ask, schema, data);
  const find: GitHubClient['find'] = async (ask, schema) => {
    const { status, headers, data } = await request(ask);
    if (status >= 300) return { status, location: headers.location ?? null };
    return { value: parsed(ask, schema, data) };
  };
  const repositories = new Map<string, Promise<RepositoryFacts>>();
  let viewer: Promise<string | null> | null = null;

  const client: GitHubClient = {
    options,
    find,
    async get(ask, schema) {
      const found = await find(ask, schema);
      if ('value' in found) return found.value;
      throw hostFailure({ host: 'github', what: ask.what, status: found.status, detail: 'it has moved' });
    },
    async list(ask, schema, most) {
      const pageOf = (data: unknown, status: number) => {
        if (status >= 300) throw Object.assign(new Error('it has moved'), { status });
        if (isCutShort(data)) throw new Error('the search took too long, and not everything was found');
        return parsed(ask, z.array(schema), itemsIn(data));
      };
      const parameters = { ...PAGE, ...ask.parameters };
      const all = [];
      try {
        let wanted = 0;
        for await (const { data, status, headers } of octokit.paginate.iterator(ask.route, parameters)) {
          const page = pageOf(data, status);
          all.push(...page);
          if (most === undefined) {
            const last = Number(/[?&]page=(\d+)[^>]*>;\s*rel="last"/.exec(headers.link ?? '')?.[1] ?? 0);
            // The remaining pages of a long list are read in parallel.
            requireShown(data, last * parameters.per_page);
            if (last <= 2) continue;
            const others = Array.from({ length: last - 1 }, async (_, index) => {
              const other = await octokit.request(ask.route, { ...parameters, page: index + 2 });
              return pageOf(other.data, other.status);
            });
            return [...all, ...(await Promise.all(others)).flat()];
          }
          wanted += page.filter((one) => most.isWanted(one)).length;
          if (wanted >= most.count) break;
        }
      } catch (error) {
        throw error instanceof AgentosError ? error : failureOf(ask.what, false, error);
      }
      return all;
    },
    send: async (ask, schema) => parsed(ask, schema, (await request(ask)).data ?? null),
    async graphql(what, query, variables, schema) {
      try {
        return parsed({ what, route: 'GET ' }, schema, await octokit.graphql(query, { ...variables }));
      } catch (error) {
        throw error instanceof AgentosError ? error : failureOf(what, false, error);
      }
    },
    async log({ what, route, parameters }) {
      const { url } = octokit.request.endpoint(route, { baseUrl: apiUrl, ...parameters });
      const authorization = `Bearer ${(await token()).reveal()}`;
      return fetchLog({ host: 'github', what, url, authorization, maxRetries });
    },
    async mark(ask, last) {
      try {
        const headers = last === null ? {} : { headers: { 'if-none-match': last } };
        const response = await octokit.request(ask.route, { ...ask.parameters, ...headers });
        return response.headers.etag ?? String(Date.now());
      } catch (error) {
        if (last !== null && statusOf(error) === 304) return last;
        throw failureOf(ask.what, false, error);
      }
    },
    repository(path) {
      const known = repositories.get(path) ?? readRepository(client, path);
      repositories.set(path, known);
      return known;
    },
    viewer() {
      const login = () => client.get({ what: 'read whose token it is', route: 'GET /user' }, user);
      return (viewer ??= orElse(login(), null, ['host-scope-missing', 'host-not-found']).then(
        (found) => found?.login ?? null,
      ));
    },
    async isOwn(by) {
      const own = await client.viewer();
      return own === null ? by?.type === 'Bot' : by?.login === own;
    },
  };
  return client;
}

const repositorySchema = z.looseObject({
  full_name: z.string(),
  html_url: z.string().optional(),
  default_branch: z.string(),
  archived: z.boolean().default(false),
  permissions: z.looseObject({ push: z.boolean() }).optional(),
});

/** GitHub redirects from a repository's former name to the current one. */
async function readRepository(client: GitHubClient, path: string): Promise<RepositoryFacts> {
  const what = `read repository ${path}`;
  const [owner, repo] = path.split('/');
  const asked = { what, route: 'GET /repos/{owner}/{repo}', parameters: { owner, repo } };
  let found = await client.find(asked, repositorySchema);
  if (!('value' in found) && found.location !== null) {
    found = await client.find({ what, route: `GET ${found.location}` }, repositorySchema);
  }
  if (!('value' in found)) throw hostFailure({ host: 'github', what, status: found.status, detail: 'it has moved' });
  const { full_name, html_url, default_branch, archived, permissions } = found.value;
  return {
    path: full_name,
    webUrl: html_url ?? `https://github.com/${full_name}`,
    defaultBranch: default_branch,
    isArchived: archived,
    canPush: permissions?.push ?? null,
  };
}

/** The response to a search has its entries in a field. */
function itemsIn(data: unknown): unknown {
  return z.looseObject({ items: z.array(z.unknown()) }).safeParse(data).data?.items ?? data;
}

function isCutShort(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'incomplete_results' in data && data.incomplete_results === true;
}

/** A search returns its first thousand results only; the others must not pass for absent. */
function requireShown(data: unknown, shown: number): void {
  const total = z.looseObject({ total_count: z.int() }).safeParse({ ...(data as object) }).data?.total_count ?? 0;
  if (shown === 0 || total <= shown) return;
  throw usageError(
    `The search finds ${total} issues, of which GitHub shows ${shown}.`,
    'Narrow it with --query, or say how many are wanted with --limit.',
  );
}

function statusOf(error: unknown): number | null {
  const isNumbered =
    typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number';
  return isNumbered ? Number(error.status) : null;
}

interface Answered {
  response?: { headers?: Record<string, string>; data?: unknown };
}

function failureOf(what: string, isWrite: boolean, error: unknown): AgentosError {
  if (error instanceof AgentosError) return error;
  const { response } = error as Answered;
  // octokit reports a missing response as status 500.
  const status = response === undefined ? null : statusOf(error);
  const said = z.looseObject({ message: z.string() }).safeParse(response?.data).data?.message;
  const detail = said ?? connectionDetail(error);
  return hostFailure({ host: 'github', what, isWrite, status, headers: response?.headers ?? {}, detail, cause: error });
}
