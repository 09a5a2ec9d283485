import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Project } from '../run/project.ts';
import { type DatabaseFlags, databaseOf } from './place.ts';
import { printProblem } from './problem.ts';
import { version } from './version.ts';

/** Updates the files of runs at the hub. If that fails, the command shows what is known here. */
export async function lookAtHubFirst(project: Project, flags: DatabaseFlags): Promise<void> {
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return;
  const { lookAtHub } = await import('../run/hub/hub-sync.ts');
  await lookAtHub({ project, databaseUrl, version }).catch((error: unknown) =>
    printProblem(toErrorRecord(error).problem),
  );
}

/** Takes a decision; where there is a hub, so that it hears of it. */
export async function decideAtHub<T>(
  project: Project,
  flags: DatabaseFlags,
  id: ItemId,
  decide: () => Promise<T>,
): Promise<T> {
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return decide();
  const { withHubJournal } = await import('../run/hub/hub-sync.ts');
  return withHubJournal({ project, databaseUrl, version }, id, decide);
}

/** Keeps the files of runs at the hub up to date until it is stopped. */
export async function followAtHub(project: Project, flags: DatabaseFlags): Promise<() => Promise<void>> {
  await lookAtHubFirst(project, flags);
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return async () => undefined;
  const { followHubRuns } = await import('../run/hub/hub-sync.ts');
  const stop = new AbortController();
  const following = followHubRuns({ project, databaseUrl, version }, stop.signal);
  return async () => {
    stop.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the command' }));
    await following;
  };
}
