import type { ItemFinished } from '../../core/events.ts';
import { type Item, keyOf } from '../../core/item.ts';
import { type Delivered, deliver } from '../../hub/delivery.ts';
import type { TreeFiles } from '../../hub/document-trees.ts';
import { type Cursors, lastPoolEvent, type ReadEvents, readRunNews } from '../../hub/item-events.ts';
import type { ItemResult } from '../../hub/results.ts';
import { type HubConnection, submittedFiles } from '../../hub/submitter.ts';
import { deleteDatabase } from '../../journal/database.ts';
import { noteCopy, readJournals } from '../../journal/postgres.ts';
import { writeCheckpoint } from '../../journal/sqlite.ts';
import type { Emitter } from '../recording.ts';
import { itemOf } from '../run-items.ts';
import type { FollowedRun } from './hub-follow.ts';

/** Reads the events of a run into an emitter, and copies the files of its items here. */
export interface HubReader {
  read(): Promise<Pick<Awaited<ReturnType<typeof readRunNews>>, 'isMore' | 'isOver'>>;
  /** The items among these that the hub did not take, because they are under way there with another text. */
  refused(items: readonly Item[]): Promise<Item[]>;
}

export async function openHubReader(
  run: FollowedRun,
  connection: HubConnection,
  { emitter, complete }: { emitter: Emitter; complete: (item: Item, end: ItemFinished) => Promise<ItemFinished> },
  signal: AbortSignal,
): Promise<HubReader> {
  const { project, runId, repository } = run;
  const { paths, git } = project;
  const { database, checkout } = connection;
  const sql = database.patient(signal);
  const remote = connection.remoteFor(connection.tokenOf(runId), signal);
  const cursors: Cursors = { items: new Map(), pool: await lastPoolEvent(sql) };
  let submitted: TreeFiles | null = null;

  /** Copies the files of items that have ended, once for each item, so that later changes here are kept. */
  const collectFiles = async (batch: readonly ReadEvents[]): Promise<Map<number, Delivered>> => {
    const ended = batch.filter(({ events }) => events.some(({ type }) => type === 'item-finished'));
    if (ended.length === 0 || run.isShownOnly) return new Map();
    const rows = await sql.rows<{ id: number; result: ItemResult | null; delivered: Record<string, string> | null }>(
      `SELECT i.id, o.delivered, CASE WHEN o.delivered IS NULL THEN i.result END AS result
        FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item WHERE o.run = $1 AND i.id = ANY($2)`,
      [runId, ended.map(({ item }) => item)],
    );
    const known = new Map(rows.map((row) => [row.id, row]));
    const fresh = ended.filter(({ item }) => known.get(item)?.delivered === null);
    submitted ??= await submittedFiles(git, runId);
    const delivered = await deliver(
      { git, paths, runId, remote, repository, submitted },
      fresh.map(({ item, key }) => ({ item: itemOf(key), itemId: item, result: known.get(item)?.result ?? null })),
    );
    await copyJournals(fresh.map(({ key }) => key));
    const moved = fresh.map(({ item }) => JSON.stringify(Object.fromEntries(delivered.get(item)?.moved ?? [])));
    await sql.rows(
      `UPDATE agentos.run_items o SET delivered = g.moved::json FROM unnest($2::bigint[], $3::text[]) AS g(item, moved)
        WHERE o.run = $1 AND o.item = g.item`,
      [runId, fresh.map(({ item }) => item), moved],
    );
    for (const { id, delivered: earlier } of rows)
      if (earlier !== null) delivered.set(id, { moved: new Map(Object.entries(earlier)), warnings: [] });
    return delivered;
  };

  /** Leaves a checkpoint unless the item is done, as a local run does. */
  const copyJournals = async (keys: readonly string[]): Promise<void> => {
    const found = await readJournals(sql, repository, keys);
    for (const key of keys) {
      const item = itemOf(key);
      const file = paths.checkpoint(item.workflow, item.id);
      const steps = found.get(key);
      if (steps === undefined) deleteDatabase(file);
      else await writeCheckpoint(file, steps);
    }
    if (found.size > 0) await noteCopy(sql, repository, [...found.keys()], checkout);
  };

  return {
    async read() {
      const { items, pool, isMore, isOver } = await readRunNews(sql, runId, cursors);
      for (const event of pool) emitter.run(event);
      const delivered = await collectFiles(items);
      for (const { item, key, events } of items) {
        const { moved, warnings } = delivered.get(item) ?? { moved: new Map<string, string>(), warnings: [] };
        for (const text of warnings) emitter.run({ type: 'warning', text });
        const placed = (path: string): string => moved.get(path) ?? path;
        const owner = itemOf(key);
        for (const { at, ...event } of events) {
          if (event.type === 'item-finished')
            emitter.item(owner, await complete(owner, { ...event, outputs: event.outputs.map(placed) }), at);
          else emitter.item(owner, event.type === 'file-written' ? { ...event, path: placed(event.path) } : event, at);
        }
      }
      return { isMore, isOver };
    },
    async refused(items) {
      const placed = await sql.rows<{ key: string }>(
        'SELECT i.key FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item WHERE o.run = $1',
        [runId],
      );
      const keys = new Set(placed.map(({ key }) => key));
      return items.filter((item) => !keys.has(keyOf(item)));
    },
  };
}
