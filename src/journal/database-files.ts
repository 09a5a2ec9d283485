import { closeSync, existsSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';

export const pageBytes = 4096;
/** Files that SQLite keeps beside a database: the write-ahead log, its index, and a rollback journal. */
const companions = ['-wal', '-shm', '-journal'];

/**
 * Moves a damaged journal to `<file>.damaged-<timestamp>` and returns that name. The database is moved last: a crash in between
 * leaves the damaged file in its place, where it is found again, and never a log without its database.
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

/** Deletes the database first: companions without a database read as no journal, but a database without its log may lack pages. */
export function deleteDatabase(file: string): void {
  rmSync(file, { force: true });
  deleteCompanions(file);
}

/**
 * A log without its database would be applied to the next database of that name. We look for the companions first, then for the
 * database: a process that creates a journal meanwhile creates the database first, so its log is not mistaken for an orphan.
 */
function deleteOrphans(file: string): void {
  const found = companions.some((suffix) => existsSync(file + suffix));
  if (found && !existsSync(file)) deleteCompanions(file);
}

function deleteCompanions(file: string): void {
  for (const suffix of companions) rmSync(file + suffix, { force: true });
}

/** Creates an empty journal, atomically. If another process creates one meanwhile, that one stays. */
export function createDatabase(file: string, schema: string): void {
  deleteOrphans(file);
  const draft = `${file}.new-${process.pid}`;
  deleteDatabase(draft);
  try {
    const db = new DatabaseSync(draft);
    try {
      // Without a log: on a full disk, closing would silently fail to copy it into the database.
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

/** A process that dies while it creates a journal leaves its draft behind. */
export function deleteDrafts(file: string): void {
  const drafts = readdirSync(dirname(file)).filter((name) => name.startsWith(`${basename(file)}.new-`));
  for (const name of drafts) rmSync(join(dirname(file), name), { force: true });
}

/** Unlike a rename, a link does not replace a journal that another process created meanwhile. */
function putInPlace(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (error) {
    const code = systemCode(error);
    if (code === 'EEXIST') return;
    // Some file systems have no hard links.
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
