import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';
import { JournalFault } from './fault.ts';
import type { StepRecord, StoredStep } from './port.ts';
import { examine } from './schema.ts';

const attempts = 5;
const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const magicLittleEndian = 0x377f0682;
const magicBigEndian = 0x377f0683;

/** What a journal holds, as seen from outside. */
export interface InspectedJournal {
  /** In the order in which they finished. */
  finished: (StepRecord & { result: string })[];
  /** Names of the steps that were started and have not finished, in the order in which they were last started. */
  inFlight: string[];
  /** The step that was started last: the item is there. */
  latest: { id: string; name: string } | null;
  all: StoredStep[];
}

/**
 * Null if the journal is missing or can't be read. Writes nothing anywhere, even if a killed process left its log behind or a
 * live one has the journal open: the bytes are read and put together in memory. Never throws.
 */
export function inspectJournal(file: string): InspectedJournal | null {
  const db = new DatabaseSync(':memory:');
  try {
    const image = readImage(file);
    if (image === null) return null;
    db.deserialize(withoutLog(image));
    return inspected(examine(db, file));
  } catch {
    return null;
  } finally {
    db.close();
  }
}

function inspected(all: StoredStep[]): InspectedJournal {
  return {
    finished: all.flatMap(({ id, name, startedAt, end }) =>
      end === null ? [] : [{ id, name, startedAt, finishedAt: end.finishedAt, result: end.result }],
    ),
    inFlight: all.flatMap(({ name, end }) => (end === null ? [name] : [])),
    latest: all.toSorted((a, b) => b.number - a.number)[0] ?? null,
    all,
  };
}

/**
 * The database with its log applied. A live owner may copy the log into the database while we read; that is harmless as long as
 * we have the same log. Only if a new log began meanwhile (its header has other salts), the two don't belong together.
 */
function readImage(file: string): Buffer | null {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = readIfThere(() => readStart(`${file}-wal`));
    const database = readIfThere(() => readFileSync(file));
    if (database === null) return null;
    const wal = readIfThere(() => readFileSync(`${file}-wal`));
    const after = wal?.subarray(0, walHeaderBytes) ?? null;
    if (wal === null && before === null) return database;
    if (wal !== null && after !== null && before?.equals(after)) return applyWal(database, wal);
  }
  throw new JournalFault('busy', 'the journal kept changing while it was read');
}

function readStart(path: string): Buffer {
  const handle = openSync(path, 'r');
  try {
    const start = Buffer.alloc(walHeaderBytes);
    return start.subarray(0, readSync(handle, start, 0, walHeaderBytes, 0));
  } finally {
    closeSync(handle);
  }
}

function readIfThere(read: () => Buffer): Buffer | null {
  try {
    return read();
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null;
    throw error;
  }
}

/** SQLite refuses an in-memory database whose header (bytes 18 and 19) asks for a log. */
function withoutLog(image: Buffer): Buffer {
  const copy = Buffer.from(image);
  if (copy.length >= 20 && copy[18] === 2 && copy[19] === 2) copy.fill(1, 18, 20);
  return copy;
}

/**
 * Applies SQLite's write-ahead log in memory. SQLite itself can't read a log without writing the log's index beside it, and an
 * inspection must not write.
 *
 * Format (https://www.sqlite.org/fileformat2.html#walformat): a header of 32 bytes, then frames of 24 bytes and one page each.
 * A frame is valid if its salt is the header's and the running checksum matches. Frames count up to the last one that ends a
 * transaction; it says how many pages the database then has.
 */
function applyWal(database: Buffer, wal: Buffer): Buffer {
  const committed = readCommitted(wal);
  if (committed === null) return database;
  const image = Buffer.alloc(committed.pageCount * committed.pageSize);
  database.copy(image);
  for (const [page, offset] of committed.pages) {
    // A later transaction may have cut this page off.
    if (page > committed.pageCount) continue;
    wal.copy(image, (page - 1) * committed.pageSize, offset, offset + committed.pageSize);
  }
  return image;
}

interface Committed {
  pageSize: number;
  pageCount: number;
  /** By page number: the offset of its last version in the log. */
  pages: Map<number, number>;
}

function readCommitted(wal: Buffer): Committed | null {
  if (wal.length < walHeaderBytes) return null;
  const magic = wal.readUInt32BE(0);
  if (magic !== magicLittleEndian && magic !== magicBigEndian) return null;
  const checksum = createChecksum(magic === magicLittleEndian);
  checksum.add(wal.subarray(0, 24));
  if (!checksum.fits(wal, 24)) return null;

  const pageSize = wal.readUInt32BE(8);
  const salt = wal.subarray(16, 24);
  let committed: Committed | null = null;
  let pending: [page: number, offset: number][] = [];
  for (let frame = walHeaderBytes; frame + frameHeaderBytes + pageSize <= wal.length; ) {
    const content = frame + frameHeaderBytes;
    checksum.add(wal.subarray(frame, frame + 8));
    checksum.add(wal.subarray(content, content + pageSize));
    if (!wal.subarray(frame + 8, frame + 16).equals(salt) || !checksum.fits(wal, frame + 16)) break;
    pending.push([wal.readUInt32BE(frame), content]);
    const pageCount = wal.readUInt32BE(frame + 4);
    if (pageCount > 0) {
      const pages: Map<number, number> = committed?.pages ?? new Map();
      for (const [page, offset] of pending) pages.set(page, offset);
      committed = { pageSize, pageCount, pages };
      pending = [];
    }
    frame = content + pageSize;
  }
  return committed;
}

function createChecksum(isLittleEndian: boolean) {
  let first = 0;
  let second = 0;
  return {
    add(bytes: Buffer): void {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let at = 0; at + 8 <= view.byteLength; at += 8) {
        first = (first + view.getUint32(at, isLittleEndian) + second) >>> 0;
        second = (second + view.getUint32(at + 4, isLittleEndian) + first) >>> 0;
      }
    },
    fits: (bytes: Buffer, at: number): boolean =>
      bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second,
  };
}
