import { readFile } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import type { BlobFacts } from './blob-facts.ts';
import type { PastCommit } from './history.ts';

/** What is known of blobs and commits from an earlier time; it saves work and never changes a result. */
export interface Known {
  blobs: Map<string, BlobFacts>;
  commits: Map<string, PastCommit>;
}

/** Another version counts and splits words in another way. */
const MAGIC = 'agentos-context-2\n';
const LARGEST_BYTES = 256_000_000;
const KINDS = ['text', 'binary', 'secret'] as const;

type BlobRow = [oid: string, kind: number, isGenerated: 0 | 1, terms: number, imports: string[]];

interface Head {
  blobs: BlobRow[];
  commits: PastCommit[];
}

/**
 * An index in one file: magic, checksum, the length of the head, the head as JSON, then the terms and the counts of all
 * blobs. A file that is missing, damaged or of another version is as good as none.
 */
export async function readIndex(path: string): Promise<Known> {
  const known: Known = { blobs: new Map(), commits: new Map() };
  const bytes = await readFile(path).catch(() => null);
  const start = MAGIC.length + 8;
  if (bytes === null || bytes.length < start || bytes.toString('latin1', 0, MAGIC.length) !== MAGIC) return known;
  if (bytes.readUInt32LE(MAGIC.length) !== crc32(bytes.subarray(MAGIC.length + 4))) return known;
  const headEnd = start + bytes.readUInt32LE(MAGIC.length + 4);
  const { blobs, commits } = JSON.parse(bytes.toString('utf8', start, headEnd)) as Head;
  const total = blobs.reduce((sum, [, , , terms]) => sum + terms, 0);
  const allTerms = new Int32Array(
    bytes.buffer.slice(bytes.byteOffset + headEnd, bytes.byteOffset + headEnd + total * 4),
  );
  const allCounts = new Uint8Array(bytes.subarray(headEnd + total * 4, headEnd + total * 5));
  let at = 0;
  for (const [oid, kind, isGenerated, size, imports] of blobs) {
    const terms = allTerms.subarray(at, at + size);
    const counts = allCounts.subarray(at, at + size);
    known.blobs.set(oid, { kind: KINDS[kind] ?? 'binary', isGenerated: isGenerated === 1, terms, counts, imports });
    at += size;
  }
  for (const commit of commits) known.commits.set(commit.hash, commit);
  return known;
}

/** The bytes of an index of these; null: it would be larger than is worth keeping. */
export function indexBytes({ blobs, commits }: Known): Buffer | null {
  const rows: BlobRow[] = [...blobs].map(([oid, { kind, isGenerated, terms, imports }]) => [
    oid,
    KINDS.indexOf(kind),
    isGenerated ? 1 : 0,
    terms.length,
    imports,
  ]);
  const head = Buffer.from(JSON.stringify({ blobs: rows, commits: [...commits.values()] } satisfies Head));
  const total = rows.reduce((sum, [, , , terms]) => sum + terms, 0);
  if (head.length + total * 5 > LARGEST_BYTES) return null;
  const terms = new Int32Array(total);
  const counts = new Uint8Array(total);
  let at = 0;
  for (const facts of blobs.values()) {
    terms.set(facts.terms, at);
    counts.set(facts.counts, at);
    at += facts.terms.length;
  }
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  const body = Buffer.concat([length, head, Buffer.from(terms.buffer), counts]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(body));
  return Buffer.concat([Buffer.from(MAGIC), checksum, body]);
}
