import { resolve } from 'node:path';
import type { Config } from '../../core/config.ts';
import type { Environment } from '../../core/keys.ts';
import type { HostName } from '../../core/remote.ts';
import type { Secret } from '../../core/secret.ts';
import { createGitHubForge } from '../../forge/github.ts';
import { createGitHubTracker } from '../../forge/github-tracker.ts';
import { createGitLabForge } from '../../forge/gitlab.ts';
import { createGitLabTracker } from '../../forge/gitlab-tracker.ts';
import type { Forge, Tracker } from '../../forge/port.ts';
import { createWholeFetch, followProxies } from '../../host/fetch.ts';
import { createGitHubClient, type GitHubClient } from '../../host/github-client.ts';
import { createGitLabClient, type GitLabClient } from '../../host/gitlab-client.ts';
import type { HostOptions, RepositoryFacts } from '../../host/port.ts';
import { webHostOf } from '../../host/remote-url.ts';
import { createAppToken, findToken } from '../../host/token.ts';
import { createGitHubSource } from '../../source/github.ts';
import { createGitLabSource } from '../../source/gitlab.ts';
import type { IssueSource } from '../../source/port.ts';

export interface ServicesOptions {
  config: Config;
  env: Environment;
  /** The environment of `gh`. */
  childEnv: Record<string, string>;
  repository: string;
  /** Called with every token that is used, so that it is masked from then on. */
  onSecret: (secret: Secret) => void;
  /** Called with the reason of each wait for a service. */
  onWait: (text: string) => void;
}

/** A repository on a service. */
export interface Place {
  host: HostName;
  path: string;
}

/** The clients of GitHub and GitLab. Only the parent loads them, when one is needed. */
export interface Services {
  source(place: Place): IssueSource;
  tracker(place: Place): Tracker;
  forge(place: Place): Forge;
  facts(place: Place): Promise<RepositoryFacts>;
}

export function createServices(options: ServicesOptions): Services {
  const { config, env, onSecret, onWait } = options;
  const { remote, bounds } = config;
  followProxies(env);
  const clients: { github?: GitHubClient; gitlab?: GitLabClient } = {};
  const optionsFor = (host: HostName): HostOptions => {
    const find = tokenOf(options, host);
    return {
      apiUrl: remote.apiUrls[host],
      isApp: host === 'github' && remote.app !== null,
      async token() {
        const secret = await find();
        onSecret(secret);
        return secret;
      },
      maxRetries: bounds.maxRetries,
      maxWaitMs: bounds.maxQuotaWaitMs,
      onWait,
    };
  };
  const github = (): GitHubClient => (clients.github ??= createGitHubClient(optionsFor('github')));
  const gitlab = (): GitLabClient => (clients.gitlab ??= createGitLabClient(optionsFor('gitlab')));
  const { select } = remote;
  return {
    source: ({ host, path }) =>
      host === 'github'
        ? createGitHubSource({ client: github(), path, select })
        : createGitLabSource({ client: gitlab(), path, select }),
    tracker: ({ host, path }) =>
      host === 'github' ? createGitHubTracker(github(), path) : createGitLabTracker(gitlab(), path),
    forge: ({ host, path }) =>
      host === 'github' ? createGitHubForge(github(), path) : createGitLabForge(gitlab(), path),
    facts: ({ host, path }) => (host === 'github' ? github() : gitlab()).repository(path),
  };
}

function tokenOf({ config, env, childEnv, repository }: ServicesOptions, host: HostName): () => Promise<Secret> {
  const { app, apiUrls } = config.remote;
  const apiUrl = apiUrls[host];
  if (host === 'github' && app !== null) {
    const keyFile = resolve(repository, app.keyFile);
    return createAppToken({ app: { ...app, keyFile }, apiUrl, fetch: createWholeFetch(apiUrl) });
  }
  let found: Promise<Secret> | null = null;
  return () => (found ??= findToken(host, webHostOf(apiUrl), { env, childEnv, cwd: repository }));
}
