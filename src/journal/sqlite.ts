import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { freeBytes, makeFolder } from '../process/files.ts';
import { createDatabase, deleteDatabase, deleteDrafts, pageBytes } from './database-files.ts';
import { JournalFault, journalError } from './fault.ts';
import { StoredJournal } from './journal.ts';
import type { OpenSteps, SettlingJournal, StoredStep } from './port.ts';
import { examine, readSteps, schema, sealOf, writeStep } from './schema.ts';

export interface SqliteJournalOptions {
  clock: Clock;
  /** Past this size a step fails with `journal-full`, as on a full disk. */
  maxBytes?: number;
  /** The finished steps that it may hold, each with its seal; absent: any. */
  known?: ReadonlyMap<string, string>;
  /**
   * Asked if something else wrote to the file: true if no other owner can have taken it over. By default the fence decides.
   */
  isAlone?: () => boolean;
  /** Called with each finished step and its seal before it is in the file: first with all that were found, then one by one. */
  onStep?: (steps: readonly (readonly [id: string, seal: string])[]) => void;
}

/**
 * One SQLite file, one owner. Throws `journal-damaged` (the file was moved aside, and the next open starts over), or
 * `journal-newer`, `journal-full` or `journal-unusable` (the file is unchanged).
 */
export function openSqliteJournal(file: string, options: SqliteJournalOptions): SettlingJournal {
  const store = new SqliteSteps(resolve(file), options);
  return new StoredJournal(store, options.clock, store.found);
}

/** Writes steps that were kept elsewhere as a checkpoint, in place of the one that is there. */
export async function writeCheckpoint(file: string, steps: readonly StoredStep[]): Promise<void> {
  await makeFolder(dirname(file));
  deleteDatabase(file);
  createDatabase(file, schema);
  const db = new DatabaseSync(file);
  try {
    const write = writeStep(db);
    db.exec('BEGIN IMMEDIATE');
    for (const step of steps) write(step);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/** Free space that a step needs to start: with less, its result could not be stored. */
const ROOM_BYTES = 256 * 1024;
const BUSY_TIMEOUT_MS = 5_000;

class SqliteSteps implements OpenSteps {
  readonly location: string;
  /** The steps when it was opened. */
  readonly found: StoredStep[];
  readonly #clock: Clock;
  readonly #db: DatabaseSync;
  readonly #token: number;
  readonly #statements: ReturnType<typeof prepareStatements>;
  /** Of every finished step, by its id: as it was when it was opened or written. */
  readonly #seals: Map<string, string>;
  /** Of the files, after our last write. */
  #signature: string;
  readonly #dataVersion: number;
  readonly #onStep: NonNullable<SqliteJournalOptions['onStep']>;
  readonly #isAlone: () => boolean;
  /** Why nothing can be read or written any more. */
  #ended: AgentosError | null = null;

  constructor(file: string, { clock, maxBytes, known, isAlone, onStep }: SqliteJournalOptions) {
    this.location = file;
    this.#clock = clock;
    this.#onStep = onStep ?? (() => undefined);
    this.#isAlone = isAlone ?? (() => this.#statements.token.get()?.['token'] === this.#token);
    let opened: DatabaseSync | null = null;
    try {
      makeIfMissing(file);
      const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
      opened = db;
      examine(db, file);
      db.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL');
      if (maxBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
      this.#db = db;
      this.#statements = prepareStatements(db);
      const { token, steps } = claim(db);
      this.#token = token;
      this.found = steps;
      this.#seals = new Map(steps.flatMap((step) => (step.end === null ? [] : [[step.id, sealOf(step, step.end)]])));
      for (const [id, seal] of this.#seals)
        if (known !== undefined && known.get(id) !== seal) throw new JournalFault('damaged', forged(id));
      this.#onStep([...this.#seals]);
      this.#dataVersion = dataVersionOf(db);
      this.#signature = signatureOf(file);
    } catch (error) {
      // Moved before it is closed: closing a damaged file would fold the log into it and delete the log.
      const problem = journalError(error, file, clock.dateMs());
      if (opened !== null) closeQuietly(opened);
      throw problem;
    }
  }

  async put(step: StoredStep): Promise<void> {
    this.#guard(() => {
      const { id, end } = step;
      if (end === null && freeBytes(dirname(this.location)) < ROOM_BYTES)
        throw new JournalFault('full', `less than ${ROOM_BYTES / 1024} KB are free`);
      const seal = end && sealOf(step, end);
      this.#inTransaction(() => {
        if ((this.#statements.seal.get(id)?.['seal'] ?? null) !== (this.#seals.get(id) ?? null))
          throw this.#changed(forged(id));
        if (seal !== null) this.#onStep([[id, seal]]);
        this.#statements.write(step);
      });
      if (seal !== null) this.#seals.set(id, seal);
    });
  }

  check(): void {
    this.#guard(() => {
      const isSame = signatureOf(this.location) === this.#signature && dataVersionOf(this.#db) === this.#dataVersion;
      if (!isSame) throw this.#changed('another program wrote to it');
    });
  }

  async remove(): Promise<void> {
    this.#guard(() => {
      this.#inTransaction(() => undefined);
      this.close();
      deleteDatabase(this.location);
      deleteDrafts(this.location);
    });
  }

  close(): void {
    if (this.#ended !== null) return;
    this.#ended = new AgentosError({ code: 'journal-unusable', file: this.location, reason: 'it was closed' });
    try {
      this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch {
      // On a full disk, for example. The log stays beside the database, which is as good.
    }
    closeQuietly(this.#db);
  }

  /** If another owner took over, the change is its own. */
  #changed(reason: string): JournalFault {
    return this.#isAlone()
      ? new JournalFault('damaged', reason)
      : new JournalFault('fenced', 'another owner has taken over');
  }

  #inTransaction(work: () => void): void {
    const { begin, token, commit, rollback } = this.#statements;
    begin.run();
    try {
      if (token.get()?.['token'] !== this.#token) throw this.#changed('its fence was moved');
      work();
      commit.run();
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#db.isTransaction) rollback.run();
      throw error;
    } finally {
      // A write that failed may have changed the log too.
      this.#signature = signatureOf(this.location);
    }
  }

  #guard(work: () => void): void {
    if (this.#ended !== null) throw this.#ended;
    try {
      work();
    } catch (error) {
      const problem = journalError(error, this.location, this.#clock.dateMs());
      if (problem.code === 'journal-damaged') {
        this.#ended = problem;
        closeQuietly(this.#db);
      }
      throw problem;
    }
  }
}

function makeIfMissing(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) createDatabase(file, schema);
  // A journal appears with its schema in it or not at all, so an empty file has lost its contents.
  if (size === 0) throw new JournalFault('damaged', 'the file is empty');
}

/** Makes every earlier owner stale. The steps are read in the same transaction: until then, the owner before us may store one. */
function claim(db: DatabaseSync): { token: number; steps: StoredStep[] } {
  db.exec('BEGIN IMMEDIATE; UPDATE owner SET token = token + 1');
  const token = db.prepare('SELECT token FROM owner').get()?.['token'];
  if (typeof token !== 'number') throw new JournalFault('damaged', 'the owner record is missing');
  const steps = readSteps(db);
  db.exec('COMMIT');
  return { token, steps };
}

function forged(id: string): string {
  return `the record of step ${id} was not written by its owner`;
}

/** Changes with every write by another connection. */
function dataVersionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA data_version').get()?.['data_version']);
}

/** Of the database and its log. The time of the last change of any kind (ctime) can't be set back, unlike mtime. */
function signatureOf(file: string): string {
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
    .map((found) => (found === undefined ? '-' : `${found.ino} ${found.size} ${found.ctimeNs}`))
    .join(' ');
}

function prepareStatements(db: DatabaseSync) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    rollback: db.prepare('ROLLBACK'),
    token: db.prepare('SELECT token FROM owner'),
    seal: db.prepare('SELECT seal FROM steps WHERE id = ?'),
    write: writeStep(db),
  };
}

function closeQuietly(db: DatabaseSync): void {
  try {
    db.close();
  } catch {
    // What was committed is on disk, and the problem to report is the one that led here.
  }
}
