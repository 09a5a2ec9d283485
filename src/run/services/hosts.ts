import { AgentosError } from '../../core/errors.ts';
import type { HostedRepository } from '../../core/remote.ts';
import type { Forge, Tracker } from '../../forge/port.ts';
import { createGit } from '../../git/git.ts';
import { pushUrl } from '../../git/push.ts';
import { hostOfPlace, placeOfUrl, type RemotePlace } from '../../host/remote-url.ts';
import type { RepositoryFacts } from '../../host/repository.ts';
import type { IssueSource } from '../../source/port.ts';
import type { Project } from '../project.ts';
import type { Publisher, PublisherOptions } from './publish.ts';
import type { Place, Services, ServicesOptions } from './services.ts';

/** The services that a project uses. Nothing is loaded, asked or started before it is needed. */
export interface Hosts {
  /** Open issues of a repository. */
  source(repository: HostedRepository): Promise<IssueSource>;
  /** Where comments and labels are written: where issues come from, or if they are files, where branches go. */
  tracker(): Promise<Tracker>;
  /** Where its branches and pull requests go. */
  forge(): Promise<Forge>;
  facts(repository: HostedRepository): Promise<RepositoryFacts>;
  /** Throws before the first request if it is untrusted: the configuration may name the address that a token is sent to. */
  requireTrust: () => Promise<void>;
  /** Shows why a service makes us wait. */
  onNotice: (text: string) => void;
}

export function createHosts(options: Omit<ServicesOptions, 'onWait'>): Hosts {
  const { config, childEnv, repository } = options;
  const { remote } = config;
  let loaded: Promise<Services> | null = null;
  let tracker: Promise<Tracker> | null = null;
  let forge: Promise<Forge> | null = null;
  let origin: Promise<string | null> | null = null;
  const services = (): Promise<Services> =>
    (loaded ??= hosts.requireTrust().then(async () => {
      const { createServices } = await import('./services.ts');
      return createServices({ ...options, onWait: (text) => hosts.onNotice(text) });
    }));
  const originUrl = (): Promise<string | null> => (origin ??= pushUrl(createGit(repository, childEnv), 'origin'));
  const originPlace = async (): Promise<RemotePlace | null> => {
    const url = await originUrl();
    return url === null ? null : placeOfUrl(url);
  };

  /** Fills in the path of `origin` if none is named. */
  async function located({ host, path }: HostedRepository): Promise<Place> {
    if (path !== null) return { host, path };
    const place = await originPlace();
    const known = place && hostOfPlace(place, remote.apiUrls);
    // An unknown host may be this service under another name.
    const isMeant = place !== null && (known === null || known === host);
    const isWhole = isMeant && (host === 'gitlab' || place.path.split('/').length === 2);
    if (isWhole) return { host, path: place.path };
    throw new AgentosError({ code: 'repository-unnamed', host, origin: shown(await originUrl()) });
  }

  async function forgePlace(): Promise<Place> {
    if (remote.forge !== null) return located(remote.forge);
    const place = await originPlace();
    const host = place && hostOfPlace(place, remote.apiUrls);
    if (place !== null && host !== null) return { host, path: place.path };
    if (remote.source !== null) return located(remote.source);
    throw new AgentosError({ code: 'repository-unnamed', host: null, origin: shown(await originUrl()) });
  }

  const trackerPlace = (): Promise<Place> => (remote.source === null ? forgePlace() : located(remote.source));
  const hosts: Hosts = {
    requireTrust: async () => undefined,
    onNotice: () => undefined,
    source: async (place) => (await services()).source(await located(place)),
    tracker: () => (tracker ??= trackerPlace().then(async (place) => (await services()).tracker(place))),
    forge: () => (forge ??= forgePlace().then(async (place) => (await services()).forge(place))),
    facts: async (place) => (await services()).facts(await located(place)),
  };
  return hosts;
}

/** A URL may hold a password. */
function shown(url: string | null): string | null {
  return url?.replace(/\/\/[^@/]*@/, '//') ?? null;
}

export type OpenPublisher = (options: Omit<PublisherOptions, 'project'>) => Publisher;

/** The publisher of a run; null if nothing is to be written to a service. Rejects if it could not be written. */
export async function openPosting(project: Project): Promise<OpenPublisher | null> {
  const { comment, create, pr } = project.config.remote;
  if (!comment && !create && !pr.open) return null;
  const { createPublisher, requireWriting } = await import('./services.ts');
  const tracker = await requireWriting(project);
  return (options) => createPublisher({ ...options, project }, tracker);
}
