import type { Project } from '../project.ts';
import type { OpenPublisher } from './publish.ts';
import type { Services, ServicesOptions } from './services.ts';

/** The services that a project uses. Nothing is loaded, asked or started before it is needed. */
export interface Hosts extends Services {
  /** Throws before the first request if it is untrusted: the configuration may name the address that a token is sent to. */
  requireTrust: () => Promise<void>;
  /** Shows why a service makes us wait. */
  onNotice: (text: string) => void;
}

export function createHosts(options: Omit<ServicesOptions, 'onWait'>): Hosts {
  let loaded: Promise<Services> | null = null;
  const load = async (): Promise<Services> => {
    await hosts.requireTrust();
    const { createServices } = await import('./services.ts');
    return createServices({ ...options, onWait: (text) => hosts.onNotice(text) });
  };
  const services = (): Promise<Services> => (loaded ??= load());
  const hosts: Hosts = {
    requireTrust: async () => undefined,
    onNotice: () => undefined,
    source: async () => (await services()).source(),
    tracker: async () => (await services()).tracker(),
    forge: async () => (await services()).forge(),
    facts: async () => (await services()).facts(),
  };
  return hosts;
}

/** The publisher of a run; null if nothing is to be written to a service. Rejects if it could not be written. */
export async function openPosting(project: Project): Promise<OpenPublisher | null> {
  const { comment, create, pr } = project.config.remote;
  if (!comment && !create && !pr.open) return null;
  const { openPublisher } = await import('./services.ts');
  return openPublisher(project);
}
