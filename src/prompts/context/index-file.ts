import { readFile } from 'node:fs/promises';
import { deserialize, serialize } from 'node:v8';
import { crc32 } from 'node:zlib';
import type { BlobFacts } from './file-facts.ts';
import type { PastCommit } from './git-objects.ts';

/** Facts of blobs and commits from earlier runs: they save work and never change a result. */
export interface Known {
  blobs: Map<string, BlobFacts>;
  commits: Map<string, PastCommit>;
}

/** Another version counts and splits words differently. */
const VERSION = 'agentos-context-4';
const LARGEST_BYTES = 256_000_000;

/** A file that is missing, damaged or of another version is ignored. */
export async function readIndex(path: string): Promise<Known> {
  try {
    const bytes = await readFile(path);
    const body = bytes.subarray(4);
    // A damaged body must not reach `deserialize`.
    if (crc32(body) !== bytes.readUInt32LE(0)) throw new Error('damaged');
    const { version, blobs, commits } = deserialize(body) as Known & { version: string };
    if (version !== VERSION) throw new Error('another version');
    return { blobs, commits };
  } catch {
    return { blobs: new Map(), commits: new Map() };
  }
}

/** A checksum and the index; null if it is too large to be worth keeping. */
export function indexBytes({ blobs, commits }: Known): Buffer | null {
  const body = serialize({ version: VERSION, blobs, commits });
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32LE(crc32(body));
  return body.length > LARGEST_BYTES ? null : Buffer.concat([checksum, body]);
}
