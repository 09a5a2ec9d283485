import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { formatDuration } from '../core/duration.ts';
import { parseJson } from '../core/json.ts';
import { connectionDetail, hostFailure } from './failure.ts';
import { fetchLog } from './log-fetch.ts';
import type { HostOptions, RepositoryFacts } from './port.ts';
import { createWholeFetch } from './whole-fetch.ts';

/** What is asked for; to follow "may not" and "refused to". */
export interface GitLabAsk {
  what: string;
  /** `GET /projects/…`, below the address of the interface. */
  route: string;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: unknown;
}

/** GitLab's REST interface, version 4, read through schemas. Reads are repeated, writes never: see `forge/port.ts`. */
export interface GitLabClient {
  readonly options: HostOptions;
  get<T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T>;
  list<T>(ask: GitLabAsk, schema: z.ZodType<T>, most?: { count: number; isWanted: (one: T) => boolean }): Promise<T[]>;
  send<T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T>;
  /** A log of CI; null: it is not there, or the token may not read it. */
  log(ask: GitLabAsk): Promise<string | null>;
  mark(ask: GitLabAsk, last: string | null): Promise<string>;
  repository(path: string): Promise<RepositoryFacts>;
}

const FIRST_RETRY_MS = 500;
const MOST_LIMIT_WAITS = 3;
const MOST_REDIRECTS = 2;

/** How a project is named in a path. */
export function projectRoute(path: string): string {
  return `/projects/${encodeURIComponent(path)}`;
}

/** Requests about a project by the path that it has now: `GET /issues` is of its issues. */
export function projectAsk(client: GitLabClient, path: string) {
  return async (route: string, what: string, more: Pick<GitLabAsk, 'query' | 'body'> = {}): Promise<GitLabAsk> => {
    const [method = '', rest = ''] = route.split(' ');
    return { what, route: `${method} ${projectRoute((await client.repository(path)).path)}${rest}`, ...more };
  };
}

export function createGitLabClient(options: HostOptions): GitLabClient {
  const { apiUrl, token, maxRetries, maxWaitMs, onWait } = options;
  const fetch = createWholeFetch(apiUrl);

  async function once(method: string, url: string, body: unknown, etag: string | null): Promise<Response> {
    const headers = new Headers({ authorization: `Bearer ${(await token()).reveal()}`, 'user-agent': 'agentos' });
    if (etag !== null) headers.set('if-none-match', etag);
    if (body === undefined) return fetch(url, { method, headers });
    headers.set('content-type', 'application/json');
    return fetch(url, { method, headers, body: JSON.stringify(body) });
  }

  /** Waits for limits, and asks again what only reads. Null: it can't wait so long, or asked too often. */
  async function pauseMs(response: Response | null, tries: number, isWrite: boolean): Promise<number | null> {
    const retryAfter = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1_000;
    if (response?.status === 429) {
      const waitMs = Number.isNaN(retryAfter) ? 60_000 : retryAfter;
      if (waitMs > maxWaitMs || tries >= MOST_LIMIT_WAITS) return null;
      onWait(`GitLab: the rate limit is reached, waiting ${formatDuration(waitMs)}.`);
      return waitMs;
    }
    const isFault = response === null || response.status >= 500;
    return isFault && !isWrite && tries < maxRetries ? FIRST_RETRY_MS * (tries + 1) ** 2 : null;
  }

  async function request({ what, route, query, body }: GitLabAsk, etag: string | null = null): Promise<Response> {
    const [method = 'GET', path = ''] = route.split(' ');
    const isWrite = method !== 'GET';
    let url = path.startsWith('http') ? path : `${apiUrl}${path}${queryOf(query)}`;
    for (let tries = 0, redirects = 0; ; ) {
      let response: Response | null = null;
      let cause: unknown = null;
      try {
        response = await once(method, url, body, etag);
      } catch (error) {
        cause = error;
      }
      const location = response?.headers.get('location');
      if (
        response !== null &&
        response.status >= 301 &&
        response.status <= 308 &&
        response.status !== 304 &&
        location
      ) {
        if (!isWrite && redirects++ < MOST_REDIRECTS) {
          url = new URL(location, url).href;
          continue;
        }
      }
      if (response !== null && (response.ok || response.status === 304)) return response;
      const waitMs = await pauseMs(response, tries, isWrite);
      if (waitMs === null) throw await refusalOf(what, isWrite, response, cause);
      tries += 1;
      await sleep(waitMs);
    }
  }

  const parsed = <T>({ what, route }: GitLabAsk, schema: z.ZodType<T>, data: unknown): T => {
    const result = schema.safeParse(data);
    if (result.success) return result.data;
    const detail = `${what}: an answer of another form (${result.error.issues[0]?.path.join('.') ?? ''})`;
    const isWrite = !route.startsWith('GET ');
    throw hostFailure({ host: 'gitlab', what, isWrite, status: null, headers: {}, detail, cause: result.error });
  };
  const repositories = new Map<string, Promise<RepositoryFacts>>();

  const client: GitLabClient = {
    options,
    get: async (ask, schema) => parsed(ask, schema, await jsonOf(await request(ask))),
    send: async (ask, schema) => parsed(ask, schema, await jsonOf(await request(ask))),
    async list(ask, schema, most) {
      const all = [];
      let next: GitLabAsk | null = { ...ask, query: { per_page: 100, ...ask.query } };
      for (let wanted = 0; next !== null; ) {
        const response = await request(next);
        const page = parsed(ask, z.array(schema), await jsonOf(response));
        all.push(...page);
        wanted += most === undefined ? 0 : page.filter((one) => most.isWanted(one)).length;
        if (most !== undefined && wanted >= most.count) break;
        const [, link] = /<([^<>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
        next = link === undefined ? null : { what: ask.what, route: `GET ${link}` };
      }
      return all;
    },
    async log({ what, route }) {
      const authorization = `Bearer ${(await token()).reveal()}`;
      const url = `${apiUrl}${route.replace(/^GET /, '')}`;
      return fetchLog({ host: 'gitlab', what, url, authorization, maxRetries });
    },
    async mark(ask, last) {
      const response = await request(ask, last);
      if (response.status === 304 && last !== null) return last;
      return response.headers.get('etag') ?? String(Date.now());
    },
    repository(path) {
      const known = repositories.get(path) ?? readProject(client, path);
      repositories.set(path, known);
      return known;
    },
  };
  return client;
}

const access = z.looseObject({ access_level: z.int() }).nullish();
const projectSchema = z.looseObject({
  path_with_namespace: z.string(),
  web_url: z.string().default(''),
  default_branch: z.string().nullish(),
  archived: z.boolean().default(false),
  permissions: z.looseObject({ project_access: access, group_access: access }).nullish(),
});

/** May push branches. */
const DEVELOPER = 30;

async function readProject(client: GitLabClient, path: string): Promise<RepositoryFacts> {
  const ask = { what: `read project ${path}`, route: `GET ${projectRoute(path)}` };
  const { path_with_namespace, web_url, default_branch, archived, permissions } = await client.get(ask, projectSchema);
  const levels = [permissions?.project_access?.access_level ?? 0, permissions?.group_access?.access_level ?? 0];
  return {
    path: path_with_namespace,
    webUrl: web_url,
    defaultBranch: default_branch ?? 'main',
    isArchived: archived,
    canPush: permissions ? Math.max(...levels) >= DEVELOPER : null,
  };
}

function queryOf(query: GitLabAsk['query']): string {
  const words = new URLSearchParams(
    Object.entries(query ?? {}).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  return words === '' ? '' : `?${words}`;
}

async function jsonOf(response: Response): Promise<unknown> {
  return parseJson(await response.text());
}

async function refusalOf(what: string, isWrite: boolean, response: Response | null, cause: unknown) {
  const body = response === null ? null : await jsonOf(response);
  const said = z
    .looseObject({ message: z.unknown().optional(), error: z.unknown().optional(), scope: z.string().optional() })
    .safeParse(body).data;
  const words = said?.message ?? said?.error;
  const detail =
    typeof words === 'string' ? words : words === undefined ? connectionDetail(cause) : JSON.stringify(words);
  const headers = response === null ? {} : Object.fromEntries(response.headers);
  // GitLab names the scopes that would do in the answer itself.
  const scopes = said?.scope === undefined ? {} : { 'x-accepted-oauth-scopes': said.scope.replaceAll(' ', ',') };
  const status = response?.status ?? null;
  return hostFailure({ host: 'gitlab', what, isWrite, status, headers: { ...headers, ...scopes }, detail, cause });
}
