import { resolve } from 'node:path';
import type { Config } from '../../core/config.ts';
import type { Environment } from '../../core/keys.ts';
import { type HostName, hostedName } from '../../core/remote.ts';
import type { Secret } from '../../core/secret.ts';
import { createGitHubForge, createGitHubTracker } from '../../forge/github.ts';
import { createGitLabForge, createGitLabTracker } from '../../forge/gitlab.ts';
import type { Forge, Tracker } from '../../forge/port.ts';
import { followProxies } from '../../host/fetch.ts';
import { webHostOf } from '../../host/remote-url.ts';
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
export { createPublisher, requireWriting } from './publish.ts';
export { dispatch, dispatchedFor, lookAt, pushedReaction } from './reactions.ts';

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

/** What is read and written at a place. Only the parent loads this, when it is needed. */
export interface Services {
  source(place: Place): IssueSource;
  tracker(place: Place): Tracker;
  forge(place: Place): Forge;
  facts(place: Place): Promise<RepositoryFacts>;
}

export function createServices(options: ServicesOptions): Services {
  const { config, env, onSecret, onWait } = options;
  const { apiUrls, app, select } = config.remote;
  followProxies(env);
  const tokens = { github: tokenOf(options, 'github'), gitlab: tokenOf(options, 'gitlab') };
  const repositories = new Map<string, Repository>();
  const at = (place: Place): Repository => {
    const { host, path } = place;
    const known = repositories.get(hostedName(place));
    if (known !== undefined) return known;
    const token = async (): Promise<Secret> => {
      const secret = await tokens[host]();
      onSecret(secret);
      return secret;
    };
    const { maxRetries, maxQuotaWaitMs: maxWaitMs } = config.bounds;
    const isApp = host === 'github' && app !== null;
    const made = createRepository({ host, apiUrl: apiUrls[host], isApp, token, maxRetries, maxWaitMs, onWait }, path);
    repositories.set(hostedName(place), made);
    return made;
  };
  const isGitHub = ({ host }: Place): boolean => host === 'github';
  return {
    source: (place) => (isGitHub(place) ? createGitHubSource : createGitLabSource)(at(place), select),
    tracker: (place) => (isGitHub(place) ? createGitHubTracker : createGitLabTracker)(at(place)),
    forge: (place) => (isGitHub(place) ? createGitHubForge : createGitLabForge)(at(place)),
    facts: (place) => at(place).facts(),
  };
}

function tokenOf({ config, env, childEnv, repository }: ServicesOptions, host: HostName): () => Promise<Secret> {
  const { app, apiUrls } = config.remote;
  const apiUrl = apiUrls[host];
  if (host === 'github' && app !== null)
    return createAppToken({ ...app, keyFile: resolve(repository, app.keyFile) }, apiUrl);
  let found: Promise<Secret> | null = null;
  return () => (found ??= findToken(host, webHostOf(apiUrl), { env, childEnv, cwd: repository }));
}
