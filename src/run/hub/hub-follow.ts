import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { outcomeAsEnd } from '../../coordinator/attempt.ts';
import { AgentosError, toErrorRecord } from '../../core/errors.ts';
import type { ItemFinished } from '../../core/events.ts';
import type { ItemId } from '../../core/ids.ts';
import { type Item, keyOf } from '../../core/item.ts';
import type { Summary } from '../../core/summary.ts';
import { stopRun } from '../../hub/backlog.ts';
import { patiently } from '../../hub/database.ts';
import { forgetSubmitted, type HubConnection } from '../../hub/submitter.ts';
import { tryLock } from '../../process/lock.ts';
import type { Issue } from '../../source/port.ts';
import { isOpen } from '../pipeline.ts';
import { openRecording, type RecordedRun } from '../recording.ts';
import { doneElsewhere } from '../run-items.ts';
import type { Publisher } from '../services/publish.ts';
import { followCancels, type Interruption } from '../stops.ts';
import { type HubReader, openHubReader } from './hub-reader.ts';

export interface FollowedRun extends RecordedRun {
  repository: string;
  /** It was submitted elsewhere: its files are not copied here. */
  isShownOnly?: boolean;
  /** The texts that its items started with, if it was submitted just now. */
  started?: ReadonlyMap<ItemId, Issue>;
}

/** Collects the events of several machines before the next read. */
const PAUSE_MS = 200;
/** After an interruption: how long its items may take to end. */
const STOPPED_MS = 20_000;
const PATIENCE_MS = 8_000;

/**
 * Reads the events of a run at the hub, from the first on, into the files and subscribers of a local run, and copies the files of its
 * items here. `follow`: until all items have ended; `look`: only what has happened so far. Null: it has not ended.
 */
export async function followHubRun(
  run: FollowedRun,
  connection: HubConnection,
  how: 'follow' | 'look',
): Promise<Summary | null> {
  // Another process that follows it writes the same files.
  const file = join(run.project.paths.run(run.runId).directory, 'following.lock');
  const lock = tryLock(file) ?? tryLock(file);
  if (lock === null) return null;
  try {
    return await follow(run, connection, how);
  } finally {
    lock.release();
  }
}

async function follow(run: FollowedRun, connection: HubConnection, how: 'follow' | 'look'): Promise<Summary | null> {
  const { project, pipeline, plan, runId, interrupt } = run;
  const runPaths = project.paths.run(runId);
  // Everything is read again, so that nothing is there twice and nothing is missing.
  for (const path of [runPaths.events, join(runPaths.directory, 'logs'), join(runPaths.directory, 'audit')])
    await rm(path, { recursive: true, force: true });
  const recording = await openRecording(run);
  const { emitter, files, publisher } = recording;
  for (const text of plan.notes) emitter.warn(text);
  for (const [id, issue] of run.started ?? []) publisher?.read(id, issue);
  const patience = patienceOf(interrupt);
  const complete = (item: Item, end: ItemFinished): Promise<ItemFinished> =>
    completed(publisher, item, end, interrupt.polite);
  const reader = await openHubReader(run, connection, { emitter, complete }, patience);
  await recording.endWithoutWorker();
  for (const item of await reader.refused(plan.items.filter(isOpen))) {
    const error = toErrorRecord(new AgentosError({ code: 'item-elsewhere', workflow: item.workflow, id: item.id }));
    const { result } = await doneElsewhere(item, { project, pipeline, isSelected: false });
    const end = outcomeAsEnd(result === null ? { error } : { result });
    emitter.item(item, await complete(item, { type: 'item-finished', attempts: 0, durationMs: 0, ...end }));
  }
  const onStop = async (): Promise<void> => {
    emitter.run({ type: 'interrupted', signal: interrupt.by() ?? 'SIGINT' });
    const reason = toErrorRecord(interrupt.polite.reason);
    await patiently(patience, () => stopRun(connection.database, runId, reason));
  };
  const cancels = followCancels(runPaths, (id, by) => {
    const item = recording.itemAt(id);
    if (how === 'look' || item === null) return;
    const reason = toErrorRecord(new AgentosError({ code: 'item-cancelled', by }));
    const key = keyOf(item);
    void patiently(patience, () => stopRun(connection.database, runId, reason, key)).catch(() => undefined);
  });
  const isEnded = await readToTheEnd(reader, run, connection, how, onStop).catch((error: unknown) => {
    if (interrupt.now.aborted) return true;
    if (!patience.aborted) throw error;
    emitter.run({ type: 'warning', text: 'The hub can not be reached: its items may still be worked on.' });
    return false;
  });
  cancels.close();
  await publisher?.close(interrupt.polite);
  if (!isEnded) {
    files.close();
    return null;
  }
  recording.endKilled();
  const summary = await recording.finish();
  if (run.isShownOnly) return summary;
  await forgetSubmitted(project.git, runId);
  // The hub need not keep their files.
  await connection.database
    .rows('UPDATE agentos.runs SET collected_at = clock_timestamp() WHERE id = $1', [runId])
    .catch(() => undefined);
  return summary;
}

/** Posts an item that ended well, as a local run does: it opens its pull request, for example. */
async function completed(
  publisher: Publisher | undefined,
  item: Item,
  end: ItemFinished,
  stop: AbortSignal,
): Promise<ItemFinished> {
  const { status, reason, outputs } = end;
  if (publisher === undefined || (status !== 'succeeded' && status !== 'discuss' && status !== 'skipped')) return end;
  return publisher.complete(item, { status, reason, outputs }, stop).then(
    (result) => ({ ...end, ...outcomeAsEnd({ result }) }),
    (error: unknown) => ({ ...end, ...outcomeAsEnd({ error: toErrorRecord(error) }) }),
  );
}

/** Aborted when the wait for an unreachable hub ends: some seconds after an interruption, otherwise never. */
function patienceOf({ polite, now }: Interruption): AbortSignal {
  const over = new AbortController();
  const soon = (): void => void setTimeout(() => over.abort(polite.reason), PATIENCE_MS).unref();
  if (polite.aborted) soon();
  else polite.addEventListener('abort', soon, { once: true });
  return AbortSignal.any([now, over.signal]);
}

/** False: it has not ended. */
async function readToTheEnd(
  reader: HubReader,
  { interrupt, repository }: FollowedRun,
  connection: HubConnection,
  how: 'follow' | 'look',
  onStop: () => Promise<void>,
): Promise<boolean> {
  const asked = new Promise<void>((resolve) => {
    interrupt.polite.addEventListener('abort', () => resolve(), { once: true });
    if (interrupt.polite.aborted) resolve();
  });
  let until = Number.POSITIVE_INFINITY;
  while (!interrupt.now.aborted && performance.now() < until) {
    // A closed terminal leaves it running.
    if (interrupt.by() === 'SIGHUP') return false;
    const news = how === 'follow' ? connection.news(repository) : null;
    const { isMore, isOver } = await reader.read();
    if (isOver) return true;
    if (isMore) continue;
    if (how === 'look') return false;
    const isStopping = until !== Number.POSITIVE_INFINITY;
    if (interrupt.polite.aborted && !isStopping) {
      if (interrupt.by() === 'SIGHUP') continue;
      until = performance.now() + STOPPED_MS;
      await onStop();
    }
    await Promise.race([news?.then(() => sleep(PAUSE_MS)), ...(isStopping ? [] : [asked])]);
  }
  return true;
}
