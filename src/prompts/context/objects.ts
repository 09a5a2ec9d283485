import type { Git } from '../../git/git.ts';

/** A file of a commit. */
export interface TreeBlob {
  path: string;
  oid: string;
  /** In bytes; null for a symbolic link or a submodule. */
  size: number | null;
}

export async function listBlobs(git: Git, commit: string): Promise<TreeBlob[]> {
  const listing = (await git.run(['ls-tree', '-r', '-l', '-z', '--full-tree', commit])).toString('utf8');
  return listing.split('\0').flatMap((entry) => {
    const [, mode, oid = '', size, path = ''] = /^(\d+) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)$/s.exec(entry) ?? [];
    return mode === undefined ? [] : [{ path, oid, size: mode.startsWith('100') ? Number(size) : null }];
  });
}

/** So much is read while the part before it is worked on. */
const CHUNK_BYTES = 8_000_000;

/** Hands over the content of each blob once. One that this clone lacks is passed over. */
export async function readBlobs(
  git: Git,
  blobs: readonly TreeBlob[],
  onBlob: (oid: string, bytes: Buffer) => void,
): Promise<void> {
  const chunks: string[][] = [];
  const seen = new Set<string>();
  let bytes = CHUNK_BYTES;
  for (const { oid, size } of blobs) {
    if (seen.has(oid)) continue;
    seen.add(oid);
    if (bytes >= CHUNK_BYTES) {
      chunks.push([]);
      bytes = 0;
    }
    chunks.at(-1)?.push(oid);
    bytes += size ?? 0;
  }
  const read = (chunk: string[] | undefined): Promise<Buffer | null> =>
    chunk === undefined
      ? Promise.resolve(null)
      : git.run(['cat-file', '--batch', '--buffer'], { input: `${chunk.join('\n')}\n` });
  let next = read(chunks[0]);
  for (let at = 0; at < chunks.length; at++) {
    const output = await next;
    next = read(chunks[at + 1]);
    // Rejected later than it is awaited, if the part before it fails.
    next.catch(() => undefined);
    if (output !== null) eachObject(output, onBlob);
  }
}

function eachObject(output: Buffer, onBlob: (oid: string, bytes: Buffer) => void): void {
  for (let at = 0; at < output.length; ) {
    const end = output.indexOf(0x0a, at);
    const [oid = '', type, size] = output.toString('latin1', at, end).split(' ');
    at = end + 1;
    if (type !== 'blob') continue;
    onBlob(oid, output.subarray(at, at + Number(size)));
    at += Number(size) + 1;
  }
}
