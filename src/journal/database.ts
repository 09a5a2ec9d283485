import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { AgentosError, systemCode } from '../core/errors.ts';
import { diskFault, writeFileExclusive } from '../process/files.ts';
import type { StoredStep } from './port.ts';

/*
 * The SQLite file of a journal: its schema, how it is made, checked, moved aside and deleted, and what its errors mean.
 */

/** "agtj": marks a SQLite file as a journal of ours. */
const applicationId = 0x6167746a;
const schemaVersion = 1;
export const pageBytes = 4096;

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

const schema = `
  PRAGMA page_size = ${pageBytes};
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${schemaVersion};
  ${stepsTable};
  CREATE TABLE owner (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    token INTEGER NOT NULL
  ) STRICT;
  INSERT INTO owner (one, token) VALUES (1, 0);
`;

/** Files that SQLite keeps beside a database: the write-ahead log, its index, and a rollback journal. */
const companions = ['-wal', '-shm', '-journal'];

/** A journal that is not sound. Its owner moves it aside; an inspection leaves it where it is. */
export class Damage extends Error {}

/** Makes a journal where none is. */
export function makeIfMissing(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  // Looked for before the database: a process that makes one meanwhile makes the database first, so its log is no orphan.
  const orphans = companions.filter((suffix) => existsSync(file + suffix));
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  // A journal appears with its schema in it or not at all, so an empty file has lost its contents.
  if (size === 0) throw new Damage('the file is empty');
  if (size !== undefined) return;
  // A log without its database would be applied to the next database of that name.
  for (const suffix of orphans) rmSync(file + suffix, { force: true });
  makeDatabase(file, []);
}

/** Makes a journal with these steps, whole. If another process makes one meanwhile, that one stays. */
export function makeDatabase(file: string, steps: readonly StoredStep[]): void {
  const db = new DatabaseSync(':memory:');
  try {
    db.exec(schema);
    const write = writeStep(db);
    for (const step of steps) write(step);
    // Bytes 18 and 19 of the header: the database has a write-ahead log.
    writeFileExclusive(file, Buffer.from(db.serialize()).fill(2, 18, 20), { flush: true });
  } finally {
    db.close();
  }
}

/** Deletes the database first: companions without a database read as no journal, but a database without its log may lack pages. */
export function deleteDatabase(file: string): void {
  for (const suffix of ['', ...companions]) rmSync(file + suffix, { force: true });
}

/**
 * Moves a damaged journal to `<file>.damaged-<timestamp>` and returns that name. The database is moved last: a crash in between
 * leaves the damaged file in its place, where it is found again, and never a log without its database.
 */
function keepAside(file: string, nowMs: number): string {
  const wanted = `${file}.damaged-${new Date(nowMs).toISOString().replaceAll(/[-:]/g, '')}`;
  let keptAs = wanted;
  for (let n = 2; ['', ...companions].some((suffix) => existsSync(keptAs + suffix)); n++) keptAs = `${wanted}-${n}`;
  for (const suffix of companions) if (existsSync(file + suffix)) renameSync(file + suffix, keptAs + suffix);
  renameSync(file, keptAs);
  return keptAs;
}

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

/** Every step: those in flight by their start, then the others by their end. */
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
  if (typeof order !== 'number') throw new Damage(`the record of step ${id} is incomplete`);
  const end = { finishedAt: text(finishedAt), order, result: text(result) };
  if (sealOf(step, end) !== seal) throw new Damage(`the record of step ${id} was changed`);
  return { ...step, end };
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new Damage('a record lacks a text');
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

/** Reads the whole journal, and throws a `Damage` unless every page and every record is sound. Writes nothing. */
export function examine(db: DatabaseSync, file: string): StoredStep[] {
  try {
    checkIdentity(db, file);
    const integrity = db.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check'];
    if (integrity !== 'ok') throw new Damage(String(integrity));
    return readSteps(db);
  } catch (error) {
    // The statements are fixed, so SQLITE_ERROR means that the file isn't what they were written for.
    throw sqliteCode(error) === 1 ? new Damage(String(error), { cause: error }) : error;
  }
}

function checkIdentity(db: DatabaseSync, file: string): void {
  const tables = db.prepare('SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  const isOurs = tables.some((table) => table['sql'] === stepsTable);
  if (pragma(db, 'application_id') !== applicationId) {
    if (isOurs) throw new Damage('the header was changed');
    throw new AgentosError({ code: 'journal-unusable', file, reason: 'the file is a database of another program' });
  }
  const version = pragma(db, 'user_version');
  if (version > schemaVersion)
    throw new AgentosError({ code: 'journal-newer', file, found: version, supported: schemaVersion });
  if (version < schemaVersion || !isOurs) throw new Damage('the schema is incomplete');
}

export function pragma(db: DatabaseSync, name: 'application_id' | 'user_version' | 'data_version'): number {
  return Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
}

// SQLite's result codes: the primary ones, which are the low byte of `errcode`, and two extended ones.
const busyCodes: ReadonlySet<number> = new Set([5, 6]);
const damageCodes: ReadonlySet<number> = new Set([11, 26]);
const fullCode = 13;
const ioError = 10;
const cantOpen = 14;
const ioErrorShortRead = 522;
const ioErrorCorruptFileSystem = 8458;

/** What an owner reports. Moves a damaged file aside, so that the next open starts over and nothing is lost. */
export function journalError(error: unknown, file: string, nowMs: number): AgentosError {
  const cause = error instanceof AgentosError && error.code === 'output-unwritable' ? error.cause : error;
  if (cause instanceof AgentosError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const kind = kindOf(cause, file);
  if (kind === 'full') return new AgentosError({ code: 'journal-full', file, reason }, { cause });
  if (kind !== 'damaged') {
    const retry = kind === 'busy' ? ({ retry: 'transient' } as const) : {};
    return new AgentosError({ code: 'journal-unusable', file, reason }, { cause, ...retry });
  }
  try {
    return new AgentosError({ code: 'journal-damaged', file, keptAs: keepAside(file, nowMs), reason }, { cause });
  } catch (moving) {
    const why = moving instanceof Error ? moving.message : String(moving);
    const both = `damaged (${reason}) and could not be moved aside: ${why}`;
    return new AgentosError({ code: 'journal-unusable', file, reason: both }, { cause });
  }
}

function kindOf(error: unknown, file: string): 'damaged' | 'full' | 'busy' | 'unusable' {
  const code = systemCode(error);
  // The second is an integer that we never store.
  if (error instanceof Damage || code === 'ERR_OUT_OF_RANGE') return 'damaged';
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'full';
  const extended = sqliteCode(error);
  const primary = extended & 0xff;
  if (extended === ioErrorShortRead || extended === ioErrorCorruptFileSystem || damageCodes.has(primary))
    return 'damaged';
  // SQLite reports a file that can't grow for lack of space like any other I/O error.
  const isStuck = primary === ioError || primary === cantOpen;
  if (primary === fullCode || (isStuck && diskFault(dirname(file)) === 'ENOSPC')) return 'full';
  return busyCodes.has(primary) ? 'busy' : 'unusable';
}

/** 0: it is no error of SQLite's. */
function sqliteCode(error: unknown): number {
  const isSqlite = systemCode(error) === 'ERR_SQLITE_ERROR' && error instanceof Error && 'errcode' in error;
  return isSqlite ? Number(error.errcode) : 0;
}
