import { z } from 'zod';
import { AgentosError } from '../core/errors.ts';
import type { HostName } from '../core/remote.ts';
import { createHostClient, type HostOptions, type Parameters, type Request, webHostOf } from './client.ts';
import { hostFailure, orElse } from './failure.ts';

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

/** GitHub's names for people who belong to a repository. */
export const TRUSTED: ReadonlySet<string> = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** What every issue, comment, review and pull request of GitHub has. */
export const githubPost = z.looseObject({
  html_url: z.string().default(''),
  body: z.string().nullish(),
  user: z.looseObject({ login: z.string(), type: z.string().optional() }).nullish(),
  author_association: z.string().default('NONE'),
});

/** A comment on an issue or a merge request of GitLab. */
export const gitlabNote = z.looseObject({
  id: z.int(),
  body: z.string(),
  author: z.looseObject({ id: z.int(), username: z.string() }).nullish(),
  created_at: z.string(),
  system: z.boolean().default(false),
  resolved: z.boolean().default(false),
  position: z.looseObject({ new_path: z.string().nullish(), new_line: z.int().nullish() }).nullish(),
});

/** GitLab's levels of access: may manage issues, may push branches. */
const REPORTER = 20;
const DEVELOPER = 30;

interface Service {
  root: string;
  facts: z.ZodType<RepositoryFacts>;
  gitUser: string;
  /** What the token or its user lacks if it can't push. */
  noPush: { needs: string[]; detail: string };
}

const access = z.looseObject({ access_level: z.int() }).nullish();
const SERVICES: Record<HostName, Service> = {
  github: {
    root: '/repos/{owner}/{repo}',
    gitUser: 'x-access-token',
    noPush: { needs: [], detail: 'it may only read this repository' },
    facts: z
      .looseObject({
        full_name: z.string(),
        html_url: z.string().optional(),
        default_branch: z.string(),
        archived: z.boolean().default(false),
        permissions: z.looseObject({ push: z.boolean() }).optional(),
      })
      .transform(({ full_name: path, html_url, default_branch, archived, permissions }) => ({
        path,
        webUrl: html_url ?? `https://github.com/${path}`,
        defaultBranch: default_branch,
        isArchived: archived,
        canPush: permissions?.push ?? null,
      })),
  },
  gitlab: {
    root: '/projects/{project}',
    gitUser: 'oauth2',
    noPush: { needs: ['the role Developer'], detail: '' },
    facts: z
      .looseObject({
        path_with_namespace: z.string(),
        web_url: z.string(),
        default_branch: z.string().nullish(),
        archived: z.boolean().default(false),
        permissions: z.object({ project_access: access, group_access: access }).nullish(),
      })
      .transform(({ path_with_namespace: path, web_url, default_branch, archived, permissions }) => ({
        path,
        webUrl: web_url,
        defaultBranch: default_branch ?? 'main',
        isArchived: archived,
        canPush: permissions ? Object.values(permissions).some((one) => (one?.access_level ?? 0) >= DEVELOPER) : null,
      })),
  },
};

/** GitHub has logins and types, GitLab has usernames. */
const userSchema = z.looseObject({
  login: z.string().optional(),
  username: z.string().optional(),
  type: z.string().optional(),
});
const memberSchema = z.looseObject({ id: z.int(), access_level: z.int() });

/**
 * One repository on GitHub or GitLab. A route such as `GET issues/{number}` is below the repository, and `GET /user` is not. `what` is
 * the request in words that follow "may not" and "refused to". A response of an unexpected form is a failed request.
 */
export function createRepository(options: HostOptions, given: string) {
  const { host, apiUrl, token } = options;
  const { root, facts: factsSchema, gitUser, noPush } = SERVICES[host];
  const client = createHostClient(options);
  let known: Promise<RepositoryFacts> | null = null;
  let user: Promise<string | null> | null = null;
  let managers: Promise<ReadonlySet<number>> | null = null;

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
    const { path } = await facts();
    return [`${method} ${root}/${below}`, `${what} in ${path}`, { ...placeOf(path), ...parameters }];
  }

  const facts = (): Promise<RepositoryFacts> => (known ??= readFacts());

  /** The services redirect from a repository's former name to the current one. */
  async function readFacts(): Promise<RepositoryFacts> {
    const asked: Request = [`GET ${root}`, `read repository ${given}`, placeOf(given)];
    const response = await client.request(asked);
    const { location } = response.headers;
    if (response.status < 300 || location === undefined) return parse(factsSchema, asked, response);
    const moved: Request = [`GET ${new URL(location, apiUrl).href}`, asked[1], {}];
    return parse(factsSchema, moved, await client.request(moved));
  }

  async function request<T>(schema: z.ZodType<T>, route: string, what: string, parameters?: Parameters): Promise<T> {
    const asked = await located(route, what, parameters);
    return parse(schema, asked, await client.request(asked));
  }

  /** All pages, or those up to the one with which there is enough. */
  async function list<T>(
    schema: z.ZodType<T>,
    route: string,
    what: string,
    parameters?: Parameters,
    isEnough?: (all: readonly T[]) => boolean,
  ): Promise<T[]> {
    const asked = await located(route, what, parameters);
    const all: T[] = [];
    for await (const page of client.pages(asked, isEnough === undefined)) {
      all.push(...parse(z.array(schema), asked, page));
      if (isEnough?.(all)) break;
    }
    return all;
  }

  /** Throws unless issues and comments can be written. */
  async function requireActive(): Promise<void> {
    const { isArchived, path } = await facts();
    if (isArchived) throw new AgentosError({ code: 'host-archived', host, repository: path });
  }

  /** The name of the token's user; null: the token of an app has none. */
  const viewer = (): Promise<string | null> => (user ??= readViewer());

  async function readViewer(): Promise<string | null> {
    const read = request(userSchema, 'GET /user', 'read whose token it is');
    // The token of an app may not read it. A token of GitLab always has a user.
    const found = await (host === 'github' ? orElse(read, null, ['host-scope-missing', 'host-not-found']) : read);
    return found?.login ?? found?.username ?? null;
  }

  async function readMembers(): Promise<ReadonlySet<number>> {
    const all = await list(memberSchema, 'GET members/all', 'read the members');
    return new Set(all.filter(({ access_level }) => access_level >= REPORTER).map(({ id }) => id));
  }

  return {
    options,
    /** `github:owner/name`, as configured. */
    location: `${host}:${given}`,
    facts,
    request,
    list,
    /** GitHub only. Fills in `$owner` and `$repo`. */
    async graphql<T>(schema: z.ZodType<T>, query: string, what: string, variables: Parameters): Promise<T> {
      const data = await client.graphql(query, what, { ...placeOf((await facts()).path), ...variables });
      return parse(schema, ['GET ', what, {}], { status: 200, data });
    },
    /** A CI log; null: it is gone, or the token may not read it. */
    log: async (route: string, what: string): Promise<string | null> => client.log(await located(route, what)),
    requireActive,
    /** Throws unless branches can be pushed. */
    requirePush: async (): Promise<void> => {
      await requireActive();
      const { canPush, path } = await facts();
      if (canPush === false)
        throw new AgentosError({ code: 'host-scope-missing', host, what: `push to ${path}`, ...noPush });
    },
    viewer,
    /** Whether a post may be ours: by the token's user, or by a bot if the token has no user. */
    async isOwn(author: z.infer<typeof userSchema> | null | undefined): Promise<boolean> {
      const own = await viewer();
      return own === null ? author?.type === 'Bot' : (author?.login ?? author?.username) === own;
    },
    /** GitLab only: the people who may manage its issues, as with triage on GitHub. A note does not say this about its author. */
    members: () => (managers ??= readMembers()),
    /** The HTTP header that authenticates git, and the URL prefix to send it to. */
    gitHeader: async (): Promise<{ url: string; header: string }> => {
      const login = Buffer.from(`${gitUser}:${(await token()).reveal()}`).toString('base64');
      return { url: `${new URL(apiUrl).protocol}//${webHostOf(apiUrl)}/`, header: `Authorization: Basic ${login}` };
    },
  };
}

export type Repository = ReturnType<typeof createRepository>;
