import { resolve } from 'node:path';
import type { Config } from '../../core/config.ts';
import { AgentosError } from '../../core/errors.ts';
import type { Environment } from '../../core/keys.ts';
import { type HostedRepository, type HostName, hostedName } from '../../core/remote.ts';
import type { Secret } from '../../core/secret.ts';
import { createGitHubForge, createGitHubTracker } from '../../forge/github.ts';
import { createGitLabForge, createGitLabTracker } from '../../forge/gitlab.ts';
import type { Forge, Tracker } from '../../forge/port.ts';
import { createGit } from '../../git/git.ts';
import { pushUrl } from '../../git/push.ts';
import { webHostOf } from '../../host/client.ts';
import { followProxies } from '../../host/fetch.ts';
import { createRepository, type Repository, type RepositoryFacts } from '../../host/repository.ts';
import { createAppToken, findToken } from '../../host/token.ts';
import { createGitHubSource } from '../../source/github.ts';
import { createGitLabSource } from '../../source/gitlab.ts';
import type { IssueSource } from '../../source/port.ts';

/*
 * Everything that is done with services, as one chunk of the build: if these modules were imported one by one, the build would split
 * what they share from the files of the commands, which would have to load more files.
 */
export { takeAnswers } from './answers.ts';
export { createdFrom, existingLike } from './created-issue.ts';
export { openPublisher } from './publish.ts';
export { dispatch, reactionTo } from './reactions.ts';

export interface ServicesOptions {
  config: Config;
  env: Environment;
  /** The environment of `gh` and git. */
  childEnv: Record<string, string>;
  repository: string;
  /** Called with every token that is used, so that it is masked from then on. */
  onSecret: (secret: Secret) => void;
  /** Called with the reason of each wait for a service. */
  onWait: (text: string) => void;
}

const ADAPTERS = {
  github: { source: createGitHubSource, tracker: createGitHubTracker, forge: createGitHubForge },
  gitlab: { source: createGitLabSource, tracker: createGitLabTracker, forge: createGitLabForge },
};

const USUAL_HOSTS = { github: 'github.com', gitlab: 'gitlab.com' };

/** Where the URL of a git remote leads; null: to no service, for example to a folder. `host` null: to an unknown one. */
export function placeOfUrl(
  url: string,
  apiUrls: Record<HostName, string>,
): { host: HostName | null; path: string } | null {
  const short = /^(?:[^@/\s]+@)?([\w.-]+):(?!\/)([^\s]+)$/.exec(url);
  const parsed = short === null ? URL.parse(url) : null;
  if (parsed !== null && !/^(?:https?|ssh|git):$/.test(parsed.protocol)) return null;
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  const named = short?.[1] ?? (isWeb ? parsed.host : parsed?.hostname) ?? '';
  const path = (short?.[2] ?? parsed?.pathname ?? '').replace(/^\/+|\/+$|\.git\/*$/g, '');
  if (named === '' || !/^[\w.-]+(?:\/[\w.-]+)+$/.test(path)) return null;
  // GitHub's host for SSH over the HTTPS port.
  const webHost = named.toLowerCase().replace(/^ssh\.github\.com$/, 'github.com');
  const isOf = (host: HostName): boolean => webHost === webHostOf(apiUrls[host]) || webHost === USUAL_HOSTS[host];
  return { host: isOf('github') ? 'github' : isOf('gitlab') ? 'gitlab' : null, path };
}

export type Services = ReturnType<typeof createServices>;

/** The sources, trackers and forges of a project. Only the parent has them, because no worker holds a token. */
export function createServices({ config, env, childEnv, repository, onSecret, onWait }: ServicesOptions) {
  const { apiUrls, app, select, source, forge } = config.remote;
  followProxies(env);
  const userToken = (host: HostName): (() => Promise<Secret>) => {
    let found: Promise<Secret> | null = null;
    return () => (found ??= findToken(host, webHostOf(apiUrls[host]), { env, childEnv, cwd: repository }));
  };
  const appToken = app && createAppToken({ ...app, keyFile: resolve(repository, app.keyFile) }, apiUrls.github);
  const tokens = { github: appToken ?? userToken('github'), gitlab: userToken('gitlab') };
  let url: Promise<string | null> | null = null;
  const originUrl = (): Promise<string | null> => (url ??= pushUrl(createGit(repository, childEnv), 'origin'));

  /** What `origin` is on the named service, or on any. Null: it is not there. */
  async function originOn(named: HostName | null): Promise<HostedRepository | null> {
    const { host: known = null, path } = placeOfUrl((await originUrl()) ?? '', apiUrls) ?? {};
    // An unknown host may be the named service under another name.
    const host = known ?? named;
    if (path === undefined || host === null || (named !== null && host !== named)) return null;
    return host === 'github' && path.split('/').length !== 2 ? null : { host, path };
  }

  async function unnamed(host: HostName | null): Promise<AgentosError> {
    // A URL may hold a password.
    const origin = (await originUrl())?.replace(/\/\/[^@/]*@/, '//') ?? null;
    return new AgentosError({ code: 'repository-unnamed', host, origin });
  }

  const repositories = new Map<string, Repository>();
  async function at(named: HostedRepository): Promise<Repository> {
    const { host, path } = named.path === null ? ((await originOn(named.host)) ?? named) : named;
    if (path === null) throw await unnamed(host);
    const name = hostedName({ host, path });
    const known = repositories.get(name);
    if (known !== undefined) return known;
    const { maxRetries, maxQuotaWaitMs: maxWaitMs } = config.bounds;
    const token = async (): Promise<Secret> => {
      const secret = await tokens[host]();
      onSecret(secret);
      return secret;
    };
    const isApp = host === 'github' && app !== null;
    const made = createRepository({ host, apiUrl: apiUrls[host], isApp, token, maxRetries, maxWaitMs, onWait }, path);
    repositories.set(name, made);
    return made;
  }

  async function branchesAt(): Promise<Repository> {
    const place = forge ?? (await originOn(null)) ?? source;
    if (place === null) throw await unnamed(null);
    return at(place);
  }

  const issuesAt = (): Promise<Repository> => (source === null ? branchesAt() : at(source));
  return {
    async source(): Promise<IssueSource> {
      const found = await issuesAt();
      return ADAPTERS[found.options.host].source(found, select);
    },
    /** Where comments and labels are written: where issues come from, or if they are files, where branches go. */
    async tracker(): Promise<Tracker> {
      const found = await issuesAt();
      return ADAPTERS[found.options.host].tracker(found);
    },
    /** Where branches and pull requests go. */
    async forge(): Promise<Forge> {
      const found = await branchesAt();
      return ADAPTERS[found.options.host].forge(found);
    },
    /** About the repository with the issues. */
    facts: async (): Promise<RepositoryFacts> => (await issuesAt()).facts(),
  };
}
