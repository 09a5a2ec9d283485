import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';
import { JournalFault } from './fault.ts';
import { type Contents, examine } from './schema.ts';

const attempts = 5;
const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const magicLittleEndian = 0x377f0682;
const magicBigEndian = 0x377f0683;

/**
 * What a journal holds; null if it is missing or can't be read. Writes nothing, neither beside the file nor elsewhere,
 * also when a killed process left its log behind or a live one has the journal open: the bytes are read and put together in
 * memory. Never throws.
 */
export function inspectJournal(file: string): Contents | null {
  const db = new DatabaseSync(':memory:');
  try {
    const image = readImage(file);
    if (image === null) return null;
    db.deserialize(withoutLog(image));
    return examine(db, file);
  } catch {
    return null;
  } finally {
    db.close();
  }
}

/**
 * The database with its log applied. A live owner may copy the log into the database while we read, which does no harm
 * as long as we also have that log; only when a new log was begun meanwhile (its header has other salts) do the two
 * not belong together.
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

/** SQLite refuses a database in memory whose header (bytes 18 and 19) asks for a log. */
function withoutLog(image: Buffer): Buffer {
  const copy = Buffer.from(image);
  if (copy.length >= 20 && copy[18] === 2 && copy[19] === 2) copy.fill(1, 18, 20);
  return copy;
}

/**
 * SQLite's write-ahead log, applied to a database in memory. SQLite itself can't read a log without writing beside it
 * (the log's index), and an inspection must not write.
 *
 * Format (https://www.sqlite.org/fileformat2.html#walformat): a header of 32 bytes, then frames of 24 bytes and one page
 * each. A frame counts when its salt is the header's and the running checksum fits; frames count up to the last one that
 * ends a transaction, which says how many pages the database then has.
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
  /** Page number to the place of its last version in the log. */
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
