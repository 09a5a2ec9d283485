import { sha256 } from './hash.ts';

/*
 * A file of appended records: each line ends with a hash over its own text and the hash of the line before. A line that is changed,
 * removed or inserted later breaks the chain. A file that is rewritten as a whole, or cut at its end, is only noticed if the last hash
 * is known from elsewhere.
 */

const START = '0'.repeat(64);
const FIELD = ',"chain":"';
const FIELD_CHARS = FIELD.length + START.length + '"}'.length;

export interface Chain {
  /** Turns a JSON object into a line. Call `commit` once it is written. */
  link(record: string): { line: string; commit: () => void };
  /** The hash of the last line. */
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

interface ChainReading {
  lines: number;
  /** The hash of the last valid line. */
  head: string;
  /** The first invalid line; null: all are valid. */
  broken: { line: number; reason: string } | null;
}

export function createChainReader() {
  const heads = new Set([START]);
  let [lines, head] = [0, START];
  let broken: ChainReading['broken'] = null;
  return {
    /** A line without its line feed. */
    push(line: string): void {
      lines += 1;
      if (broken !== null) return;
      const at = line.length - FIELD_CHARS;
      const hash = line.slice(at + FIELD.length, -2);
      const isLink = at > 0 && line.startsWith(FIELD, at) && line.endsWith('"}') && /^[0-9a-f]{64}$/.test(hash);
      if (!isLink) broken = { line: lines, reason: 'it is not a complete record' };
      else if (hashOf(head, `${line.slice(0, at)}}`) !== hash)
        broken = { line: lines, reason: 'it does not follow the line before it, or was changed' };
      else {
        head = hash;
        heads.add(hash);
      }
    },
    /** Whether a line had this hash. */
    has: (hash: string): boolean => heads.has(hash),
    reading: (): ChainReading => ({ lines, head, broken }),
  };
}

function hashOf(head: string, record: string): string {
  return sha256(`${head}\n${record}`);
}
