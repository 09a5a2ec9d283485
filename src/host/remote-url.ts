import type { HostName } from '../core/remote.ts';

/** The parts of a git remote's URL. */
export interface RemotePlace {
  /** Includes a port that is not the default. */
  webHost: string;
  path: string;
}

/** Null if the remote is not on a service, such as a folder. */
export function placeOfUrl(url: string): RemotePlace | null {
  const short = /^(?:[^@/\s]+@)?([\w.-]+):(?!\/)([^\s]+)$/.exec(url);
  const parsed = short === null ? URL.parse(url) : null;
  if (parsed !== null && !/^(?:https?|ssh|git):$/.test(parsed.protocol)) return null;
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  const host = short?.[1] ?? (isWeb ? parsed.host : parsed?.hostname) ?? '';
  const path = (short?.[2] ?? parsed?.pathname ?? '').replace(/^\/+|\/+$|\.git\/*$/g, '');
  if (host === '' || !/^[\w.-]+(?:\/[\w.-]+)+$/.test(path)) return null;
  // GitHub's host for SSH over the HTTPS port.
  return { webHost: host.toLowerCase().replace(/^ssh\.github\.com$/, 'github.com'), path };
}

/** The host of a service's web pages and repositories, from its API URL. */
export function webHostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return host === 'api.github.com' ? 'github.com' : host;
}

const USUAL: Record<HostName, string> = { github: 'github.com', gitlab: 'gitlab.com' };

/** The service that a remote is on; null if it is not a known one. */
export function hostOfPlace({ webHost }: RemotePlace, apiUrls: Record<HostName, string>): HostName | null {
  const isOf = (host: HostName): boolean => webHost === webHostOf(apiUrls[host]) || webHost === USUAL[host];
  return isOf('github') ? 'github' : isOf('gitlab') ? 'gitlab' : null;
}
