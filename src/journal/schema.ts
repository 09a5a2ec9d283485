import { createHash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { AgentosError } from '../core/errors.ts';
import { faultOf, JournalFault, sqliteCode } from './fault.ts';
import type { StoredStep } from './port.ts';

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

/**
 * SQLite notices a page whose structure is broken, but not one whose text was overwritten. The seal reveals a changed result, too.
 */
export function sealOf(
  { id, name, startedAt }: Pick<StoredStep, 'id' | 'name' | 'startedAt'>,
  { finishedAt, order, result }: NonNullable<StoredStep['end']>,
): string {
  const facts = JSON.stringify([id, name, startedAt, finishedAt, order]);
  return createHash('sha256').update(facts).update('\n').update(result).digest('hex');
}

/** Every step: those in flight by their start, then the others by their end. Throws a `JournalFault` if a record is not sound. */
export function readSteps(db: DatabaseSync): StoredStep[] {
  return db.prepare('SELECT * FROM steps ORDER BY finish_order, number').all().map(readStep);
}

function readStep(row: Record<string, SQLOutputValue>): StoredStep {
  const { finished_at: finishedAt, finish_order: order, seal, result } = row;
  const id = text(row['id']);
  const step: StoredStep = {
    id,
    name: text(row['name']),
    number: Number(row['number']),
    starts: Number(row['starts']),
    startedAt: text(row['started_at']),
    end: null,
  };
  if (finishedAt === null && order === null && seal === null && result === null) return step;
  if (typeof order !== 'number') throw new JournalFault('damaged', `the record of step ${id} is incomplete`);
  const end = { finishedAt: text(finishedAt), order, result: text(result) };
  if (sealOf(step, end) !== seal) throw new JournalFault('damaged', `the record of step ${id} was changed`);
  return { ...step, end };
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new JournalFault('damaged', 'a record lacks a text');
  return value;
}

/** Adds a step, or replaces the one with its id. */
export function writeStep(db: DatabaseSync): (step: StoredStep) => void {
  const statement = db.prepare(`INSERT INTO steps
      (number, id, name, starts, started_at, finished_at, finish_order, seal, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET number = excluded.number, starts = excluded.starts, started_at = excluded.started_at,
      finished_at = excluded.finished_at, finish_order = excluded.finish_order, seal = excluded.seal, result = excluded.result`);
  return (step) => {
    const { number, id, name, starts, startedAt, end } = step;
    const { finishedAt = null, order = null, result = null } = end ?? {};
    statement.run(number, id, name, starts, startedAt, finishedAt, order, end && sealOf(step, end), result);
  };
}

/** Reads the whole journal, and throws a `JournalFault` unless every page and every record is sound. Writes nothing. */
export function examine(db: DatabaseSync, file: string): StoredStep[] {
  try {
    checkIdentity(db, file);
    const integrity = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    if (integrity !== 'ok') throw new JournalFault('damaged', String(integrity));
    return readSteps(db);
  } catch (error) {
    if (error instanceof AgentosError) throw error;
    // The statements are fixed, so SQLITE_ERROR means that the file isn't what they were written for.
    if (sqliteCode(error) === 1) throw new JournalFault('damaged', String(error), error);
    throw faultOf(error, file);
  }
}

function checkIdentity(db: DatabaseSync, file: string): void {
  const tables = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  const isOurs = tables.some((table) => table['sql'] === stepsTable);
  if (pragma(db, 'application_id') !== applicationId) {
    throw isOurs
      ? new JournalFault('damaged', 'the header was changed')
      : new JournalFault('unusable', 'the file is a database of another program');
  }
  const version = pragma(db, 'user_version');
  if (version > schemaVersion)
    throw new AgentosError({ code: 'journal-newer', file, found: version, supported: schemaVersion });
  if (version < schemaVersion || !isOurs) throw new JournalFault('damaged', 'the schema is incomplete');
}

function pragma(db: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}
