import { setTimeout as sleep } from 'node:timers/promises';
import type { Subscriber } from '../../core/events.ts';
import type { ItemId } from '../../core/ids.ts';
import { keyOf } from '../../core/item.ts';
import { STAGES } from '../../core/paths.ts';
import type { Summary } from '../../core/summary.ts';
import { type HubConnection, openHubConnection, repositoryName } from '../../hub/submitter.ts';
import { inspectJournal } from '../../journal/inspect.ts';
import { addJournals, noteCopy, readJournals } from '../../journal/postgres.ts';
import { writeCheckpoint } from '../../journal/sqlite.ts';
import { writeFileAtomic } from '../../process/files.ts';
import { type RunRecord, readRecord, readSummary, runIds } from '../history/run-files.ts';
import { pipelineNamed } from '../plan-batch.ts';
import type { Project } from '../project.ts';
import { openPosting } from '../services/hosts.ts';
import type { Interruption } from '../stops.ts';
import { followHubRun } from './hub-follow.ts';

/** For runs that are only read: the end of reading leaves them running. */
function leavingAt(end: AbortSignal): Interruption {
  const by = () => (end.aborted ? 'SIGHUP' : null);
  return { polite: end, now: new AbortController().signal, by, onStopped: () => undefined };
}

const LOOK_EVERY_MS = 2_000;

interface HubPlace {
  project: Project;
  databaseUrl: string;
  version: string;
}

/** Connects to the hub for as long as this takes. */
async function atHub<T>(
  { project, databaseUrl, version }: HubPlace,
  work: (connection: HubConnection) => Promise<T>,
): Promise<T> {
  const connection = await openHubConnection({ databaseUrl, base: project.paths.base, version });
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Runs of this state folder that had not ended at the hub when they were last read, newest first. */
export async function openHubRuns({ paths }: Project): Promise<RunRecord[]> {
  const found: RunRecord[] = [];
  for (const runId of await runIds(paths)) {
    const record = await readRecord(paths, runId);
    if (record?.hub?.isSubmitted !== true || (await readSummary(paths, runId)) !== null) continue;
    found.push(record);
  }
  return found;
}

/** Reads the events of runs that were left running, and copies their files here. Skips a run that another process follows. */
export async function lookAtHub(place: HubPlace): Promise<void> {
  const runs = await openHubRuns(place.project);
  if (runs.length === 0) return;
  const quiet = { interrupt: leavingAt(new AbortController().signal), subscribers: [], openPublisher: null };
  await atHub(place, async (connection) => {
    // The oldest first: a later run may have worked on the same item.
    for (const record of runs.toReversed()) {
      const run = await followedRun(place.project, connection, record);
      if (run !== null) await followHubRun({ ...run, ...quiet }, connection, 'look');
    }
  });
}

/** Null: the database does not have the run. It was emptied, or is another one. */
async function followedRun(
  project: Project,
  { database }: HubConnection,
  { runId, hub, workflow, request, startedAt }: RunRecord,
) {
  const [known] = await database.rows('SELECT 1 FROM agentos.runs WHERE id = $1 AND documents IS NOT NULL', [runId]);
  if (known === undefined || hub === undefined) return null;
  const { plan, repository, retryFlags, isShownOnly = false } = hub;
  return {
    project,
    pipeline: pipelineNamed(workflow, request),
    plan,
    runId,
    startedAt: new Date(startedAt),
    repository,
    retryFlags,
    isShownOnly,
  };
}

/**
 * Keeps the files of runs at the hub up to date until `stop`. Retries if the hub can't be reached. `ofAll`: also of runs that were
 * submitted elsewhere, which are only shown.
 */
export async function followHubRuns(
  { project, databaseUrl, version }: HubPlace,
  stop: AbortSignal,
  { ofAll = false } = {},
): Promise<void> {
  const followed = new Map<string, Promise<unknown>>();
  const interrupt = leavingAt(stop);
  let opened: HubConnection | null = null;
  const begin = async (connection: HubConnection, record: RunRecord): Promise<void> => {
    const { runId } = record;
    const run = await followedRun(project, connection, record).catch(() => null);
    if (run === null) return;
    const following = followHubRun({ ...run, interrupt, subscribers: [], openPublisher: null }, connection, 'follow')
      .catch(() => undefined)
      .finally(() => followed.delete(runId));
    followed.set(runId, following);
  };
  while (!stop.aborted) {
    if (ofAll || (await openHubRuns(project)).length > followed.size)
      opened ??= await openHubConnection({ databaseUrl, base: project.paths.base, version }).catch(() => null);
    if (ofAll && opened !== null) await noteRuns(project, opened.database).catch(() => undefined);
    const fresh = (await openHubRuns(project)).filter(({ runId }) => !followed.has(runId));
    if (opened !== null) for (const record of fresh) await begin(opened, record);
    await sleep(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
  await Promise.all(followed.values());
  await opened?.close();
}

/** Older runs are not shown. */
const MOST_SHOWN = 200;

/** Makes a folder here for each of the hub's runs of this repository. */
async function noteRuns({ paths, git }: Project, database: HubConnection['database']): Promise<void> {
  const repository = await repositoryName(git);
  const known = new Set(await runIds(paths));
  const ids = await database.rows<{ id: string }>(
    'SELECT id FROM agentos.runs WHERE repository = $1 AND documents IS NOT NULL ORDER BY id DESC LIMIT $2',
    [repository, MOST_SHOWN],
  );
  for (const { id } of ids.filter((run) => !known.has(run.id))) {
    const [row] = await database.rows<{ record: RunRecord }>('SELECT record FROM agentos.runs WHERE id = $1', [id]);
    if (row === undefined) continue;
    const record = { ...row.record, hub: { ...row.record.hub, isShownOnly: true } };
    await writeFileAtomic(paths.run(id).record, `${JSON.stringify(record, null, 2)}\n`);
  }
}

interface Attached extends HubPlace {
  interrupt: Interruption;
  subscribers: Subscriber[];
}

/** Follows a run that was left running to its end. Null: it continues without us; undefined: there is no such run at the hub. */
export function attachToHub(
  { interrupt, subscribers, ...place }: Attached,
  record: RunRecord,
): Promise<Summary | null | undefined> {
  return atHub(place, async (connection) => {
    const run = await followedRun(place.project, connection, record);
    if (run === null) return undefined;
    const openPublisher = await openPosting(place.project);
    return followHubRun({ ...run, interrupt, subscribers, openPublisher }, connection, 'follow');
  });
}

/**
 * Fetches the journals of an item from the hub, makes a decision on it here, and stores that at the hub: whichever checkout submits the
 * item next, it resumes with the decision.
 */
export async function withHubJournal<T>(place: HubPlace, id: ItemId, decide: () => Promise<T>): Promise<T> {
  const { paths, git } = place.project;
  await lookAtHub(place);
  return atHub(place, async ({ database, checkout }) => {
    const repository = await repositoryName(git);
    const missing = STAGES.filter((workflow) => inspectJournal(paths.checkpoint(workflow, id)) === null);
    const keys = missing.map((workflow) => keyOf({ workflow, id }));
    const found = await readJournals(database, repository, keys);
    for (const workflow of missing) {
      const steps = found.get(keyOf({ workflow, id }));
      if (steps !== undefined) await writeCheckpoint(paths.checkpoint(workflow, id), steps);
    }
    await noteCopy(database, repository, [...found.keys()], checkout);
    const decided = await decide();
    for (const workflow of STAGES) {
      const steps = inspectJournal(paths.checkpoint(workflow, id))?.all ?? [];
      const key = keyOf({ workflow, id });
      const [busy] = await database.rows(
        `SELECT 1 FROM agentos.items WHERE repository = $1 AND key = $2 AND state <> 'ended'`,
        [repository, key],
      );
      if (steps.length === 0 || busy !== undefined) continue;
      await database.transaction((sql) => addJournals(sql, { repository, checkout }, [{ key, steps }]));
      await noteCopy(database, repository, [key], checkout);
    }
    return decided;
  });
}
