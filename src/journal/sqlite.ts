import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { freeBytes } from '../process/disk.ts';
import { createDatabase, deleteDatabase, deleteDrafts, pageBytes } from './database-files.ts';
import { JournalFault, journalError } from './fault.ts';
import type { SettlingJournal, StepContext, StepKey, StepRecord, StepResult } from './port.ts';
import { examine, type FinishedStep, readStep, schema, sealOf, stepColumns } from './schema.ts';
import { encode, stepId } from './step-id.ts';

export interface SqliteJournalOptions {
  clock: Clock;
  /** Past this size a step fails with `journal-full`, as on a full disk. */
  maxBytes?: number;
  /** The finished steps that it may hold, each with its seal; absent: whatever it holds. */
  known?: ReadonlyMap<string, string>;
  /** Asked where something else wrote to it: true if no other owner can have taken it over. Absent: its fence tells. */
  isAlone?: () => boolean;
  /** Called with each step and its seal before it can be read from the file: once opened, and then one by one. */
  onStep?: (steps: readonly (readonly [id: string, seal: string])[]) => void;
}

/**
 * One SQLite file, one owner. Throws `journal-damaged` (the file was moved aside and the next open starts afresh),
 * `journal-newer`, `journal-full` or `journal-unusable` (the file is as it was).
 */
export function openSqliteJournal(file: string, options: SqliteJournalOptions): SettlingJournal {
  return new SqliteJournal(resolve(file), options);
}

/** Room for the result of a step: with less, it is not begun. What it pays for could not be stored. */
const roomBytes = 256 * 1024;
const busyTimeoutMs = 5000;

type StepResultFacts = Omit<FinishedStep, 'finishedAt' | 'finishOrder'>;

class SqliteJournal implements SettlingJournal {
  readonly location: string;
  readonly #clock: Clock;
  readonly #db: DatabaseSync;
  readonly #token: number;
  readonly #statements: ReturnType<typeof prepareStatements>;
  readonly #inFlight = new Map<string, Promise<StepResult<unknown>>>();
  /** Of every finished step, as it was opened or stored, by its id. */
  readonly #seals: Map<string, string>;
  #lastFinished: number;
  /** Of the files, after our last write. */
  #signature: string;
  readonly #dataVersion: number;
  readonly #onStep: NonNullable<SqliteJournalOptions['onStep']>;
  readonly #isAlone: () => boolean;
  /** Why nothing can be read or written any more. */
  #ended: AgentosError | null = null;

  constructor(file: string, options: SqliteJournalOptions) {
    this.location = file;
    this.#clock = options.clock;
    this.#onStep = options.onStep ?? (() => undefined);
    this.#isAlone = options.isAlone ?? (() => this.#ownsFence());
    let opened: DatabaseSync | null = null;
    try {
      const claim = claimDatabase(file, options.maxBytes ?? null, (db) => {
        opened = db;
      });
      this.#db = claim.db;
      this.#token = claim.token;
      this.#lastFinished = claim.lastFinished;
      this.#seals = claim.seals;
      for (const [id, seal] of options.known === undefined ? [] : this.#seals)
        if (options.known?.get(id) !== seal) throw new JournalFault('damaged', forged(id));
      this.#onStep([...this.#seals]);
      this.#dataVersion = dataVersionOf(claim.db);
      this.#signature = signatureOf(file);
      this.#statements = prepareStatements(claim.db);
    } catch (error) {
      throw endWith(error, file, this.#clock, opened);
    }
  }

  step<T>(key: StepKey, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>> {
    let id: string;
    try {
      id = stepId(key);
    } catch (error) {
      return Promise.reject(error);
    }
    const running = this.#inFlight.get(id);
    // The id names the step and its inputs, so that both callers asked for the same type.
    if (running !== undefined) return running as Promise<StepResult<T>>;
    const started = this.#perform(id, key.name, run).finally(() => this.#inFlight.delete(id));
    this.#inFlight.set(id, started);
    return started;
  }

  async #perform<T>(id: string, name: string, run: (step: StepContext) => Promise<T>): Promise<StepResult<T>> {
    const stored = this.#guard(() => this.#find(id));
    if (stored !== null) return { value: JSON.parse(stored.result) as T, replayed: true };
    const startedAt = this.#timestamp();
    const starts = this.#guard(() => this.#start(id, name, startedAt));
    const value = await run({ id, earlierStarts: starts - 1 });
    const result = encode(value, name);
    this.#guard(() => this.#finish({ id, name, startedAt, result }));
    // What a replay will see, so that no caller depends on what JSON drops.
    return { value: JSON.parse(result) as T, replayed: false };
  }

  has(key: StepKey): boolean {
    return this.#guard(() => this.#find(stepId(key)) !== null);
  }

  steps(): StepRecord[] {
    return this.#guard(() =>
      this.#statements.list.all().map((row) => ({
        id: this.#knownId(row),
        name: String(row['name']),
        startedAt: String(row['started_at']),
        finishedAt: String(row['finished_at']),
      })),
    );
  }

  last(name: string): unknown {
    return this.#guard(() => {
      const row = this.#statements.last.get(name);
      const step = row === undefined ? null : this.#known(readStep(row));
      return step === null ? undefined : (JSON.parse(step.result) as unknown);
    });
  }

  async settle(name: string, value: unknown): Promise<boolean> {
    const result = encode(value, name);
    return this.#guard(() =>
      this.#write(() => {
        const row = this.#statements.settleable.get(name);
        if (row === undefined) return false;
        this.#store({ id: String(row['id']), name, startedAt: String(row['started_at']), result });
        return true;
      }),
    );
  }

  check(): void {
    this.#guard(() => {
      const isSame = signatureOf(this.location) === this.#signature && dataVersionOf(this.#db) === this.#dataVersion;
      if (!isSame) throw this.#changed('another program wrote to it');
    });
  }

  async remove(): Promise<void> {
    this.#guard(() => {
      this.#write(() => {});
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
      // On a full disk, say. The log stays beside the database, which is as good.
    }
    closeQuietly(this.#db);
  }

  #find(id: string): FinishedStep | null {
    const row = this.#statements.find.get(id);
    return row === undefined ? null : this.#known(readStep(row));
  }

  #known(step: FinishedStep | null): FinishedStep | null {
    if (step !== null && this.#seals.get(step.id) !== sealOf(step)) throw this.#changed(forged(step.id));
    return step;
  }

  /** Another owner's records are not ours to judge. */
  #changed(reason: string): JournalFault {
    return this.#isAlone()
      ? new JournalFault('damaged', reason)
      : new JournalFault('fenced', 'another owner has taken over');
  }

  #ownsFence(): boolean {
    return this.#statements.token.get()?.['token'] === this.#token;
  }

  #knownId(row: Record<string, SQLOutputValue>): string {
    const id = String(row['id']);
    if (!this.#seals.has(id)) throw this.#changed(forged(id));
    return id;
  }

  #start(id: string, name: string, startedAt: string): number {
    if (freeBytes(dirname(this.location)) < roomBytes)
      throw new JournalFault('full', `less than ${roomBytes / 1024} KB are free`);
    return this.#write(() => {
      this.#statements.start.run(id, name, startedAt);
      return Number(this.#statements.starts.get(id)?.['starts']);
    });
  }

  #finish(facts: StepResultFacts): void {
    this.#write(() => this.#store(facts));
  }

  #store(facts: StepResultFacts): void {
    const step = { ...facts, finishedAt: this.#timestamp(), finishOrder: this.#lastFinished + 1 };
    const { id, finishedAt, finishOrder, result } = step;
    const seal = sealOf(step);
    this.#onStep([[id, seal]]);
    const { changes } = this.#statements.finish.run(finishedAt, finishOrder, seal, result, id);
    if (changes !== 1) throw new JournalFault('damaged', `the record of step ${id} is gone`);
    this.#seals.set(id, seal);
    // A number that a failed commit leaves unused does no harm: only the order counts.
    this.#lastFinished = finishOrder;
  }

  #write<T>(work: () => T): T {
    const { begin, token, commit, rollback } = this.#statements;
    begin.run();
    try {
      if (token.get()?.['token'] !== this.#token) throw this.#changed('its fence was moved');
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      // After some errors, a full disk among them, SQLite has rolled back by itself.
      if (this.#db.isTransaction) rollback.run();
      throw error;
    } finally {
      // A write that failed may have changed the log, too.
      this.#signature = signatureOf(this.location);
    }
  }

  #guard<T>(work: () => T): T {
    if (this.#ended !== null) throw this.#ended;
    try {
      return work();
    } catch (error) {
      const problem = journalError(error, this.location, this.#clock.dateMs());
      if (problem.code === 'journal-damaged') {
        this.#ended = problem;
        closeQuietly(this.#db);
      }
      throw problem;
    }
  }

  #timestamp(): string {
    return new Date(this.#clock.dateMs()).toISOString();
  }
}

interface Claim {
  db: DatabaseSync;
  /** Every write names it; a later claim makes it stale. */
  token: number;
  /** The highest `finish_order` so far; only the owner counts on. */
  lastFinished: number;
  /** Of the finished steps, by their ids. */
  seals: Map<string, string>;
}

/** Opens the database, made first if there is none, proves it sound and becomes its owner. */
function claimDatabase(file: string, maxBytes: number | null, onOpen: (db: DatabaseSync) => void): Claim {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) createDatabase(file, schema);
  // A journal appears with its schema in it or not at all, so that an empty file has lost its contents.
  if (size === 0) throw new JournalFault('damaged', 'the file is empty');
  const db = new DatabaseSync(file, { timeout: busyTimeoutMs });
  onOpen(db);
  examine(db, file);
  db.exec('PRAGMA synchronous = FULL; PRAGMA journal_mode = WAL');
  if (maxBytes !== null) db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
  return { db, ...bumpToken(db) };
}

function bumpToken(db: DatabaseSync): Omit<Claim, 'db'> {
  db.exec('BEGIN IMMEDIATE; UPDATE owner SET token = token + 1');
  const token = db.prepare('SELECT token FROM owner').get()?.['token'];
  const last = db.prepare('SELECT coalesce(max(finish_order), 0) AS last FROM steps').get()?.['last'];
  if (typeof token !== 'number' || typeof last !== 'number') {
    throw new JournalFault('damaged', 'the owner record is missing');
  }
  // Only now: the owner before us may have stored one until this moment.
  const rows = db.prepare('SELECT id, seal FROM steps WHERE finish_order IS NOT NULL').all();
  db.exec('COMMIT');
  return { token, lastFinished: last, seals: new Map(rows.map((row) => [String(row['id']), String(row['seal'])])) };
}

function forged(id: string): string {
  return `the record of step ${id} was not written by its owner`;
}

/** Another number after each change by another connection. */
function dataVersionOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA data_version').get()?.['data_version']);
}

/** Of the database and its log: the time of the last change of any kind can't be set back, as that of the content can. */
function signatureOf(file: string): string {
  return [file, `${file}-wal`]
    .map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }))
    .map((found) => (found === undefined ? '-' : `${found.ino} ${found.size} ${found.ctimeNs}`))
    .join(' ');
}

function prepareStatements(db: DatabaseSync) {
  const prepare = (sql: string): StatementSync => db.prepare(sql);
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    rollback: prepare('ROLLBACK'),
    token: prepare('SELECT token FROM owner'),
    find: prepare(`SELECT ${stepColumns} FROM steps WHERE id = ?`),
    last: prepare(`SELECT ${stepColumns} FROM steps WHERE name = ? AND finish_order IS NOT NULL
      ORDER BY finish_order DESC LIMIT 1`),
    // The highest number is the step that was started last, also when it had been started before.
    start: prepare(`INSERT INTO steps (id, name, starts, started_at) VALUES (?, ?, 1, ?)
      ON CONFLICT (id) DO UPDATE SET starts = starts + 1, started_at = excluded.started_at,
        number = (SELECT max(number) + 1 FROM steps)`),
    settleable: prepare(`SELECT id, started_at FROM steps
      WHERE name = ? AND (finish_order IS NULL OR number = (SELECT max(number) FROM steps))
      ORDER BY number DESC LIMIT 1`),
    starts: prepare('SELECT starts FROM steps WHERE id = ?'),
    finish: prepare(`UPDATE steps SET finished_at = ?, finish_order = ?, seal = ?, result = ?
      WHERE id = ?`),
    list: prepare(`SELECT id, name, started_at, finished_at FROM steps
      WHERE finish_order IS NOT NULL ORDER BY finish_order`),
  };
}

/** A damaged file is moved before it is closed: closing would fold the log into it and delete the log. */
function endWith(error: unknown, file: string, clock: Clock, db: DatabaseSync | null): AgentosError {
  const problem = journalError(error, file, clock.dateMs());
  if (db !== null) closeQuietly(db);
  return problem;
}

function closeQuietly(db: DatabaseSync): void {
  try {
    db.close();
  } catch {
    // What was committed is on disk, and whatever led here is the problem to report.
  }
}
