import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { systemCode } from '../core/errors.ts';
import { examine } from './database.ts';
import type { StepRecord, StoredStep } from './port.ts';

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
    // SQLite refuses an in-memory database whose header (bytes 18 and 19) asks for a log.
    db.deserialize(image.fill(1, 18, 20));
    const all = examine(db, file);
    return {
      finished: all.flatMap(({ end, ...step }) => (end === null ? [] : [{ ...step, ...end }])),
      inFlight: all.flatMap(({ name, end }) => (end === null ? [name] : [])),
      latest: all.toSorted((a, b) => b.number - a.number)[0] ?? null,
      all,
    };
  } catch {
    return null;
  } finally {
    db.close();
  }
}

const attempts = 5;

/**
 * The database with its log applied. A live owner may copy the log into the database while we read; that is harmless as long as
 * we have the same log. Only if a new log began meanwhile (its header has other salts), the two don't belong together.
 */
function readImage(file: string): Buffer | null {
  const log = (): Buffer | null => readIfThere(`${file}-wal`);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = log();
    const database = readIfThere(file);
    if (database === null) return null;
    const after = log();
    if (before === null && after === null) return database;
    if (before === null || after === null || !headerOf(before).equals(headerOf(after))) continue;
    return applyLog(database, after);
  }
  return null;
}

function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return null;
    throw error;
  }
}

const headerBytes = 32;
const frameHeaderBytes = 24;
const magicLittleEndian = 0x377f0682;
const magicBigEndian = 0x377f0683;

function headerOf(log: Buffer): Buffer {
  return log.subarray(0, headerBytes);
}

/**
 * Applies SQLite's write-ahead log in memory. SQLite itself can't read a log without writing the log's index beside it, and an
 * inspection must not write.
 *
 * Format (https://www.sqlite.org/fileformat2.html#walformat): a header of 32 bytes, then frames of 24 bytes and one page each.
 * A frame is valid if its salt is the header's and the running checksum matches. Frames count up to the last one that ends a
 * transaction; it says how many pages the database then has.
 */
function applyLog(database: Buffer, log: Buffer): Buffer {
  if (log.length < headerBytes) return database;
  const magic = log.readUInt32BE(0);
  if (magic !== magicLittleEndian && magic !== magicBigEndian) return database;
  const checksum = createChecksum(magic === magicLittleEndian);
  checksum.add(log.subarray(0, 24));
  if (!checksum.fits(log, 24)) return database;

  const pageSize = log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  /** The last version of each page, and how many pages there are; then those of a transaction that has not ended yet. */
  const pages = new Map<number, Buffer>();
  let pageCount: number | null = null;
  let pending: [page: number, content: Buffer][] = [];
  for (let frame = headerBytes; frame + frameHeaderBytes + pageSize <= log.length; ) {
    const start = frame + frameHeaderBytes;
    const content = log.subarray(start, start + pageSize);
    checksum.add(log.subarray(frame, frame + 8));
    checksum.add(content);
    if (!log.subarray(frame + 8, frame + 16).equals(salt) || !checksum.fits(log, frame + 16)) break;
    pending.push([log.readUInt32BE(frame), content]);
    const pagesAtEnd = log.readUInt32BE(frame + 4);
    if (pagesAtEnd > 0) {
      for (const [page, last] of pending) pages.set(page, last);
      pageCount = pagesAtEnd;
      pending = [];
    }
    frame = start + pageSize;
  }
  if (pageCount === null) return database;
  const image = Buffer.alloc(pageCount * pageSize);
  database.copy(image);
  // A later transaction may have cut a page off.
  for (const [page, content] of pages) if (page <= pageCount) content.copy(image, (page - 1) * pageSize);
  return image;
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
