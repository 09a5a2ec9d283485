import { AgentosError, toErrorRecord, usageError } from '../core/errors.ts';
import type { ItemId } from '../core/ids.ts';
import type { Summary } from '../core/summary.ts';
import type { Database } from '../hub/database.ts';
import type { Project } from '../run/project.ts';
import type { RunOptions } from '../run/run.ts';
import { printProblem } from './print.ts';
import { databaseOf, type PlaceFlags } from './request.ts';
import { version } from './version.ts';

/*
 * What commands do at a hub, if a flag or the environment names its database. The code is loaded then.
 */

export function requireDatabase(flags: PlaceFlags): string {
  const url = databaseOf(flags);
  if (url !== null) return url;
  throw usageError('Which database?', 'Name it with --database postgres://…, or in AGENTOS_DATABASE_URL.');
}

/** For a command that does one thing with the database; `anyVersion`: of whatever schema. */
export async function withDatabase<T>(
  flags: PlaceFlags,
  work: (database: Database) => Promise<T>,
  { anyVersion = false } = {},
): Promise<T> {
  const { openDatabase } = await import('../hub/database.ts');
  const { requireSchema } = await import('../hub/migrations.ts');
  const database = openDatabase(requireDatabase(flags), { application: 'agentos', connections: 2 });
  try {
    if (!anyVersion) await requireSchema(database);
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Submits the items of a run and follows it. */
export async function runAtHub(
  options: RunOptions,
  databaseUrl: string,
  how: { detach: boolean; parallel: number | null },
): Promise<Summary | 'left'> {
  const { openHubConnection } = await import('../hub/submitter.ts');
  const { runOnHub } = await import('../run/hub/hub-run.ts');
  const connection = await openHubConnection({ databaseUrl, base: options.project.paths.base, version });
  try {
    return (await runOnHub(options, { connection, ...how })) ?? 'left';
  } finally {
    await connection.close();
  }
}

/** Updates the files of runs at the hub. If that fails, the command shows what is known here. */
export async function lookAtHubFirst(project: Project, flags: PlaceFlags): Promise<void> {
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
  flags: PlaceFlags,
  id: ItemId,
  decide: () => Promise<T>,
): Promise<T> {
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return decide();
  const { withHubJournal } = await import('../run/hub/hub-sync.ts');
  return withHubJournal({ project, databaseUrl, version }, id, decide);
}

/** Keeps the files of runs at the hub up to date until it is disposed of; null: there is no hub. */
export async function followAtHub(project: Project, flags: PlaceFlags): Promise<AsyncDisposable | null> {
  await lookAtHubFirst(project, flags);
  const databaseUrl = databaseOf(flags);
  if (databaseUrl === null) return null;
  const { followHubRuns } = await import('../run/hub/hub-sync.ts');
  const stop = new AbortController();
  const following = followHubRuns({ project, databaseUrl, version }, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the command' }));
      await following;
    },
  };
}
