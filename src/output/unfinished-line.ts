import { isUtf8 } from 'node:buffer';
import { MASK } from '../core/mask.ts';
import { ControlSequences } from './control-sequences.ts';
import type { Region, SecretFinder } from './secret-finder.ts';

/** Text with one character per byte: V8 searches and joins such strings several times faster than Buffers. */
export type ByteString = string;

export const toByteString = (text: string): ByteString => Buffer.from(text).toString('latin1');

export const fromByteString = (bytes: ByteString): string => Buffer.from(bytes, 'latin1').toString();

/** A line made ready: as the target shows it, and without any colour. */
export interface ShownLine {
  readonly shown: ByteString;
  readonly plain: ByteString;
}

interface Style {
  readonly at: number;
  readonly sequence: string;
}

export interface LineRules {
  readonly secrets: SecretFinder;
  readonly colour: boolean;
  readonly maxLineBytes: number;
}

const RESET = '\u001B[0m';
const RESETS: readonly string[] = [RESET, '\u001B[m', '\u001B[00m'];
const MAX_STYLES = 1024;
const LONGEST_CHARACTER = 4;
const INITIAL_BYTES = 256;

/**
 * The line that a stream is in the middle of. It takes bytes in pieces of any size, and keeps no more of them than can
 * be shown, so that a line without an end can't fill the memory. Secrets are looked for in the text without its
 * control sequences: one that is coloured in the middle is still a secret.
 *
 * A carriage return begins the line anew, as a terminal would: of a progress display the last state is shown, once,
 * when the line ends.
 */
export class UnfinishedLine {
  readonly #rules: LineRules;
  readonly #sequences: ControlSequences;
  readonly #keep: number;
  #kept = Buffer.allocUnsafe(INITIAL_BYTES);
  #length = 0;
  #total = 0;
  #styles: Style[] = [];
  /** How many styles came before the last carriage return; null when none is waiting for the text that replaces. */
  #stylesReturned: number | null = null;
  #begun = false;

  constructor(rules: LineRules) {
    this.#rules = rules;
    // A secret or a character that begins before the cut is seen whole.
    this.#keep = rules.maxLineBytes + Math.max(rules.secrets.longest, LONGEST_CHARACTER);
    this.#sequences = new ControlSequences({
      text: (bytes, from, to) => this.#text(bytes, from, to),
      carriageReturn: () => {
        this.#stylesReturned = this.#styles.length;
      },
      style: (sequence) => this.#style(sequence),
    });
  }

  /** Whether bytes have arrived since the last line ended. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Bytes without a line feed. */
  push(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    this.#begun = true;
    this.#sequences.push(bytes, from, to);
  }

  end(): ShownLine {
    this.#sequences.endLine();
    const line = this.#render();
    this.#clear();
    return line;
  }

  /** The stream ended here. What would not be seen, such as a last reset of the colour, is not worth a line. */
  endOfStream(): ShownLine | null {
    this.#sequences.endLine();
    if (this.#total > 0) return this.end();
    this.#clear();
    return null;
  }

  #clear(): void {
    this.#length = 0;
    this.#total = 0;
    this.#styles = [];
    this.#stylesReturned = null;
    this.#begun = false;
  }

  #text(bytes: Uint8Array, from: number, to: number): void {
    if (this.#stylesReturned !== null) this.#startOver(this.#stylesReturned);
    this.#total += to - from;
    const taken = Math.min(to - from, this.#keep - this.#length);
    if (taken <= 0) return;
    const length = this.#length + taken;
    if (length > this.#kept.length) {
      const larger = Buffer.allocUnsafe(Math.min(this.#keep, Math.max(length, this.#kept.length * 2)));
      larger.set(this.#kept.subarray(0, this.#length));
      this.#kept = larger;
    }
    this.#kept.set(bytes.subarray(from, from + taken), this.#length);
    this.#length = length;
  }

  #startOver(stylesReturned: number): void {
    this.#styles = this.#styles.slice(stylesReturned).map(({ sequence }) => ({ at: 0, sequence }));
    this.#length = 0;
    this.#total = 0;
    this.#stylesReturned = null;
  }

  #style(sequence: string): void {
    if (!this.#rules.colour || this.#styles.length >= MAX_STYLES || this.#total > this.#rules.maxLineBytes) return;
    this.#styles.push({ at: this.#total, sequence });
  }

  #render(): ShownLine {
    const regions = this.#rules.secrets.regions(this.#kept, 0, this.#length);
    const cut = this.#cut();
    const hidden = this.#total - Math.max(cut, regions.findLast(({ start }) => start < cut)?.end ?? 0);
    const marker = hidden > 0 ? toByteString(` … [${hidden} bytes cut]`) : '';
    const isText = isUtf8(this.#kept.subarray(0, cut));
    const finish = (line: ByteString): ByteString => (isText ? line : withReplacements(line)) + marker;
    const plain = finish(this.#join(regions, [], cut));
    return { plain, shown: this.#styles.length === 0 ? plain : finish(this.#join(regions, this.#styles, cut)) };
  }

  /** Where the line is cut: never inside a character. */
  #cut(): number {
    const { maxLineBytes } = this.#rules;
    if (this.#length <= maxLineBytes) return this.#length;
    for (let cut = maxLineBytes; cut > maxLineBytes - LONGEST_CHARACTER && cut >= 0; cut--) {
      if (((this.#kept[cut] ?? 0) & 0xc0) !== 0x80) return cut;
    }
    return maxLineBytes;
  }

  #join(regions: readonly Region[], styles: readonly Style[], cut: number): ByteString {
    const waiting = styles.filter(({ at }) => at <= cut);
    let line = '';
    let next = 0;
    const text = (from: number, to: number): void => {
      let done = from;
      for (let style = waiting[next]; style && style.at <= to; style = waiting[++next]) {
        if (style.at > done) {
          line += this.#kept.toString('latin1', done, style.at);
          done = style.at;
        }
        line += style.sequence;
      }
      if (to > done) line += this.#kept.toString('latin1', done, to);
    };
    let at = 0;
    for (const { start, end } of regions) {
      if (start >= cut) break;
      text(at, start);
      line += MASK;
      at = end;
    }
    text(Math.min(at, cut), cut);
    const last = waiting.at(-1);
    return last && !RESETS.includes(last.sequence) ? line + RESET : line;
  }
}

/** Bytes that are not UTF-8 become U+FFFD, as every decoder shows them. */
function withReplacements(line: ByteString): ByteString {
  return toByteString(fromByteString(line));
}
