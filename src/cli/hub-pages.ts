import { join } from 'node:path';
import { AgentosError } from '../core/errors.ts';
import type { HubPages } from '../hub/hub.ts';
import { keptSecret } from '../hub/secret-file.ts';
import { prepareStateFolder } from '../process/state-folder.ts';
import { followHubRuns } from '../run/hub/hub-sync.ts';
import { withCachedIssues } from '../run/project.ts';
import { createDashboard } from '../ui/server/server.ts';
import { createSession, newToken } from '../ui/server/session.ts';
import { projectOf } from './place.ts';
import { version } from './version.ts';

interface PagesPlace {
  repo: string;
  /** The state folder of the hub. */
  base: string;
  databaseUrl: string;
  port: number;
}

/**
 * The dashboard of a repository as the hub knows it: runs from all checkouts, in a state folder of its own. Nothing can be done there:
 * decisions and files belong to those who submitted.
 */
export async function openHubPages({ repo, base, databaseUrl, port }: PagesPlace): Promise<HubPages> {
  const project = withCachedIssues(await projectOf({ repo, baseDir: join(base, 'hub', 'pages') }));
  await prepareStateFolder(project.paths.base);
  const tokenFile = join(base, 'hub', 'pages-token');
  const session = createSession({ token: await keptSecret(tokenFile, newToken), port, hosts: null });
  const dashboard = await createDashboard({ project, version, readOnly: true, place: [] }, session);
  const stop = new AbortController();
  const following = followHubRuns({ project, databaseUrl, version }, stop.signal, { ofAll: true });
  return {
    handle: (request, response) => dashboard.handle(request, response),
    tokenFile,
    async close() {
      stop.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the hub' }));
      await following;
      await dashboard.close();
    },
  };
}
