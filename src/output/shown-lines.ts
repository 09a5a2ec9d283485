import { isUtf8 } from 'node:buffer';
import { splitLines, UNSEEN } from '../core/lines.ts';
import { MASK, secretRegions } from '../core/mask.ts';

/** Text with one character per byte: what is not UTF-8 is kept as it is until its line is whole. */
type ByteString = string;

export const toByteString = (text: string): ByteString => Buffer.from(text).toString('latin1');
const fromByteString = (bytes: ByteString): string => Buffer.from(bytes, 'latin1').toString();

export interface LineRules {
  /** All forms of all secrets. */
  readonly secrets: readonly ByteString[];
  readonly colour: boolean;
  readonly maxLineBytes: number;
}

interface Style {
  readonly at: number;
  readonly sequence: string;
}

const LINE_FEED = 0x0a;
const MAX_STYLES = 1024;
const LONGEST_CHARACTER = 4;
/** 64 characters of parameters; a longer sequence is no style, and no more has to be known of it. */
const LONGEST_STYLE = 67;
/** Begins a character, or a control character: the next byte tells. */
const HALF = '\u00C2';
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;
const RESET = '\u001B[0m';
const RESETS: readonly string[] = [RESET, '\u001B[m', '\u001B[00m'];

// As bytes: C2 80 to C2 9F are U+0080 to U+009F, control characters that stand for ESC and a letter.
const CSI = String.raw`(?:\x1b\[|\xc2\x9b)[ -?]*`;
/** Titles, links, images. */
const STRING = String.raw`(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b]*`;
const ESCAPE = String.raw`\x1b[ -/]*`;
const CONTROL = String.raw`[\x00-\x08\x0a-\x1f\x7f]|\xc2[\x80-\x9f]|\xc2$`;
/** A control sequence, as far as it goes: a byte that does not fit ends it. */
const SEQUENCE = new RegExp(`${CSI}[@-~]?|${STRING}(?:[\\x07\\x18\\x1a]|\\x1b\\\\)?|${ESCAPE}[0-~]?|${CONTROL}`, 'g');
const UNFINISHED = new RegExp(`^(?:${CSI}|${STRING}|${ESCAPE}|\\xc2)$`);
/** Colour, bold and the like: the only sequence that can't move or clear anything. */
const STYLE = /^(?:\u001B\[|\u00C2\u009B)([\d:;]*)m$/;
/** Any byte that may begin a sequence. */
const SPECIAL = /[\u0000-\u0008\u000B-\u001F\u007F\u00C2]/;
const IS_SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) => Number(SPECIAL.test(String.fromCharCode(byte))));

function hasSpecial(bytes: Buffer): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  while (at < bytes.length) {
    // Four at once: a byte below a space, DEL or one above ASCII sets the high bit of a byte in the result.
    const word = at + 4 <= bytes.length ? view.getInt32(at, true) : 0;
    if ((((word - 0x20202020) | word | (word + 0x01010101)) & 0x80808080) === 0) at += 4;
    else if (IS_SPECIAL[bytes[at] ?? 0] === 1) return true;
    else at++;
  }
  return false;
}

/** Bytes that what is not seen begins with. */
const UNSEEN_LEADS = [0xe2, 0xd8, 0xe1, 0xef, 0xf3];

/** Most lines have none of the bytes at all. */
function hasUnseen(bytes: Buffer): boolean {
  return UNSEEN_LEADS.some((lead) => bytes.includes(lead)) && bytes.toString().search(UNSEEN) !== -1;
}

/**
 * Makes lines to show of one stream's bytes: prefixed, without control sequences (but styles, on a target that shows
 * them), with secrets masked, cut where they are too long. How the bytes were cut into chunks makes no difference.
 *
 * Secrets are looked for in the text without its sequences: one that is coloured in the middle is still a secret. A
 * carriage return starts the line over, as on a terminal: of a progress display the last state is shown. No more is
 * kept of a line than can be shown, so that one without an end can't fill the memory.
 */
export class ShownLines {
  readonly #rules: LineRules;
  readonly #prefix: ByteString;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #keep: number;
  #text: ByteString = '';
  /** How long the text is; more than is kept of it, if it is too long. */
  #total = 0;
  #styles: Style[] = [];
  /** How many styles came before the last carriage return; null when none is waiting for the text that replaces. */
  #stylesReturned: number | null = null;
  /** The beginning of a sequence that the next chunk may complete. */
  #sequence: ByteString = '';
  #begun = false;

  constructor(rules: LineRules, prefix: string, onLine?: (line: string) => void) {
    this.#rules = rules;
    this.#prefix = toByteString(prefix);
    this.#onLine = onLine;
    // A secret or a character that begins before the cut is seen whole.
    this.#keep = rules.maxLineBytes + Math.max(LONGEST_CHARACTER, ...rules.secrets.map(({ length }) => length));
  }

  /** The lines that ended in this chunk. */
  push(chunk: Buffer): ByteString {
    const first = this.#begun ? chunk.indexOf(LINE_FEED) + 1 : 0;
    const last = chunk.lastIndexOf(LINE_FEED) + 1;
    const whole = chunk.subarray(first, last);
    if (!this.#isPlain(whole)) return this.#read(chunk);
    return this.#read(chunk.subarray(0, first)) + this.#prefixed(whole) + this.#read(chunk.subarray(last));
  }

  /** The stream ended here. What would not be seen, such as a last reset of the colour, is not worth a line. */
  end(): ByteString {
    return this.#total > 0 || this.#sequence === HALF ? this.#endLine() : '';
  }

  /** Whole lines in which there is nothing to look at closely, as in nearly all. */
  #isPlain(lines: Buffer): boolean {
    const { secrets, maxLineBytes } = this.#rules;
    if (lines.length === 0 || lines.length > maxLineBytes || !isUtf8(lines)) return false;
    if (hasSpecial(lines) || hasUnseen(lines)) return false;
    return !secrets.some((secret) => lines.includes(secret, 0, 'latin1'));
  }

  #prefixed(lines: Buffer): ByteString {
    const all = lines.toString('latin1', 0, lines.length - 1).split('\n');
    if (this.#onLine) for (const line of all) this.#onLine(fromByteString(line));
    return `${this.#prefix}${all.join(`\n${this.#prefix}`)}\n`;
  }

  #read(bytes: Buffer): ByteString {
    let lines = '';
    splitLines(bytes.toString('latin1'), (piece, ended) => {
      this.#take(piece);
      if (ended) lines += this.#endLine();
    });
    return lines;
  }

  #take(piece: ByteString): void {
    this.#begun = true;
    const bytes = this.#sequence + piece;
    this.#sequence = '';
    if (!SPECIAL.test(bytes)) return this.#add(bytes);
    let at = 0;
    for (const { 0: sequence, index } of bytes.matchAll(SEQUENCE)) {
      this.#add(bytes.slice(at, index));
      at = index + sequence.length;
      const style = STYLE.exec(sequence);
      if (sequence === '\r') this.#stylesReturned = this.#styles.length;
      else if (style) this.#addStyle(`\u001B[${style[1]}m`);
      else if (at === bytes.length && UNFINISHED.test(sequence)) this.#sequence = sequence.slice(0, LONGEST_STYLE);
    }
    this.#add(bytes.slice(at));
  }

  #add(text: ByteString): void {
    if (text === '') return;
    if (this.#stylesReturned !== null) {
      this.#styles = this.#styles.slice(this.#stylesReturned).map(({ sequence }) => ({ at: 0, sequence }));
      this.#stylesReturned = null;
      this.#text = '';
      this.#total = 0;
    }
    this.#total += text.length;
    this.#text += text.slice(0, this.#keep - this.#text.length);
  }

  #addStyle(sequence: string): void {
    const { colour, maxLineBytes } = this.#rules;
    if (!colour || sequence.length > LONGEST_STYLE) return;
    if (this.#styles.length < MAX_STYLES && this.#total <= maxLineBytes) {
      this.#styles.push({ at: this.#total, sequence });
    }
  }

  /** An unfinished sequence ends with its line: it never swallows the lines after it. */
  #endLine(): ByteString {
    if (this.#sequence === HALF) this.#add(HALF);
    this.#sequence = '';
    const plain = this.#render([]);
    const shown = this.#styles.length === 0 ? plain : this.#render(this.#styles);
    this.#text = '';
    this.#total = 0;
    this.#styles = [];
    this.#stylesReturned = null;
    this.#begun = false;
    this.#onLine?.(plain);
    return `${this.#prefix}${toByteString(shown)}\n`;
  }

  #render(styles: readonly Style[]): string {
    const text = this.#text;
    const { secrets, maxLineBytes } = this.#rules;
    let cut = Math.min(text.length, maxLineBytes);
    // Never inside a character.
    while (cut < text.length && cut > 0 && isContinuation(text.charCodeAt(cut))) cut--;
    const visible = styles.filter(({ at }) => at <= cut);
    let line = '';
    let at = 0;
    let next = 0;
    const show = (to: number): void => {
      for (let style = visible[next]; style && style.at <= to; style = visible[++next]) {
        line += text.slice(at, style.at) + style.sequence;
        at = Math.max(at, style.at);
      }
      line += text.slice(at, to);
    };
    for (const { start, end } of secretRegions(text, secrets)) {
      if (start >= cut) break;
      show(start);
      line += MASK;
      at = end;
    }
    show(cut);
    const last = visible.at(-1);
    if (last && !RESETS.includes(last.sequence)) line += RESET;
    const hidden = this.#total - Math.max(at, cut);
    return fromByteString(line).replace(UNSEEN, '') + (hidden > 0 ? ` … [${hidden} bytes cut]` : '');
  }
}
