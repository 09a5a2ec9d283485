import { isControlAt, tracelessBytes } from './control-sequences.ts';
import { type ByteString, fromByteString, type LineRules, toByteString } from './unfinished-line.ts';

const LINE_FEED = 0x0a;
const ESCAPE = 0x1b;
const WORD = 4;
/** What a copy by words may write beyond the end; the next line writes over it. */
const SLACK = 4 * WORD;
const SPACES = 0x20202020;
const HIGH_BITS = 0x80808080 | 0;

/** What stands before each line of one child. */
export interface Prefix {
  readonly text: ByteString;
  readonly words: Int32Array;
}

export function createPrefix(text: string): Prefix {
  const bytes = toByteString(text);
  const padded = Buffer.alloc(Math.ceil(bytes.length / WORD) * WORD);
  padded.write(bytes, 'latin1');
  return {
    text: bytes,
    words: Int32Array.from({ length: padded.length / WORD }, (_, n) => padded.readInt32LE(n * WORD)),
  };
}

/** Lines with their prefixes, side by side in memory that is used again and again. */
export class PrefixedLines {
  readonly #rules: LineRules;
  #source: { readonly bytes: Buffer; readonly view: DataView } | null = null;
  #memory = Buffer.alloc(0);
  #view = new DataView(this.#memory.buffer);
  #length = 0;

  constructor(rules: LineRules) {
    this.#rules = rules;
  }

  get length(): number {
    return this.#length;
  }

  /** The lines since that length, without their prefixes. */
  textSince(length: number, prefix: Prefix): string[] {
    const lines = this.#memory.toString('latin1', length, this.#length).split('\n').slice(0, -1);
    return lines.map((line) => fromByteString(line.slice(prefix.text.length)));
  }

  /** Valid until the next call. */
  get bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }

  clear(): void {
    this.#source = null;
    this.#length = 0;
  }

  /** Somebody else holds the memory now. */
  giveAway(): void {
    this.#memory = Buffer.alloc(0);
    this.#length = 0;
  }

  line(prefix: Prefix, line: ByteString): void {
    this.#reserve(this.#length, prefix.text.length + line.length + 1);
    this.#length += this.#memory.write(prefix.text, this.#length, 'latin1');
    this.#length += this.#memory.write(line, this.#length, 'latin1');
    this.#memory[this.#length++] = LINE_FEED;
  }

  /**
   * Takes whole lines of valid UTF-8 up to the first that it can't; `last` is the offset of a line feed. Returns where the
   * first line begins that was not taken: one with a control character, or with a secret that was hidden by colours.
   *
   * It copies and looks at eight bytes at a time. In a word, `(word - 0x20…) | word` has the high bit set in the byte
   * of the first character that is below a space or above ASCII; those are then looked at one by one.
   */
  block(prefix: Prefix, bytes: Buffer, from: number, last: number): number {
    const end = last + 1;
    const source = this.#viewOf(bytes);
    let isStripped = false;
    let start = from;
    let at = from;
    this.#reserve(this.#length, prefix.text.length + end - at);
    let out = this.#prefix(prefix, this.#length);
    let memory = this.#memory;
    let view = this.#view;
    while (at < end) {
      while (at + 2 * WORD <= end) {
        const one = source.getInt32(at, true);
        const two = source.getInt32(at + WORD, true);
        view.setInt32(out, one, true);
        view.setInt32(out + WORD, two, true);
        const inOne = ((one - SPACES) | one) & HIGH_BITS;
        const inTwo = ((two - SPACES) | two) & HIGH_BITS;
        const plain = inOne !== 0 ? plainBytes(inOne) : inTwo !== 0 ? WORD + plainBytes(inTwo) : 2 * WORD;
        at += plain;
        out += plain;
        if (plain < 2 * WORD) break;
      }
      if (at >= end) break;
      const byte = bytes[at] ?? 0;
      if (byte === LINE_FEED) {
        if (isStripped && this.#rules.secrets.find(memory, this.#length, out) !== -1) break;
        isStripped = false;
        memory[out++] = byte;
        at++;
        start = at;
        this.#length = out;
        if (at === end) break;
        this.#reserve(out, prefix.text.length + end - at);
        out = this.#prefix(prefix, out);
        memory = this.#memory;
        view = this.#view;
      } else {
        const traceless = tracelessBytes(bytes, at);
        if (traceless > 0 && (byte !== ESCAPE || !this.#rules.colour)) {
          isStripped = true;
          at += traceless;
          continue;
        }
        if (isControlAt(bytes, at)) break;
        memory[out++] = byte;
        at++;
        while ((bytes[at] ?? 0) >= 0x80 && !isControlAt(bytes, at)) memory[out++] = bytes[at++] ?? 0;
      }
    }
    return start;
  }

  /** A chunk comes again and again when only some of its lines can be taken at once. */
  #viewOf(bytes: Buffer): DataView {
    if (this.#source?.bytes !== bytes) {
      this.#source = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length) };
    }
    return this.#source.view;
  }

  #prefix({ text, words }: Prefix, out: number): number {
    for (let n = 0; n < words.length; n++) this.#view.setInt32(out + n * WORD, words[n] ?? 0, true);
    return out + text.length;
  }

  #reserve(kept: number, more: number): void {
    const needed = kept + more + SLACK;
    if (needed <= this.#memory.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#memory.length * 2));
    this.#memory.copy(larger, 0, 0, kept);
    this.#memory = larger;
    this.#view = new DataView(larger.buffer);
  }
}

/** How many bytes come before the lowest one that is marked. */
function plainBytes(marks: number): number {
  return (31 - Math.clz32(marks & -marks)) >> 3;
}
