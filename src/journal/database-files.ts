import { closeSync, existsSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';

export const pageBytes = 4096;
/** What SQLite keeps beside a database: the write-ahead log, its index, and a rollback journal. */
const companions = ['-wal', '-shm', '-journal'];

/**
 * Moves a damaged journal to `<file>.damaged-<timestamp>` and returns that name. The database goes last: a crash in
 * between leaves the damaged file in its place, to be found again, and never a log without its database.
 */
export function keepAside(file: string, nowMs: number): string {
  const keptAs = freeName(`${file}.damaged-${new Date(nowMs).toISOString().replaceAll(/[-:]/g, '')}`);
  for (const suffix of companions) {
    try {
      renameSync(file + suffix, keptAs + suffix);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
    }
  }
  renameSync(file, keptAs);
  return keptAs;
}

function freeName(wanted: string): string {
  const isTaken = (name: string): boolean => ['', ...companions].some((suffix) => existsSync(name + suffix));
  let name = wanted;
  for (let n = 2; isTaken(name); n++) name = `${wanted}-${n}`;
  return name;
}

/**
 * The database goes first: companions without a database read as no journal, whereas a database
 * without its log may lack pages.
 */
export function deleteDatabase(file: string): void {
  rmSync(file, { force: true });
  deleteCompanions(file);
}

/**
 * A log without its database would be applied to the next database of that name. The database is looked for after its
 * companions: a process that makes a journal meanwhile makes the database first, so that its log is not taken for an orphan.
 */
function deleteOrphans(file: string): void {
  const found = companions.some((suffix) => existsSync(file + suffix));
  if (found && !existsSync(file)) deleteCompanions(file);
}

function deleteCompanions(file: string): void {
  for (const suffix of companions) rmSync(file + suffix, { force: true });
}

/** A new, empty journal in its place, whole or not at all. One that another process makes meanwhile is left alone. */
export function createDatabase(file: string, schema: string): void {
  deleteOrphans(file);
  const draft = `${file}.new-${process.pid}`;
  deleteDatabase(draft);
  try {
    const db = new DatabaseSync(draft);
    try {
      // Not into a log: on a full disk it would not be copied into the database when that is closed, without an error.
      db.exec(`PRAGMA page_size = ${pageBytes}; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY`);
      db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT; PRAGMA journal_mode = WAL`);
    } finally {
      db.close();
    }
    syncToDisk(draft);
    putInPlace(draft, file);
    syncToDisk(dirname(file));
  } finally {
    deleteDatabase(draft);
  }
}

/** A process that died while it made a journal leaves its draft behind. */
export function deleteDrafts(file: string): void {
  const drafts = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.new-`));
  for (const name of drafts) rmSync(join(dirname(file), name), { force: true });
}

/** A link, unlike a rename, leaves a journal alone that another process has made meanwhile. */
function putInPlace(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return;
    // Some file systems know no hard links.
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    renameSync(draft, file);
  }
}

function syncToDisk(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
