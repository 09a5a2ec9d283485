import type { Git } from '../../git/git.ts';

/** A file of a commit. */
export interface TreeBlob {
  path: string;
  oid: string;
  /** In bytes; null for a symbolic link or a submodule. */
  size: number | null;
}

/** A chunk is read while the one before it is processed. */
const CHUNK_BYTES = 8_000_000;

/** Calls `onBlob` with the content of each blob once; one that is missing in this clone is skipped. */
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
    // If this chunk fails, nobody awaits the next one.
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

export interface PastCommit {
  hash: string;
  message: string;
  paths: string[];
}

/** Enough to see which files change together. */
const MOST_COMMITS = 2_000;
const MOST_MESSAGE_CHARS = 600;
/** The files of a larger commit have little in common. */
const MOST_PATHS = 25;

/** The commits up to a base without merges, newest first; only those that are not known are read. */
export async function readHistory(
  git: Git,
  base: string,
  known: ReadonlyMap<string, PastCommit>,
): Promise<PastCommit[]> {
  const listed = (await git.text(['rev-list', '-n', String(MOST_COMMITS), '--no-merges', base])).split('\n');
  const missing = listed.filter((hash) => hash !== '' && !known.has(hash));
  const read = new Map<string, PastCommit>();
  if (missing.length > 0) {
    const format = ['--format=%x01%H%x02%B%x02', '--name-only', '--no-renames', '-z', '--diff-merges=off'];
    const input = `${missing.join('\n')}\n`;
    // A partial clone may lack objects: then the history is not used.
    const log = await git
      .run(['log', '--no-walk=unsorted', '--stdin', ...format], { input })
      .catch(() => Buffer.alloc(0));
    for (const entry of log.toString('utf8').split('\u0001')) {
      const [hash, message, names] = entry.split('\u0002');
      if (hash === undefined || message === undefined) continue;
      const paths = (names ?? '').split(/[\0\n]/).filter((name) => name !== '');
      const few = paths.length > MOST_PATHS ? [] : paths;
      read.set(hash, { hash, message: message.trim().slice(0, MOST_MESSAGE_CHARS), paths: few });
    }
  }
  return listed.flatMap((hash) => known.get(hash) ?? read.get(hash) ?? []);
}
