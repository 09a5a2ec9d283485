import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';
import { deleteDatabase, deleteOrphans } from './database-files.ts';
import { JournalFault } from './fault.ts';
import { examine, schema } from './schema.ts';

const busyTimeoutMs = 5000;
const pageBytes = 4096;

export interface Claim {
  db: DatabaseSync;
  /** Every write names it; a later claim makes it stale. */
  token: number;
  /** The highest `finish_order` so far; only the owner counts on. */
  lastFinished: number;
}

/** Opens the database, made first if there is none, proves it sound and becomes its owner. */
export function claimDatabase(file: string, maxBytes: number | null, onOpen: (db: DatabaseSync) => void): Claim {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size;
  if (size === undefined) createDatabase(file);
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
  db.exec('COMMIT');
  return { token, lastFinished: last };
}

function createDatabase(file: string): void {
  deleteOrphans(file);
  const draft = `${file}.new-${process.pid}`;
  deleteDatabase(draft);
  try {
    const db = new DatabaseSync(draft);
    try {
      // Not into a log: on a full disk it would not be copied into the database when that is closed, and nobody says so.
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
