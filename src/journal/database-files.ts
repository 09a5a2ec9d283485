import { existsSync, renameSync, rmSync } from 'node:fs';
import { systemCode } from '../core/errors.ts';

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
 * The database goes first: companions without a database are nobody's and read as no journal, whereas a database
 * without its log may lack pages.
 */
export function deleteDatabase(file: string): void {
  rmSync(file, { force: true });
  deleteCompanions(file);
}

/**
 * A log without its database would be applied to the next database of that name. The database is looked for after its
 * companions: whoever made a journal meanwhile made the database first, so that its log is not taken for an orphan.
 */
export function deleteOrphans(file: string): void {
  const found = companions.some((suffix) => existsSync(file + suffix));
  if (found && !existsSync(file)) deleteCompanions(file);
}

function deleteCompanions(file: string): void {
  for (const suffix of companions) rmSync(file + suffix, { force: true });
}
