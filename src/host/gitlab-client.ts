import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { createWholeFetch, fetchLog } from './fetch.ts';
import { connectionDetail, type HostOptions, hostFailure, parseResponse, type RepositoryFacts } from './port.ts';

/** `what`: the request in words that follow "may not" and "refused to". */
export interface GitLabAsk {
  what: string;
  /** `GET /projects/…`, below the API URL. */
  route: string;
  query?: Readonly<Record<string, string | number | boolean>>;
  body?: unknown;
}

/** GitLab's REST API, version 4, parsed with schemas. Reads are retried, writes never: see `forge/port.ts`. */
export interface GitLabClient {
  readonly options: HostOptions;
  get<T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T>;
  list<T>(ask: GitLabAsk, schema: z.ZodType<T>, most?: { count: number; isWanted: (one: T) => boolean }): Promise<T[]>;
  send<T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T>;
  /** A CI log; null: it is gone, or the token may not read it. */
  log(ask: GitLabAsk): Promise<string | null>;
  /** A mark that changes when the response does. */
  mark(ask: GitLabAsk, last: string | null): Promise<string>;
  repository(path: string): Promise<RepositoryFacts>;
  /** The user of the token. */
  viewer(): Promise<number>;
  /** People who may manage the project's issues, like triage on GitHub. A note does not say this about its author. */
  members(path: string): Promise<ReadonlySet<number>>;
}

const FIRST_RETRY_MS = 500;
const MOST_LIMIT_WAITS = 3;
const MOST_REDIRECTS = 2;

/** May manage issues. */
const REPORTER = 20;
/** May push branches. */
const DEVELOPER = 30;

function projectRoute(path: string): string {
  return `/projects/${encodeURIComponent(path)}`;
}

/** Builds requests below a project, by its current path: `GET /issues` reads its issues. */
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

  /** How long to wait before the next try: for a rate limit, or before a read is retried. Null: give up. */
  function pauseMs(response: Response | null, tries: number, isWrite: boolean): number | null {
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
        if (error instanceof AgentosError) throw error;
        cause = error;
      }
      if (response !== null && (response.ok || response.status === 304)) return response;
      const isRedirect = response !== null && response.status >= 301 && response.status <= 308;
      const location = isRedirect ? response?.headers.get('location') : null;
      if (location && !isWrite && redirects++ < MOST_REDIRECTS) {
        url = new URL(location, url).href;
        continue;
      }
      const waitMs = pauseMs(response, tries, isWrite);
      if (waitMs === null) throw await refusalOf(what, isWrite, response, cause);
      tries += 1;
      await sleep(waitMs);
    }
  }

  const parsed = <T>(ask: GitLabAsk, schema: z.ZodType<T>, data: unknown): T =>
    parseResponse('gitlab', ask, schema, data);
  const send = async <T>(ask: GitLabAsk, schema: z.ZodType<T>): Promise<T> =>
    parsed(ask, schema, await jsonOf(await request(ask)));
  const repositories = new Map<string, Promise<RepositoryFacts>>();
  const trusted = new Map<string, Promise<ReadonlySet<number>>>();
  let viewer: Promise<number> | null = null;

  const client: GitLabClient = {
    options,
    get: send,
    send,
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
    viewer: () =>
      (viewer ??= send({ what: 'read whose token it is', route: 'GET /user' }, withId).then(({ id }) => id)),
    members(path) {
      const known = trusted.get(path) ?? readMembers(client, path);
      trusted.set(path, known);
      return known;
    },
  };
  return client;
}

const withId = z.looseObject({ id: z.int() });

async function readMembers(client: GitLabClient, path: string): Promise<ReadonlySet<number>> {
  const ask = await projectAsk(client, path)('GET /members/all', `read the members of ${path}`);
  const all = await client.list(ask, withId.extend({ access_level: z.int() }));
  return new Set(all.filter(({ access_level }) => access_level >= REPORTER).map(({ id }) => id));
}

const access = z.looseObject({ access_level: z.int() }).nullish();
const projectSchema = z.looseObject({
  path_with_namespace: z.string(),
  web_url: z.string().default(''),
  default_branch: z.string().nullish(),
  archived: z.boolean().default(false),
  permissions: z.looseObject({ project_access: access, group_access: access }).nullish(),
});

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
  // GitLab names the sufficient scopes in the body.
  const scopes = said?.scope === undefined ? {} : { 'x-accepted-oauth-scopes': said.scope.replaceAll(' ', ',') };
  const status = response?.status ?? null;
  return hostFailure({ host: 'gitlab', what, isWrite, status, headers: { ...headers, ...scopes }, detail, cause });
}
