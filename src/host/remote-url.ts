import type { HostName } from '../core/remote.ts';

/** Where a git remote is, by its URL. */
export interface RemotePlace {
  /** With its port, if that is not the usual one. */
  webHost: string;
  path: string;
}

/** Null: a folder, or something else that is on no service. */
export function placeOfUrl(url: string): RemotePlace | null {
  const short = /^(?:[^@/\s]+@)?([\w.-]+):(?!\/)([^\s]+)$/.exec(url);
  const parsed = short === null ? URL.parse(url) : null;
  if (parsed !== null && !/^(?:https?|ssh|git):$/.test(parsed.protocol)) return null;
  const isWeb = parsed !== null && /^https?:$/.test(parsed.protocol);
  const host = short?.[1] ?? (isWeb ? parsed.host : parsed?.hostname) ?? '';
  const path = (short?.[2] ?? parsed?.pathname ?? '').replace(/^\/+|\/+$|\.git\/*$/g, '');
  if (host === '' || !/^[\w.-]+(?:\/[\w.-]+)+$/.test(path)) return null;
  // GitHub's host for ssh over the port of https.
  return { webHost: host.toLowerCase().replace(/^ssh\.github\.com$/, 'github.com'), path };
}

/** Where the pages and repositories of a service are, by the address of its interface. */
export function webHostOf(apiUrl: string): string {
  const { host } = new URL(apiUrl);
  return host === 'api.github.com' ? 'github.com' : host;
}

const USUAL: Record<HostName, string> = { github: 'github.com', gitlab: 'gitlab.com' };

/** The service that a remote is on; null: none that is known. */
export function hostOfPlace({ webHost }: RemotePlace, apiUrls: Record<HostName, string>): HostName | null {
  const isOf = (host: HostName): boolean => webHost === webHostOf(apiUrls[host]) || webHost === USUAL[host];
  return isOf('github') ? 'github' : isOf('gitlab') ? 'gitlab' : null;
}
