import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Project } from '../run/project.ts';
import { printProblem } from './problem.ts';
import { type DatabaseFlags, databaseOf } from './request.ts';
import { version } from './version.ts';

/** Brings home what runs at the hub have done since. What is known here is shown in any case. */
export async function lookAtHubFirst(project: Project, flags: DatabaseFlags): Promise<void> {
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return;
  const { lookAtHub } = await import('../run/hub-sync.ts');
  await lookAtHub({ project, databaseUrl, version }).catch((error: unknown) =>
    printProblem(toErrorRecord(error).problem),
  );
}

/** Keeps the files of the item's run at the hub up to date until it is stopped. */
export async function followAtHub(project: Project, flags: DatabaseFlags, id: ItemId): Promise<() => Promise<void>> {
  await lookAtHubFirst(project, flags);
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return async () => undefined;
  const { attachToHub, openHubRuns } = await import('../run/hub-sync.ts');
  const run = (await openHubRuns(project)).find(({ record }) => record.items.some((item) => item.id === id));
  if (run === undefined) return async () => undefined;
  const stop = new AbortController();
  const polite = new AbortController().signal;
  const interrupt = { polite, now: stop.signal, by: () => null, onStopped: () => undefined };
  const following = attachToHub({ project, databaseUrl, version, interrupt, subscribers: [] }, run).catch(
    () => undefined,
  );
  return async () => {
    stop.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the command' }));
    await following;
  };
}
