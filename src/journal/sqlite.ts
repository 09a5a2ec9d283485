import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { freeBytes, makeFolder } from '../process/files.ts';
import {
  Damage,
  deleteDatabase,
  examine,
  journalError,
  makeDatabase,
  makeIfMissing,
  pageBytes,
  pragma,
  readSteps,
  sealOf,
  writeStep,
} from './database.ts';
import { StoredJournal } from './journal.ts';
import type { OpenSteps, SettlingJournal, StoredStep } from './port.ts';

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
  makeDatabase(file, steps);
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
  readonly #write: (step: StoredStep) => void;
  /** Of the files, after our last write. */
  #signature: string;
  /** Changes with every write by another connection: by the next owner, or by a program that forges a record. */
  readonly #dataVersion: number;
  readonly #onStep: NonNullable<SqliteJournalOptions['onStep']>;
  readonly #isAlone: () => boolean;
  /** Why nothing can be read or written any more. */
  #ended: AgentosError | null = null;

  constructor(file: string, { clock, maxBytes, known, isAlone, onStep }: SqliteJournalOptions) {
    this.location = file;
    this.#clock = clock;
    this.#onStep = onStep ?? (() => undefined);
    let opened: DatabaseSync | null = null;
    try {
      makeIfMissing(file);
      const db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
      opened = db;
      examine(db, file);
      db.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL');
      if (maxBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
      this.#db = db;
      this.#write = writeStep(db);
      const { token, steps } = claim(db);
      this.#isAlone = isAlone ?? (() => tokenOf(db) === token);
      this.found = steps;
      const seals = steps.flatMap((step) => (step.end === null ? [] : [[step.id, sealOf(step, step.end)] as const]));
      const forged = seals.find(([id, seal]) => known !== undefined && known.get(id) !== seal);
      if (forged !== undefined) throw new Damage(`the record of step ${forged[0]} was not written by its owner`);
      this.#onStep(seals);
      this.#dataVersion = pragma(db, 'data_version');
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
      if (end === null && freeBytes(dirname(this.location)) < ROOM_BYTES) {
        const reason = `less than ${ROOM_BYTES / 1024} KB are free`;
        throw new AgentosError({ code: 'journal-full', file: this.location, reason });
      }
      this.#inTransaction(() => {
        if (end !== null) this.#onStep([[id, sealOf(step, end)]]);
        this.#write(step);
      });
    });
  }

  check(): void {
    this.#guard(() => {
      if (signatureOf(this.location) !== this.#signature) throw this.#changed();
      this.#requireUnchanged();
    });
  }

  async remove(): Promise<void> {
    this.#guard(() => {
      this.#inTransaction(() => undefined);
      this.close();
      deleteDatabase(this.location);
    });
  }

  close(): void {
    if (this.#ended !== null) return;
    this.#ended = new AgentosError({ code: 'journal-unusable', file: this.location, reason: 'it was closed' });
    closeQuietly(this.#db);
  }

  #requireUnchanged(): void {
    if (pragma(this.#db, 'data_version') !== this.#dataVersion) throw this.#changed();
  }

  /** If another owner took over, the change is its own. */
  #changed(): Error {
    if (this.#isAlone()) return new Damage('another program wrote to it');
    return new AgentosError({ code: 'journal-fenced', file: this.location });
  }

  #inTransaction(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      this.#requireUnchanged();
      work();
      this.#db.exec('COMMIT');
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
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

/** Makes every earlier owner stale. The steps are read in the same transaction: until then, the owner before us may store one. */
function claim(db: DatabaseSync): { token: number; steps: StoredStep[] } {
  db.exec('BEGIN IMMEDIATE; UPDATE owner SET token = token + 1');
  const token = tokenOf(db);
  if (typeof token !== 'number') throw new Damage('the owner record is missing');
  const steps = readSteps(db);
  db.exec('COMMIT');
  return { token, steps };
}

function tokenOf(db: DatabaseSync): unknown {
  return db.prepare('SELECT token FROM owner').get()?.['token'];
}

/** Of the database and its log. The time of the last change of any kind (ctime) can't be set back, unlike mtime. */
function signatureOf(file: string): string {
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
    .map((found) => (found === undefined ? '-' : `${found.ino} ${found.size} ${found.ctimeNs}`))
    .join(' ');
}

function closeQuietly(db: DatabaseSync): void {
  try {
    db.close();
  } catch {
    // What was committed is on disk, and the problem to report is the one that led here.
  }
}
