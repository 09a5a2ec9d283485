import { type Item, keyOf } from '../core/item.ts';
import { createGit } from '../git/git.ts';
import { type Delivered, deliver } from '../hub/delivery.ts';
import type { TreeFiles } from '../hub/document-trees.ts';
import { type Cursors, lastPoolEvent, type ReadEvents, readPoolEvents, readRunEvents } from '../hub/item-events.ts';
import { type HubConnection, submittedFiles } from '../hub/submitter.ts';
import { deleteCheckpoint, writeCheckpoint } from '../journal/checkpoint-copy.ts';
import { noteCopy, readJournal } from '../journal/postgres.ts';
import type { Emitter } from './emitter.ts';
import type { FollowedRun } from './hub-follow.ts';
import { itemOf } from './pipeline.ts';

/** Reads the events of a run into an emitter, and brings home what its items left. */
export interface HubReader {
  /** Whether there was anything new. */
  read(): Promise<boolean>;
  /** Every item of the run has ended, and what follows it too. */
  isOver(): Promise<boolean>;
  /** Items that the hub did not take, of these: they are under way there for another text. */
  refused(items: readonly Item[]): Promise<Item[]>;
}

export async function openHubReader(
  run: FollowedRun,
  connection: HubConnection,
  emitter: Emitter,
  signal: AbortSignal,
): Promise<HubReader> {
  const { project, runId, repository } = run;
  const { paths, childEnv } = project;
  const { database, checkout } = connection;
  const sql = database.patient(signal);
  const git = createGit(paths.repository, childEnv);
  const remote = connection.remoteFor(connection.tokenOf(runId), signal);
  const cursors: Cursors = new Map();
  let poolEvent = await lastPoolEvent(sql);
  let submitted: TreeFiles | null = null;

  const bringHome = async (batch: readonly ReadEvents[]): Promise<Map<number, Delivered>> => {
    const ended = batch.filter(({ events }) => events.some(({ type }) => type === 'item-finished'));
    if (ended.length === 0) return new Map();
    const results = await sql.rows<{ id: number; result: string | null }>(
      'SELECT id, result FROM agentos.items WHERE id = ANY($1)',
      [ended.map(({ item }) => item)],
    );
    submitted ??= await submittedFiles(git, runId);
    const delivered = await deliver(
      { git, paths, runId, remote, repository, submitted },
      ended.map(({ item, key }) => ({
        item: itemOf(key),
        itemId: item,
        hasResult: results.some(({ id, result }) => id === item && result !== null),
      })),
    );
    for (const { key } of ended) {
      const item = itemOf(key);
      const file = paths.checkpoint(item.workflow, item.id);
      const steps = await readJournal(sql, repository, key);
      if (steps === null || steps.length === 0) deleteCheckpoint(file);
      else {
        await writeCheckpoint(file, steps);
        await noteCopy(sql, repository, key, checkout);
      }
    }
    return delivered;
  };

  return {
    async read() {
      for (const { id, event } of await readPoolEvents(sql, poolEvent)) {
        poolEvent = id;
        emitter.run(event);
      }
      const batch = await readRunEvents(sql, runId, cursors);
      const delivered = await bringHome(batch);
      for (const { item, key, events } of batch) {
        const { moved, warnings } = delivered.get(item) ?? { moved: new Map<string, string>(), warnings: [] };
        for (const text of warnings) emitter.run({ type: 'warning', text });
        const placed = (path: string): string => moved.get(path) ?? path;
        for (const { at, ...event } of events) {
          if (event.type === 'item-finished')
            emitter.item(itemOf(key), { ...event, outputs: event.outputs.map(placed) }, at);
          else if (event.type === 'file-written') emitter.item(itemOf(key), { ...event, path: placed(event.path) }, at);
          else emitter.item(itemOf(key), event, at);
        }
      }
      return batch.length > 0;
    },
    async refused(items) {
      const placed = await sql.rows<{ key: string }>(
        'SELECT i.key FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item WHERE o.run = $1',
        [runId],
      );
      const keys = new Set(placed.map(({ key }) => key));
      return items.filter((item) => !keys.has(keyOf(item)));
    },
    async isOver() {
      const [row] = await sql.rows<{ left: number }>(
        `SELECT count(*) AS left FROM agentos.run_items o JOIN agentos.items i ON i.id = o.item
          WHERE o.run = $1 AND (i.state <> 'ended' OR NOT i.is_handled)`,
        [runId],
      );
      return row?.left === 0;
    },
  };
}
