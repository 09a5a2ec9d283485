const TAB = 0x09;
const LINE_FEED = 0x0a;
const BELL = 0x07;
const CARRIAGE_RETURN = 0x0d;
const CANCEL = 0x18;
const SUBSTITUTE = 0x1a;
const ESCAPE = 0x1b;
const DELETE = 0x7f;
/** In UTF-8 the first byte of U+0080–U+009F, control characters that some terminals obey, and of harmless ones. */
const C1_LEAD = 0xc2;
const BACKSLASH = 0x5c;
const MAX_PARAMETERS = 64;

const STOPS = new Uint8Array(256);
STOPS.fill(1, 0, 0x20);
STOPS[TAB] = 0;
STOPS[LINE_FEED] = 0;
STOPS[DELETE] = 1;
STOPS[C1_LEAD] = 1;

const OPENS_CSI = 0x5b;
const ENDS_STYLE = 0x6d;

/** Digits, colon and semicolon. */
const isStyleParameter = (byte: number): boolean => byte >= 0x30 && byte <= 0x3b;

const isC1 = (byte: number): boolean => byte >= 0x80 && byte <= 0x9f;

/** Offset of the first byte that is not simply text, tab or line feed; `to` when all are. */
function nextStop(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && STOPS[bytes[at] ?? 0] === 0) at++;
  return at;
}

/** Whether a control character other than tab and line feed begins here. */
export function isControlAt(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at] ?? 0;
  return byte === C1_LEAD ? isC1(bytes[at + 1] ?? 0) : STOPS[byte] === 1;
}

/** How many bytes here leave no trace in a text: the return of a CRLF, or a change of style. 0: other bytes. */
export function tracelessBytes(bytes: Uint8Array, at: number): number {
  if (bytes[at] === CARRIAGE_RETURN) return bytes[at + 1] === LINE_FEED ? 1 : 0;
  if (bytes[at] !== ESCAPE || bytes[at + 1] !== OPENS_CSI) return 0;
  let end = at + 2;
  while (isStyleParameter(bytes[end] ?? 0)) end++;
  return bytes[end] === ENDS_STYLE ? end + 1 - at : 0;
}

export interface ControlVisitor {
  text(bytes: Uint8Array, from: number, to: number): void;
  carriageReturn(): void;
  /** A change of colour, bold and the like (`ESC [ … m`): the only sequence that can't move or clear anything. */
  style(sequence: string): void;
}

/**
 * Tells text from control sequences, in pieces of any size. States and their ways out:
 *
 * - text: ESC → escape; C2 → c1; other control characters are dropped
 * - c1: 80–9F is a control character → csi, string or text; anything else was text after all
 * - escape: `[` → csi; `] P X ^ _` → string; space to `/` → intermediate; a final byte → text
 * - intermediate: a final byte → text
 * - csi: a final byte → text, with a style if it was `m` with plain numbers
 * - string (titles, links, images): BEL → text; ESC → string-escape
 * - string-escape: `\` → text; anything else → escape
 *
 * A byte that fits none of these ends the sequence and is read again as text, and so does the end of the line: an
 * unfinished sequence never swallows the lines after it.
 */
export class ControlSequences {
  #state: 'text' | 'c1' | 'escape' | 'intermediate' | 'csi' | 'string' | 'string-escape' = 'text';
  #parameters = '';
  readonly #visitor: ControlVisitor;

  constructor(visitor: ControlVisitor) {
    this.#visitor = visitor;
  }

  push(bytes: Uint8Array, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#state !== 'text') {
        if (this.#takes(bytes[at] ?? 0)) at++;
        continue;
      }
      const stop = nextStop(bytes, at, to);
      if (stop > at) this.#visitor.text(bytes, at, stop);
      if (stop < to) this.#begin(bytes[stop] ?? 0);
      at = stop + 1;
    }
  }

  endLine(): void {
    if (this.#state === 'c1') this.#visitor.text(C1_LEAD_BYTES, 0, 1);
    this.#state = 'text';
  }

  #begin(byte: number): void {
    if (byte === ESCAPE) this.#state = 'escape';
    else if (byte === C1_LEAD) this.#state = 'c1';
    else if (byte === CARRIAGE_RETURN) this.#visitor.carriageReturn();
  }

  /** Whether the byte belongs to the sequence; if not, the state is one that will read it anew. */
  #takes(byte: number): boolean {
    switch (this.#state) {
      case 'text':
        return false;
      case 'c1':
        if (isC1(byte)) return this.#open(byte - 0x40);
        this.#visitor.text(C1_LEAD_BYTES, 0, 1);
        return this.#leave(false);
      case 'escape':
        if (byte === ESCAPE) return true;
        if (byte >= 0x20 && byte <= 0x2f) return this.#enter('intermediate');
        return byte >= 0x30 && byte < DELETE ? this.#open(byte) : this.#leave(false);
      case 'intermediate':
        return (byte >= 0x20 && byte <= 0x2f) || this.#leave(byte >= 0x30 && byte < DELETE);
      case 'csi':
        return this.#takesInCsi(byte);
      case 'string':
        if (byte === ESCAPE) return this.#enter('string-escape');
        return byte === BELL || byte === CANCEL || byte === SUBSTITUTE ? this.#leave(true) : true;
      case 'string-escape':
        if (byte === BACKSLASH) return this.#leave(true);
        this.#state = 'escape';
        return false;
    }
  }

  /** What ESC and this byte begin, and likewise the control character U+0080–U+009F that stands for the two. */
  #open(byte: number): boolean {
    this.#parameters = '';
    const opener = String.fromCharCode(byte);
    return this.#enter(opener === '[' ? 'csi' : ']PX^_'.includes(opener) ? 'string' : 'text');
  }

  #takesInCsi(byte: number): boolean {
    if (byte >= 0x20 && byte <= 0x3f) {
      if (this.#parameters.length <= MAX_PARAMETERS) this.#parameters += String.fromCharCode(byte);
      return true;
    }
    const isFinal = byte >= 0x40 && byte < DELETE;
    const isStyle =
      byte === ENDS_STYLE && this.#parameters.length <= MAX_PARAMETERS && /^[\d;:]*$/.test(this.#parameters);
    if (isStyle) this.#visitor.style(`\u001B[${this.#parameters}m`);
    return this.#leave(isFinal);
  }

  #enter(state: 'text' | 'intermediate' | 'csi' | 'string' | 'string-escape'): true {
    this.#state = state;
    return true;
  }

  #leave(taken: boolean): boolean {
    this.#state = 'text';
    return taken;
  }
}

const C1_LEAD_BYTES = Uint8Array.of(C1_LEAD);
