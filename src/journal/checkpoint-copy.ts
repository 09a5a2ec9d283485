import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolder } from '../process/files.ts';
import { createDatabase, deleteDatabase } from './database-files.ts';
import { schema, sealOf } from './schema.ts';
import type { StoredStep } from './stored.ts';

/** Writes the steps of a journal that was kept elsewhere as a checkpoint, in place of the one that is there. */
export async function writeCheckpoint(file: string, steps: readonly StoredStep[]): Promise<void> {
  await makeFolder(dirname(file));
  deleteDatabase(file);
  createDatabase(file, schema);
  const db = new DatabaseSync(file);
  try {
    const insert =
      db.prepare(`INSERT INTO steps (number, id, name, starts, started_at, finished_at, finish_order, seal, result)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
    db.exec('BEGIN IMMEDIATE');
    for (const { number, id, name, starts, startedAt, end } of steps) {
      const { finishedAt = null, order = null, result = null } = end ?? {};
      const seal =
        end && sealOf({ id, name, startedAt, finishedAt: end.finishedAt, finishOrder: end.order, result: end.result });
      insert.run(number, id, name, starts, startedAt, finishedAt, order, seal, result);
    }
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/** The checkpoint is not needed any more. */
export function deleteCheckpoint(file: string): void {
  deleteDatabase(file);
}
