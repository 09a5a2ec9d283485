import { isUtf8 } from 'node:buffer';
import { type LineRules, type ShownLine, UnfinishedLine } from './unfinished-line.ts';

const LINE_FEED = 0x0a;
const DELETE = 0x7f;

export interface LineTarget {
  /** One line that had to be looked at byte by byte. */
  line(line: ShownLine): void;
  /**
   * Takes whole lines of valid UTF-8, up to the first that needs a closer look; `last` is the offset of a line feed.
   * Returns where the first line begins that was not taken.
   */
  block(bytes: Buffer, from: number, last: number): number;
}

/**
 * Cuts one stream of bytes into lines. Those that lie whole in a chunk and hold nothing special are passed on in blocks;
 * the others go through {@link UnfinishedLine}, one by one. What comes out is the same however the bytes were cut into
 * chunks.
 */
export class LineSplitter {
  readonly #rules: LineRules;
  readonly #target: LineTarget;
  readonly #unfinished: UnfinishedLine;

  constructor(rules: LineRules, target: LineTarget) {
    this.#rules = rules;
    this.#target = target;
    this.#unfinished = new UnfinishedLine(rules);
  }

  push(chunk: Buffer): void {
    const last = chunk.lastIndexOf(LINE_FEED);
    let start = 0;
    if (last !== -1 && this.#unfinished.begun) {
      const first = chunk.indexOf(LINE_FEED);
      this.#line(chunk, 0, first);
      start = first + 1;
    }
    if (last >= start) this.#lines(chunk, start, last);
    this.#unfinished.push(chunk, last === -1 ? 0 : last + 1, chunk.length);
  }

  end(): void {
    const line = this.#unfinished.endOfStream();
    if (line) this.#target.line(line);
  }

  #line(bytes: Buffer, from: number, to: number): void {
    this.#unfinished.push(bytes, from, to);
    this.#target.line(this.#unfinished.end());
  }

  /** Whole lines; `last` is the offset of the last line feed. */
  #lines(bytes: Buffer, from: number, last: number): void {
    const lines = bytes.subarray(from, last);
    const blocks = isUtf8(lines) && !lines.includes(DELETE) && areShort(lines, this.#rules.maxLineBytes);
    let start = from;
    let secretAt = -1;
    while (start <= last) {
      if (blocks) {
        if (secretAt < start) secretAt = this.#secretAt(bytes, start, last);
        const lastOfBlock = secretAt === last ? last : bytes.lastIndexOf(LINE_FEED, secretAt);
        if (lastOfBlock >= start) start = this.#target.block(bytes, start, lastOfBlock);
      }
      if (start <= last) start = this.#lineFrom(bytes, start);
    }
  }

  /** Takes the line that begins here; returns where the next one begins. */
  #lineFrom(bytes: Buffer, start: number): number {
    const end = bytes.indexOf(LINE_FEED, start);
    this.#line(bytes, start, end);
    return end + 1;
  }

  #secretAt(bytes: Buffer, from: number, to: number): number {
    const found = this.#rules.secrets.find(bytes, from, to);
    return found === -1 ? to : found;
  }
}

/** Whether no line is longer than the bound; looks for one line feed per bound, not for each. */
function areShort(lines: Buffer, maxLineBytes: number): boolean {
  let start = 0;
  while (lines.length - start > maxLineBytes) {
    const end = lines.lastIndexOf(LINE_FEED, start + maxLineBytes);
    if (end < start) return false;
    start = end + 1;
  }
  return true;
}
