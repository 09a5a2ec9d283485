/**
 * SQLite's write-ahead log, applied to a database in memory. SQLite itself can't read a log without writing beside it
 * (the log's index), and whoever only looks must not write.
 *
 * Format (https://www.sqlite.org/fileformat2.html#walformat): a header of 32 bytes, then frames of 24 bytes and one page
 * each. A frame counts when its salt is the header's and the running checksum fits; frames count up to the last one that
 * ends a transaction, which says how many pages the database then has.
 */
export const walHeaderBytes = 32;
const frameHeaderBytes = 24;
const magicLittleEndian = 0x377f0682;
const magicBigEndian = 0x377f0683;

export function applyWal(database: Buffer, wal: Buffer): Buffer {
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
