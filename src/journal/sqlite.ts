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
import { journalOver } from './journal.ts';
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

/** Writes steps that were kept elsewhere as a checkpoint, in place of the one that is there. */
export async function writeCheckpoint(file: string, steps: readonly StoredStep[]): Promise<void> {
  await makeFolder(dirname(file));
  deleteDatabase(file);
  makeDatabase(file, steps);
}

/** Free space that a step needs to start: with less, its result could not be stored. */
const ROOM_BYTES = 256 * 1024;
const BUSY_TIMEOUT_MS = 5_000;

/**
 * One SQLite file, one owner. Throws `journal-damaged` (the file was moved aside, and the next open starts over), or
 * `journal-newer`, `journal-full` or `journal-unusable` (the file is unchanged).
 */
export function openSqliteJournal(path: string, options: SqliteJournalOptions): SettlingJournal {
  const file = resolve(path);
  const { clock } = options;
  let db: DatabaseSync | null = null;
  try {
    makeIfMissing(file);
    db = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    const { steps, store } = take(db, file, options);
    return journalOver(store, clock, steps);
  } catch (error) {
    // Moved before it is closed: closing a damaged file would fold the log into it and delete the log.
    const problem = journalError(error, file, clock.dateMs());
    if (db !== null) closeQuietly(db);
    throw problem;
  }
}

function take(
  db: DatabaseSync,
  file: string,
  { clock, maxBytes, known, isAlone, onStep }: SqliteJournalOptions,
): { steps: StoredStep[]; store: OpenSteps } {
  examine(db, file);
  db.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL');
  if (maxBytes !== undefined) db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
  const write = writeStep(db);
  const { token, steps } = claim(db);
  const seals = steps.flatMap((step) => (step.end === null ? [] : [[step.id, sealOf(step, step.end)] as const]));
  const forged = seals.find(([id, seal]) => known !== undefined && known.get(id) !== seal);
  if (forged !== undefined) throw new Damage(`the record of step ${forged[0]} was not written by its owner`);
  onStep?.(seals);
  /** Changes with every write by another connection: by the next owner, or by a program that forges a record. */
  const dataVersion = pragma(db, 'data_version');
  /** Of the files, after our last write. */
  let signature = signatureOf(file);
  /** Why nothing can be read or written any more. */
  let ended: AgentosError | null = null;

  /** If another owner took over, the change is its own. */
  const requireUnchanged = (isSame = pragma(db, 'data_version') === dataVersion): void => {
    if (isSame) return;
    if (isAlone?.() ?? tokenOf(db) === token) throw new Damage('another program wrote to it');
    throw new AgentosError({ code: 'journal-fenced', file });
  };
  const inTransaction = (work: () => void): void => {
    db.exec('BEGIN IMMEDIATE');
    try {
      requireUnchanged();
      work();
      db.exec('COMMIT');
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    } finally {
      // A write that failed may have changed the log too.
      signature = signatureOf(file);
    }
  };
  const guarded = (work: () => void): void => {
    if (ended !== null) throw ended;
    try {
      work();
    } catch (error) {
      const problem = journalError(error, file, clock.dateMs());
      if (problem.code === 'journal-damaged') {
        ended = problem;
        closeQuietly(db);
      }
      throw problem;
    }
  };
  const close = (): void => {
    if (ended !== null) return;
    ended = new AgentosError({ code: 'journal-unusable', file, reason: 'it was closed' });
    closeQuietly(db);
  };
  const store: OpenSteps = {
    location: file,
    put: async (step) =>
      guarded(() => {
        const { id, end } = step;
        if (end === null && freeBytes(dirname(file)) < ROOM_BYTES) {
          const reason = `less than ${ROOM_BYTES / 1024} KB are free`;
          throw new AgentosError({ code: 'journal-full', file, reason });
        }
        inTransaction(() => {
          if (end !== null) onStep?.([[id, sealOf(step, end)]]);
          write(step);
        });
      }),
    check: () =>
      guarded(() => {
        requireUnchanged(signatureOf(file) === signature);
        requireUnchanged();
      }),
    remove: async () =>
      guarded(() => {
        inTransaction(() => undefined);
        close();
        deleteDatabase(file);
      }),
    close,
  };
  return { steps, store };
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
