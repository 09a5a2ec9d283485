import { resolve } from 'node:path';
import type { Config } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import type { GitHubApp, HostedRepository, HostName } from '../core/remote.ts';
import type { Secret } from '../core/secret.ts';
import type { Forge, Tracker } from '../forge/port.ts';
import type { Git } from '../git/git.ts';
import { pushUrl } from '../git/push.ts';
import type { GitHubClient } from '../host/github-client.ts';
import type { GitLabClient } from '../host/gitlab-client.ts';
import type { HostOptions } from '../host/port.ts';
import { hostOfPlace, placeOfUrl, type RemotePlace, webHostOf } from '../host/remote-url.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface HostsOptions {
  config: Config;
  env: Environment;
  /** What `gh` may see. */
  childEnv: Record<string, string>;
  git: Git;
  /** Every token that is used, so that it is masked from then on. */
  onSecret: (secret: Secret) => void;
}

/** The services that a project uses. Nothing is loaded, asked or started before it is needed. */
export interface Hosts {
  github(): Promise<GitHubClient>;
  gitlab(): Promise<GitLabClient>;
  /** With its path: that of `origin` where none is named. */
  located(repository: HostedRepository): Promise<{ host: HostName; path: string }>;
  /** Where its issues are, to write on them. Rejects where they are files. */
  tracker(): Promise<Tracker>;
  /** Where its branches and pull requests go. */
  forge(): Promise<Forge>;
  /** Shows what a service makes us wait for. */
  onNotice: (text: string) => void;
}

export function createHosts({ config, env, childEnv, git, onSecret }: HostsOptions): Hosts {
  const { remote, bounds } = config;
  const clients: { github?: Promise<GitHubClient>; gitlab?: Promise<GitLabClient> } = {};
  let tracker: Promise<Tracker> | null = null;
  let forge: Promise<Forge> | null = null;
  let origin: Promise<string | null> | null = null;
  const originUrl = (): Promise<string | null> => (origin ??= pushUrl(git, 'origin'));
  const originPlace = async (): Promise<RemotePlace | null> => {
    const url = await originUrl();
    return url === null ? null : placeOfUrl(url);
  };

  const hosts: Hosts = {
    onNotice: () => undefined,
    github: () =>
      (clients.github ??= (async () => {
        const { createGitHubClient } = await import('../host/github-client.ts');
        return createGitHubClient(await optionsFor('github'));
      })()),
    gitlab: () =>
      (clients.gitlab ??= (async () => {
        const { createGitLabClient } = await import('../host/gitlab-client.ts');
        return createGitLabClient(await optionsFor('gitlab'));
      })()),
    async located({ host, path }) {
      if (path !== null) return { host, path };
      const place = await originPlace();
      const known = place && hostOfPlace(place, remote.apiUrls);
      // A host by another name may be this service all the same; one that is known to be the other is not.
      const isMeant = place !== null && (known === null || known === host);
      const isWhole = isMeant && (host === 'gitlab' || place.path.split('/').length === 2);
      if (isWhole) return { host, path: place.path };
      throw new AgentosError({ code: 'repository-unnamed', host, origin: shown(await originUrl()) });
    },
    tracker: () => (tracker ??= openTracker()),
    forge: () => (forge ??= openForge()),
  };

  async function openTracker(): Promise<Tracker> {
    const { host, path } = await hosts.located(remote.source ?? (await forgePlace()));
    if (host === 'github') {
      const { createGitHubTracker } = await import('../forge/github-tracker.ts');
      return createGitHubTracker(await hosts.github(), path);
    }
    const { createGitLabTracker } = await import('../forge/gitlab-tracker.ts');
    return createGitLabTracker(await hosts.gitlab(), path);
  }

  async function openForge(): Promise<Forge> {
    const { host, path } = await forgePlace();
    if (host === 'github') {
      const { createGitHubForge } = await import('../forge/github.ts');
      return createGitHubForge(await hosts.github(), path);
    }
    const { createGitLabForge } = await import('../forge/gitlab.ts');
    return createGitLabForge(await hosts.gitlab(), path);
  }

  async function forgePlace(): Promise<{ host: HostName; path: string }> {
    if (remote.forge !== null) return hosts.located(remote.forge);
    const place = await originPlace();
    const host = place && hostOfPlace(place, remote.apiUrls);
    if (place !== null && host !== null) return { host, path: place.path };
    if (remote.source !== null) return hosts.located(remote.source);
    throw new AgentosError({ code: 'repository-unnamed', host: null, origin: shown(await originUrl()) });
  }

  async function optionsFor(host: HostName): Promise<HostOptions> {
    const { createWholeFetch, followProxies } = await import('../host/whole-fetch.ts');
    followProxies(env);
    const apiUrl = remote.apiUrls[host];
    const app = host === 'github' ? remote.app : null;
    const find = app === null ? await ownToken(host, apiUrl) : await appToken(app, apiUrl, createWholeFetch(apiUrl));
    return {
      host,
      apiUrl,
      isApp: app !== null,
      async token() {
        const secret = await find();
        onSecret(secret);
        return secret;
      },
      maxRetries: bounds.maxRetries,
      maxWaitMs: bounds.maxQuotaWaitMs,
      onWait: (text) => hosts.onNotice(text),
    };
  }

  async function ownToken(host: HostName, apiUrl: string): Promise<() => Promise<Secret>> {
    const { findToken } = await import('../host/token.ts');
    let found: Promise<Secret> | null = null;
    return () => (found ??= findToken(host, webHostOf(apiUrl), { env, childEnv, cwd: git.directory }));
  }

  async function appToken(
    app: GitHubApp,
    apiUrl: string,
    fetch: typeof globalThis.fetch,
  ): Promise<() => Promise<Secret>> {
    const { createAppToken } = await import('../host/app-token.ts');
    return createAppToken({ app: { ...app, keyFile: resolve(git.directory, app.keyFile) }, apiUrl, fetch });
  }
  return hosts;
}

/** A URL may hold a password. */
function shown(url: string | null): string | null {
  return url?.replace(/\/\/[^@/]*@/, '//') ?? null;
}
