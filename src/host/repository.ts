import { z } from 'zod';
import { AgentosError } from '../core/errors.ts';
import type { HostName } from '../core/remote.ts';
import { createHostClient, type HostOptions, type Parameters, type Request } from './client.ts';
import { hostFailure, orElse } from './failure.ts';
import { webHostOf } from './remote-url.ts';

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

/** Who wrote something, as either service names people. */
type Author = { login?: string; username?: string; type?: string | undefined } | null | undefined;

/**
 * One repository on GitHub or GitLab. A route such as `GET issues/{number}` is below the repository, and `GET /user` is not. `what` is
 * the request in words that follow "may not" and "refused to". A response of an unexpected form is a failed request.
 */
export interface Repository {
  readonly options: HostOptions;
  /** `github:owner/name`, as configured. */
  readonly location: string;
  facts(): Promise<RepositoryFacts>;
  /** Throws unless issues and comments can be written. */
  requireActive: () => Promise<void>;
  /** Throws unless branches can be pushed. */
  requirePush: () => Promise<void>;
  request<T>(schema: z.ZodType<T>, route: string, what: string, parameters?: Parameters): Promise<T>;
  /** All pages, or those up to the one with which there is enough. */
  list<T>(
    schema: z.ZodType<T>,
    route: string,
    what: string,
    parameters?: Parameters,
    isEnough?: (all: readonly T[]) => boolean,
  ): Promise<T[]>;
  /** GitHub only. Fills in `$owner` and `$repo`. */
  graphql<T>(schema: z.ZodType<T>, query: string, what: string, variables?: Parameters): Promise<T>;
  /** A CI log; null: it is gone, or the token may not read it. */
  log(route: string, what: string): Promise<string | null>;
  /** The name of the token's user; null: the token of an app has none. */
  viewer(): Promise<string | null>;
  /** Whether a post may be ours: by the token's user, or by a bot if the token has no user. */
  isOwn(author: Author): Promise<boolean>;
  /** GitLab only: the people who may manage its issues, as with triage on GitHub. A note does not say this about its author. */
  members(): Promise<ReadonlySet<number>>;
  /** The HTTP header that authenticates git, and the URL prefix to send it to. */
  gitHeader: () => Promise<{ url: string; header: string }>;
}

/** GitHub's names for people who belong to a repository. */
export const TRUSTED: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** GitLab's levels of access: may manage issues, may push branches. */
const REPORTER = 20;
const DEVELOPER = 30;

const access = z.looseObject({ access_level: z.int() }).nullish();
const githubFacts = z
  .looseObject({
    full_name: z.string(),
    html_url: z.string().optional(),
    default_branch: z.string(),
    archived: z.boolean().default(false),
    permissions: z.looseObject({ push: z.boolean() }).optional(),
  })
  .transform(
    ({ full_name, html_url, default_branch, archived, permissions }): RepositoryFacts => ({
      path: full_name,
      webUrl: html_url ?? `https://github.com/${full_name}`,
      defaultBranch: default_branch,
      isArchived: archived,
      canPush: permissions?.push ?? null,
    }),
  );
const gitlabFacts = z
  .looseObject({
    path_with_namespace: z.string(),
    web_url: z.string(),
    default_branch: z.string().nullish(),
    archived: z.boolean().default(false),
    permissions: z.looseObject({ project_access: access, group_access: access }).nullish(),
  })
  .transform(({ path_with_namespace, web_url, default_branch, archived, permissions }): RepositoryFacts => {
    const levels = [permissions?.project_access?.access_level ?? 0, permissions?.group_access?.access_level ?? 0];
    return {
      path: path_with_namespace,
      webUrl: web_url,
      defaultBranch: default_branch ?? 'main',
      isArchived: archived,
      canPush: permissions ? Math.max(...levels) >= DEVELOPER : null,
    };
  });

interface Service {
  root: string;
  facts: z.ZodType<RepositoryFacts>;
  gitUser: string;
  /** What the token or its user lacks if it can't push. */
  noPush: { needs: string[]; detail: string };
}

const SERVICES: Record<HostName, Service> = {
  github: {
    root: '/repos/{owner}/{repo}',
    facts: githubFacts,
    gitUser: 'x-access-token',
    noPush: { needs: [], detail: 'it may only read this repository' },
  },
  gitlab: {
    root: '/projects/{project}',
    facts: gitlabFacts,
    gitUser: 'oauth2',
    noPush: { needs: ['the role Developer'], detail: '' },
  },
};

const user = z.looseObject({ login: z.string().optional(), username: z.string().optional() });
const member = z.looseObject({ id: z.int(), access_level: z.int() });

export function createRepository(options: HostOptions, given: string): Repository {
  const { host, apiUrl, token } = options;
  const { root, facts: factsSchema, gitUser, noPush } = SERVICES[host];
  const client = createHostClient(options);
  let known: Promise<RepositoryFacts> | null = null;
  let viewer: Promise<string | null> | null = null;
  let members: Promise<ReadonlySet<number>> | null = null;

  function parse<T>(
    schema: z.ZodType<T>,
    [route, what]: Request,
    { status, data }: { status: number; data: unknown },
  ): T {
    if (status >= 300) throw hostFailure({ host, what, status, detail: 'it has moved' });
    const result = schema.safeParse(data);
    if (result.success) return result.data;
    const detail = `${what}: unexpected response (${result.error.issues[0]?.path.join('.') ?? ''})`;
    throw hostFailure({ host, what, isWrite: !route.startsWith('GET '), detail, cause: result.error });
  }

  function placeOf(path: string): Parameters {
    const [owner, repo] = path.split('/');
    return host === 'github' ? { owner, repo } : { project: path };
  }

  async function located(route: string, what: string, parameters: Parameters = {}): Promise<Request> {
    const [method = '', below = ''] = route.split(' ');
    if (below.startsWith('/')) return [route, what, parameters];
    const { path } = await repository.facts();
    return [`${method} ${root}/${below}`, `${what} in ${path}`, { ...placeOf(path), ...parameters }];
  }

  /** The services redirect from a repository's former name to the current one. */
  async function readFacts(): Promise<RepositoryFacts> {
    const asked: Request = [`GET ${root}`, `read repository ${given}`, placeOf(given)];
    const response = await client.request(asked);
    const { location } = response.headers;
    if (response.status < 300 || location === undefined) return parse(factsSchema, asked, response);
    const moved: Request = [`GET ${new URL(location, apiUrl).href}`, asked[1], {}];
    return parse(factsSchema, moved, await client.request(moved));
  }

  async function readViewer(): Promise<string | null> {
    const read = repository.request(user, 'GET /user', 'read whose token it is');
    // The token of an app may not read it. A token of GitLab always has a user.
    const found = await (host === 'github' ? orElse(read, null, ['host-scope-missing', 'host-not-found']) : read);
    return found?.login ?? found?.username ?? null;
  }

  async function readMembers(): Promise<ReadonlySet<number>> {
    const all = await repository.list(member, 'GET members/all', 'read the members');
    return new Set(all.filter(({ access_level }) => access_level >= REPORTER).map(({ id }) => id));
  }

  const repository: Repository = {
    options,
    location: `${host}:${given}`,
    facts: () => (known ??= readFacts()),
    async requireActive() {
      const { isArchived, path } = await repository.facts();
      if (isArchived) throw new AgentosError({ code: 'host-archived', host, repository: path });
    },
    async requirePush() {
      await repository.requireActive();
      const { canPush, path } = await repository.facts();
      if (canPush === false)
        throw new AgentosError({ code: 'host-scope-missing', host, what: `push to ${path}`, ...noPush });
    },
    async request(schema, route, what, parameters) {
      const asked = await located(route, what, parameters);
      return parse(schema, asked, await client.request(asked));
    },
    async list(schema, route, what, parameters, isEnough) {
      const asked = await located(route, what, parameters);
      const all = [];
      for await (const page of client.pages(asked, isEnough === undefined)) {
        all.push(...parse(z.array(schema), asked, page));
        if (isEnough?.(all)) break;
      }
      return all;
    },
    async graphql(schema, query, what, variables) {
      const place = placeOf((await repository.facts()).path);
      const data = await client.graphql(query, what, { ...place, ...variables });
      return parse(schema, ['GET ', what, {}], { status: 200, data });
    },
    log: async (route, what) => client.log(await located(route, what)),
    viewer: () => (viewer ??= readViewer()),
    async isOwn(author) {
      const own = await repository.viewer();
      return own === null ? author?.type === 'Bot' : (author?.login ?? author?.username) === own;
    },
    members: () => (members ??= readMembers()),
    async gitHeader() {
      const login = Buffer.from(`${gitUser}:${(await token()).reveal()}`).toString('base64');
      return { url: `${new URL(apiUrl).protocol}//${webHostOf(apiUrl)}/`, header: `Authorization: Basic ${login}` };
    },
  };
  return repository;
}
