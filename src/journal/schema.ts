import { createHash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { faultOf, JournalFault, NewerSchema, sqliteCode } from './fault.ts';
import type { StoredStep } from './stored.ts';

/** "agtj": marks a SQLite file as a journal of ours. */
const applicationId = 0x6167746a;
const schemaVersion = 1;

const stepsTable = `CREATE TABLE steps (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  starts INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  finished_at TEXT,
  finish_order INTEGER,
  seal TEXT,
  result TEXT
) STRICT`;

const ownerTable = `CREATE TABLE owner (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  token INTEGER NOT NULL
) STRICT`;

export const schema = `
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
  ${stepsTable};
  ${ownerTable};
  INSERT INTO owner (one, token) VALUES (1, 0);
`;

export interface FinishedStep {
  id: string;
  name: string;
  startedAt: string;
  finishedAt: string;
  finishOrder: number;
  /** JSON. */
  result: string;
}

/**
 * SQLite notices a page whose structure is broken, not one whose text was overwritten; the seal makes a changed result
 * as loud as a changed structure.
 */
export function sealOf(step: FinishedStep): string {
  const facts = JSON.stringify([step.id, step.name, step.startedAt, step.finishedAt, step.finishOrder]);
  return createHash('sha256').update(facts).update('\n').update(step.result).digest('hex');
}

export const stepColumns = 'id, name, started_at, finished_at, finish_order, seal, result';

/** A row of `stepColumns`: null when the step was started and has not finished. */
export function readStep(row: Record<string, SQLOutputValue>): FinishedStep | null {
  const { finished_at: finishedAt, finish_order: finishOrder, seal, result } = row;
  const id = text(row['id']);
  const name = text(row['name']);
  if (finishedAt === null && finishOrder === null && seal === null && result === null) return null;
  if (typeof finishOrder !== 'number') throw new JournalFault('damaged', `the record of step ${id} is incomplete`);
  const step: FinishedStep = {
    id,
    name,
    startedAt: text(row['started_at']),
    finishedAt: text(finishedAt),
    finishOrder,
    result: text(result),
  };
  if (sealOf(step) !== seal) throw new JournalFault('damaged', `the record of step ${id} was changed`);
  return step;
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new JournalFault('damaged', 'a record lacks a text');
  return value;
}

export interface Contents {
  /** In the order in which they finished. */
  finished: FinishedStep[];
  /** Names of steps that were started and have not finished, in the order in which they were last started. */
  inFlight: string[];
  /** The step that was started last: where the item is. */
  latest: { id: string; name: string } | null;
  /** All of them, as they would be stored elsewhere. */
  all: StoredStep[];
}

/** Reads the whole journal and throws a `JournalFault` unless every page and every record is sound. Writes nothing. */
export function examine(db: DatabaseSync, file: string): Contents {
  try {
    checkIdentity(db);
    const integrity = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    if (integrity !== 'ok') throw new JournalFault('damaged', String(integrity));
    return readContents(db);
  } catch (error) {
    // The statements are fixed, so SQLITE_ERROR says that the file isn't what they were written for.
    if (sqliteCode(error) === 1) throw new JournalFault('damaged', String(error), error);
    throw faultOf(error, file);
  }
}

function checkIdentity(db: DatabaseSync): void {
  const tables = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  const isOurs = tables.some((table) => table['sql'] === stepsTable);
  if (pragma(db, 'application_id') !== applicationId) {
    throw isOurs
      ? new JournalFault('damaged', 'the header was changed')
      : new JournalFault('foreign', 'the file is a database of another program');
  }
  const version = pragma(db, 'user_version');
  if (version > schemaVersion) throw new NewerSchema(version, schemaVersion);
  if (version < schemaVersion || !isOurs) throw new JournalFault('damaged', 'the schema is incomplete');
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

function readContents(db: DatabaseSync): Contents {
  const contents: Contents = { finished: [], inFlight: [], latest: null, all: [] };
  let highest = 0;
  const rows = db.prepare(`SELECT number, starts, ${stepColumns} FROM steps ORDER BY finish_order, number`);
  for (const row of rows.iterate()) {
    const step = readStep(row);
    const number = Number(row['number']);
    contents.all.push({
      id: text(row['id']),
      name: text(row['name']),
      number,
      starts: Number(row['starts']),
      startedAt: text(row['started_at']),
      end: step && { finishedAt: step.finishedAt, order: step.finishOrder, result: step.result },
    });
    if (number > highest) {
      highest = number;
      contents.latest = { id: text(row['id']), name: text(row['name']) };
    }
    if (step === null) contents.inFlight.push(text(row['name']));
    else contents.finished.push(step);
  }
  return contents;
}
