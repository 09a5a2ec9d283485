import type { Readable, Writable } from 'node:stream';
import { AgentosError } from '../core/errors.ts';
import { splitLines, UNSEEN } from '../core/lines.ts';
import { MASK, maskedForms, secretRegions } from '../core/mask.ts';
import { paintLabel, printable } from './terminal.ts';

type StreamName = 'stdout' | 'stderr';

/** Where finished lines go. */
export interface Sink {
  /** Gets whole lines. False: its buffer is full; nothing more is written until `drained`. Never throws. */
  write(chunk: Buffer): boolean | void;
  /** Resolves when the sink accepts more; rejects if it never will. */
  drained?(): Promise<void>;
}

export interface OutputPrefixerOptions extends Sink {
  /** Secrets to mask. */
  mask?: readonly string[];
  /** Whether the target shows colour; otherwise colours are removed. */
  colour: boolean;
  /** The rest of a longer line is dropped and counted. Default: 64 KB. */
  maxLineBytes?: number;
  /** Called with every line of an attached stream, masked and without colour, e.g. for a log file. */
  onLine?: (label: string, stream: StreamName, line: string) => void;
}

export interface Attachment {
  /** Resolves when all output of both streams was written. Never rejects: a stream that fails has ended. */
  readonly done: Promise<void>;
  /** Shows what has arrived and stops listening; later output is read and dropped, so that no child blocks. */
  detach(): void;
}

const DEFAULT_MAX_LINE_BYTES = 64 * 1024;
const ENDS = ['end', 'close', 'error'];

/**
 * Puts `[label] ` in front of every line that child processes print. Lines are written whole, so lines of different children never
 * mix, and each stream keeps its order. Sequences that move the cursor or clear the screen are removed.
 *
 * While the sink is full, all streams are paused: a slow terminal slows the children down, and memory stays flat. When the sink is
 * gone (`drained` rejected), children are still read and `onLine` is still called.
 */
export class OutputPrefixer {
  readonly #options: OutputPrefixerOptions;
  readonly #rules: LineRules;
  readonly #streams = new Set<Readable>();
  /** Streams with a permanent error handler. A worker's streams are attached again for each of its items. */
  readonly #guarded = new WeakSet<Readable>();
  #full = false;
  #gone = false;

  constructor(options: OutputPrefixerOptions) {
    this.#options = options;
    this.#rules = {
      secrets: maskedForms(options.mask ?? []).map(toByteString),
      colour: options.colour,
      maxLineBytes: options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES,
    };
  }

  attach(label: string, stdout: Readable | null, stderr: Readable | null): Attachment {
    const followed = [this.#follow(label, 'stdout', stdout), this.#follow(label, 'stderr', stderr)];
    return {
      done: Promise.all(followed.map(({ done }) => done)).then(() => undefined),
      detach: () => {
        for (const stream of followed) stream.detach();
      },
    };
  }

  /** Prints a text of our own, which may have several lines. */
  line(label: string, text: string): void {
    this.#write(this.#linesOf(label).push(Buffer.from(text.endsWith('\n') ? text : `${text}\n`)));
  }

  #linesOf(label: string, onLine?: (line: string) => void): ShownLines {
    const prefix = paintLabel(this.#options, label, `[${printable(label).replaceAll('\n', ' ')}]`);
    return new ShownLines(this.#rules, `${prefix} `, onLine);
  }

  #follow(label: string, name: StreamName, stream: Readable | null): Attachment {
    if (!stream || stream.destroyed || stream.readableEnded)
      return { done: Promise.resolve(), detach: () => undefined };
    const { onLine } = this.#options;
    const lines = this.#linesOf(label, onLine && ((line) => onLine(label, name, line)));
    const { promise: done, resolve } = Promise.withResolvers<void>();
    let isOpen = true;
    const take = (chunk: Buffer | string): void => {
      this.#write(lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
      // To the end of the set: after a pause, each stream gets its turn.
      this.#streams.delete(stream);
      this.#streams.add(stream);
      // Node resumes a child's streams when the child exits, although a grandchild may still write to them.
      if (this.#full) stream.pause();
    };
    const detach = (): void => {
      if (!isOpen) return;
      isOpen = false;
      this.#streams.delete(stream);
      for (const event of ENDS) stream.off(event, detach);
      stream.off('data', take);
      this.#write(lines.end());
      stream.resume();
      resolve();
    };
    this.#streams.add(stream);
    for (const event of ENDS) stream.on(event, detach);
    if (!this.#guarded.has(stream)) stream.on('error', () => undefined);
    this.#guarded.add(stream);
    stream.on('data', take);
    if (this.#full) stream.pause();
    else stream.resume();
    return { done, detach };
  }

  #write(lines: string): void {
    if (lines === '' || this.#gone) return;
    const hasRoom = this.#options.write(Buffer.from(lines, 'latin1')) !== false;
    if (hasRoom || this.#full || !this.#options.drained) return;
    this.#full = true;
    for (const stream of this.#streams) stream.pause();
    const resume = (gone: boolean): void => {
      this.#gone = gone;
      this.#full = false;
      for (const stream of this.#streams) stream.resume();
    };
    this.#options.drained().then(
      () => resume(false),
      () => resume(true),
    );
  }
}

/** A stream as a sink. `drained` rejects if the stream was closed. */
export function sinkOf(stream: Writable): Required<Sink> {
  return {
    write: (chunk) => stream.write(chunk),
    drained: () => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const settle = (): void => {
        for (const event of ['drain', 'close', 'error']) stream.off(event, settle);
        const reason = stream.errored?.message ?? 'closed';
        if (stream.writable) resolve();
        else reject(new AgentosError({ code: 'output-unwritable', path: 'stream', reason }, { cause: stream.errored }));
      };
      for (const event of ['drain', 'close', 'error']) stream.on(event, settle);
      if (!stream.writable || !stream.writableNeedDrain) settle();
      return promise;
    },
  };
}

/** One character per byte, so that a cut UTF-8 character survives until its line is complete. */
type ByteString = string;

const toByteString = (text: string): ByteString => Buffer.from(text).toString('latin1');
const fromByteString = (bytes: ByteString): string => Buffer.from(bytes, 'latin1').toString();

interface LineRules {
  /** All forms of all secrets. */
  readonly secrets: readonly ByteString[];
  readonly colour: boolean;
  readonly maxLineBytes: number;
}

interface Style {
  readonly at: number;
  readonly sequence: string;
}

const MAX_STYLES = 1024;
const LONGEST_CHARACTER = 4;
/** Starts a character or a control character, depending on the next byte. */
const HALF = '\u00C2';
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

// As bytes. C2 80 to C2 9F are U+0080 to U+009F: control characters that mean ESC and a letter.
const CSI = String.raw`(?:\x1b\[|\xc2\x9b)[ -?]*`;
/** Titles, links, images. */
const STRING = String.raw`(?:\x1b[\]PX^_]|\xc2[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b]*`;
const ESCAPE = String.raw`\x1b[ -/]*`;
const CONTROL = String.raw`[\x00-\x08\x0a-\x1f\x7f]|\xc2[\x80-\x9f]|\xc2$`;
/** A control sequence, complete or not: a byte that does not belong to it ends it. */
const SEQUENCE = new RegExp(`${CSI}[@-~]?|${STRING}(?:[\\x07\\x18\\x1a]|\\x1b\\\\)?|${ESCAPE}[0-~]?|${CONTROL}`, 'g');
const UNFINISHED = new RegExp(`^(?:${CSI}|${STRING}|${ESCAPE}|\\xc2)$`);
/** Colour, bold and so on: the only sequences that can't move the cursor or clear anything. */
const STYLE = /^(?:\u001B\[|\u00C2\u009B)([\d:;]{0,64})m$/;
const LONGEST_STYLE = 67;
/** Any byte that may start a sequence. */
const SPECIAL = /[\u0000-\u0008\u000B-\u001F\u007F\u00C2]/;
/** Any byte but printable ASCII, a tab and a line feed. */
const NOT_PLAIN = /[^\t\n -~]/;

/**
 * Turns the bytes of one stream into lines to show: prefixed, without control sequences (except styles, if the target shows them),
 * with secrets masked, and cut if they are too long. How the bytes are split into chunks makes no difference.
 *
 * Secrets are searched in the text without its sequences, so one that is coloured in the middle is found. A carriage return starts
 * the line over, as on a terminal, so only the last state of a progress display is shown. No more of a line is kept than can be
 * shown, so a line without an end can't fill the memory.
 */
class ShownLines {
  readonly #rules: LineRules;
  readonly #prefix: ByteString;
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #keep: number;
  #text: ByteString = '';
  /** The length of the whole text, of which #text keeps the start. */
  #total = 0;
  #styles: Style[] = [];
  /** How many styles came before the last carriage return; null: text has followed it, or there was none. */
  #stylesReturned: number | null = null;
  /** The start of a sequence that the next chunk may complete. */
  #sequence: ByteString = '';
  #begun = false;

  constructor(rules: LineRules, prefix: string, onLine?: (line: string) => void) {
    this.#rules = rules;
    this.#prefix = toByteString(prefix);
    this.#onLine = onLine;
    // So that a secret or a character that starts before the cut is complete.
    this.#keep = rules.maxLineBytes + Math.max(LONGEST_CHARACTER, ...rules.secrets.map(({ length }) => length));
  }

  /** The lines that ended in this chunk. */
  push(chunk: Buffer): ByteString {
    const bytes = chunk.toString('latin1');
    const first = this.#begun ? bytes.indexOf('\n') + 1 : 0;
    const last = bytes.lastIndexOf('\n') + 1;
    const whole = bytes.slice(first, last);
    if (!this.#isPlain(whole)) return this.#read(bytes);
    return this.#read(bytes.slice(0, first)) + this.#prefixed(whole) + this.#read(bytes.slice(last));
  }

  /** The last line, if the stream ended without a line feed. One without text, such as a reset of the colour, is dropped. */
  end(): ByteString {
    return this.#total > 0 || this.#sequence === HALF ? this.#endLine() : '';
  }

  /** Whether these whole lines can be shown unchanged, like most. */
  #isPlain(lines: ByteString): boolean {
    const { secrets, maxLineBytes } = this.#rules;
    if (lines === '' || lines.length > maxLineBytes || NOT_PLAIN.test(lines)) return false;
    return !secrets.some((secret) => lines.includes(secret));
  }

  #prefixed(lines: ByteString): ByteString {
    const all = lines.slice(0, -1).split('\n');
    if (this.#onLine) for (const line of all) this.#onLine(line);
    return `${this.#prefix}${all.join(`\n${this.#prefix}`)}\n`;
  }

  #read(bytes: ByteString): ByteString {
    let lines = '';
    splitLines(bytes, (piece, ended) => {
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
    const isKept = colour && this.#styles.length < MAX_STYLES && this.#total <= maxLineBytes;
    if (isKept) this.#styles.push({ at: this.#total, sequence });
  }

  /** An unfinished sequence ends with its line, so it never swallows the next lines. */
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
    // The last style ends with the line, unless it is a reset.
    if (!/\[0*m$/.test(visible.at(-1)?.sequence ?? '[m')) line += '\u001B[0m';
    const hidden = this.#total - Math.max(at, cut);
    return fromByteString(line).replace(UNSEEN, '') + (hidden > 0 ? ` … [${hidden} bytes cut]` : '');
  }
}
