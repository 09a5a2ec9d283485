import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Paths } from '../core/paths.ts';
import { hostedName } from '../core/remote.ts';
import { createDirectorySource } from '../source/directory.ts';
import { createKeptSource, type KeptSource } from '../source/kept.ts';
import type { IssueSource } from '../source/port.ts';
import type { Hosts } from './hosts.ts';

/** The one place that says where the issues of a project come from. A service is loaded when something is asked of it. */
export function projectSource(config: Config, paths: Paths, hosts: Hosts): KeptSource {
  const { source: setting } = config.remote;
  if (setting === null) {
    const source = createDirectorySource(paths.issues);
    return { source, lastKnown: source, asOf: async () => null, keep: async () => undefined };
  }
  let opened: Promise<IssueSource> | null = null;
  const open = (): Promise<IssueSource> => (opened ??= hosts.source(setting));
  const live: IssueSource = {
    location: hostedName(setting),
    ids: async () => (await open()).ids(),
    look: async (id) => (await open()).look(id),
    read: async (id) => (await open()).read(id),
    poll: async (last) => (await open()).poll(last),
  };
  const name = hostedName(setting).replace(/[^\w.-]+/g, '_');
  return createKeptSource(live, join(paths.base, 'caches', 'issues', name));
}
