import { sha256 } from './hash.ts';

/*
 * Records that are only ever added to a file: each line ends with a hash over its own text and the hash of the line before. A
 * line that was changed, taken out or put in later breaks the chain there. What it can't show is a file that was written again
 * as a whole, or cut at its end: for that the last hash has to be known from elsewhere.
 */

const START = '0'.repeat(64);
const FIELD = ',"chain":"';
const FIELD_CHARS = FIELD.length + START.length + '"}'.length;

export interface Chain {
  /** A JSON object as a line of the file. It counts once `commit` is called: what could not be written is no link. */
  link(record: string): { line: string; commit: () => void };
  /** Of the last line. */
  head(): string;
}

export function createChain(): Chain {
  let head = START;
  return {
    link(record) {
      const next = hashOf(head, record);
      const commit = (): void => {
        head = next;
      };
      return { line: `${record.slice(0, -1)}${FIELD}${next}"}\n`, commit };
    },
    head: () => head,
  };
}

export interface ChainReading {
  lines: number;
  /** Of the last line that holds. */
  head: string;
  /** The first line that does not; null: all hold. */
  broken: { line: number; reason: string } | null;
}

export interface ChainReader {
  /** A line without its line feed. */
  push(line: string): void;
  /** Whether a line had this hash. */
  has(head: string): boolean;
  reading(): ChainReading;
}

export function createChainReader(): ChainReader {
  const heads = new Set([START]);
  let [lines, head] = [0, START];
  let broken: ChainReading['broken'] = null;
  return {
    push(line) {
      lines += 1;
      if (broken !== null) return;
      const at = line.length - FIELD_CHARS;
      const hash = line.slice(at + FIELD.length, -2);
      const isLink = at > 0 && line.startsWith(FIELD, at) && line.endsWith('"}') && /^[0-9a-f]{64}$/.test(hash);
      if (!isLink) broken = { line: lines, reason: 'it is not a whole record' };
      else if (hashOf(head, `${line.slice(0, at)}}`) !== hash)
        broken = { line: lines, reason: 'it does not follow the line before it, or was changed' };
      else {
        head = hash;
        heads.add(hash);
      }
    },
    has: (hash) => heads.has(hash),
    reading: () => ({ lines, head, broken }),
  };
}

function hashOf(head: string, record: string): string {
  return sha256(`${head}\n${record}`);
}
