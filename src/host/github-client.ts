import { Octokit } from '@octokit/core';
import { paginateRest } from '@octokit/plugin-paginate-rest';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck/light.js';
import { z } from 'zod';
import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import { connectionDetail, hostFailure } from './failure.ts';
import { fetchLog } from './log-fetch.ts';
import type { HostOptions, RepositoryFacts } from './port.ts';
import { createWholeFetch } from './whole-fetch.ts';

type Parameters = Readonly<Record<string, unknown>>;

/** What is asked for; to follow "may not" and "refused to". */
export interface Ask {
  what: string;
  route: string;
  parameters?: Parameters;
}

/** GitHub's REST interface, read through schemas. Reads are repeated, writes never: see `forge/port.ts`. */
export interface GitHubClient {
  readonly options: HostOptions;
  get<T>(ask: Ask, schema: z.ZodType<T>): Promise<T>;
  /** The answer's own status; redirects are not followed. */
  find<T>(ask: Ask, schema: z.ZodType<T>): Promise<{ value: T } | { status: number; location: string | null }>;
  /** Every page, or as many as it takes for `most` entries that are wanted. */
  list<T>(ask: Ask, schema: z.ZodType<T>, most?: { count: number; isWanted: (one: T) => boolean }): Promise<T[]>;
  send<T>(ask: Ask, schema: z.ZodType<T>): Promise<T>;
  graphql<T>(what: string, query: string, variables: Parameters, schema: z.ZodType<T>): Promise<T>;
  /** A log of CI; null: it is not there, or the token may not read it. */
  log(ask: Ask): Promise<string | null>;
  /** Another mark than the last one where the answer is another; costs nothing where it is not. */
  mark(ask: Ask, last: string | null): Promise<string>;
  repository(path: string): Promise<RepositoryFacts>;
}

/** Pages that are as large as they may be. */
export const PAGE = { per_page: 100 };

/** What GitHub calls people who belong to a repository. */
export const TRUSTED: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** `retryAfter` grows with the square of the tries, from here. */
const FIRST_RETRY_MS = 500;
const NOT_REPEATED = [400, 401, 403, 404, 409, 410, 422, 429, 451];
/** A few posts at once are fine; many are spread, as GitHub asks for. */
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
    retry: { retries: maxRetries, retryAfterBaseValue: FIRST_RETRY_MS, doNotRetry: NOT_REPEATED },
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
  const parsed = <T>({ what, route }: Ask, schema: z.ZodType<T>, data: unknown): T => {
    const result = schema.safeParse(data);
    if (result.success) return result.data;
    const detail = `${what}: an answer of another form (${result.error.issues[0]?.path.join('.') ?? ''})`;
    const isWrite = !route.startsWith('GET ');
    throw hostFailure({ host: 'github', what, isWrite, status: null, headers: {}, detail, cause: result.error });
  };
  const find: GitHubClient['find'] = async (ask, schema) => {
    const { status, headers, data } = await request(ask);
    if (status >= 300) return { status, location: headers.location ?? null };
    return { value: parsed(ask, schema, data) };
  };
  const repositories = new Map<string, Promise<RepositoryFacts>>();

  const client: GitHubClient = {
    options,
    find,
    async get(ask, schema) {
      const found = await find(ask, schema);
      if ('value' in found) return found.value;
      const { status } = found;
      throw hostFailure({
        host: 'github',
        what: ask.what,
        isWrite: false,
        status,
        headers: {},
        detail: 'it has moved',
        cause: null,
      });
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
            // Of a long list the rest is asked for at the same time.
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
        const { headers: answer } = await octokit.request(ask.route, { ...ask.parameters, ...headers });
        return answer.etag ?? String(Date.now());
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

/** Under its present name: GitHub answers for an old one with where it is now. */
async function readRepository(client: GitHubClient, path: string): Promise<RepositoryFacts> {
  const what = `read repository ${path}`;
  const [owner, repo] = path.split('/');
  const asked = { what, route: 'GET /repos/{owner}/{repo}', parameters: { owner, repo } };
  let found = await client.find(asked, repositorySchema);
  if (!('value' in found) && found.location !== null) {
    found = await client.find({ what, route: `GET ${found.location}` }, repositorySchema);
  }
  if (!('value' in found)) {
    const { status } = found;
    throw hostFailure({
      host: 'github',
      what,
      isWrite: false,
      status,
      headers: {},
      detail: 'it has moved',
      cause: null,
    });
  }
  const { full_name, html_url, default_branch, archived, permissions } = found.value;
  return {
    path: full_name,
    webUrl: html_url ?? `https://github.com/${full_name}`,
    defaultBranch: default_branch,
    isArchived: archived,
    canPush: permissions?.push ?? null,
  };
}

/** A search has its entries in a field. */
function itemsIn(data: unknown): unknown {
  return z.looseObject({ items: z.array(z.unknown()) }).safeParse(data).data?.items ?? data;
}

function isCutShort(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'incomplete_results' in data && data.incomplete_results === true;
}

/** A search shows its first thousand alone: what it leaves out must not pass for absent. */
function requireShown(data: unknown, shown: number): void {
  const total = z.looseObject({ total_count: z.int() }).safeParse({ ...(data as object) }).data?.total_count ?? 0;
  if (shown === 0 || total <= shown) return;
  throw new AgentosError({
    code: 'usage',
    reason: `The search finds ${total} issues, of which GitHub shows ${shown}.`,
    hint: 'Narrow it with --query, or say how many are wanted with --limit.',
  });
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
  // octokit gives 500 to a request that was not answered.
  const status = response === undefined ? null : statusOf(error);
  const said = z.looseObject({ message: z.string() }).safeParse(response?.data).data?.message;
  const detail = said ?? connectionDetail(error);
  return hostFailure({ host: 'github', what, isWrite, status, headers: response?.headers ?? {}, detail, cause: error });
}
