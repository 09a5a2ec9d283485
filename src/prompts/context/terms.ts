/**
 * Words of code and prose as numbers. Identifiers are split by case and underscore, each part is lower-cased, lightly
 * stemmed and hashed; an identifier of several parts is also counted whole, so that `parseItemId` finds `parse_item_id`.
 * Works on bytes: decoding thirty thousand files would cost more than counting their words.
 */

const SEPARATOR = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const JOINT = 4;

const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte);
  if (byte >= 0x80 || /[a-z]/.test(char)) return LOWER;
  if (/[A-Z]/.test(char)) return UPPER;
  if (/[0-9]/.test(char)) return DIGIT;
  return char === '_' || char === '$' ? JOINT : SEPARATOR;
});

/** Longer ones are hashes, keys and encoded data. */
const LONGEST_WORD = 60;
const part = new Uint8Array(LONGEST_WORD + 1);
const whole = new Uint8Array(LONGEST_WORD + 1);

/** Called for each part of a word, and for the whole of one that has several; `start` and `end` are those of the word. */
export type OnTerm = (hash: number, start: number, end: number) => void;

export function eachTerm(bytes: Uint8Array, from: number, to: number, onTerm: OnTerm): void {
  let at = from;
  while (at < to) {
    if (KINDS[bytes[at] as number] === SEPARATOR) {
      at += 1;
      continue;
    }
    let end = at + 1;
    while (end < to && KINDS[bytes[end] as number] !== SEPARATOR) end += 1;
    if (end - at <= LONGEST_WORD) eachPart(bytes, at, end, onTerm);
    at = end;
  }
}

function eachPart(bytes: Uint8Array, from: number, to: number, onTerm: OnTerm): void {
  let parts = 0;
  let wholeLength = 0;
  let length = 0;
  let previous = SEPARATOR;
  for (let at = from; at <= to; at++) {
    const byte = at < to ? (bytes[at] as number) : 0;
    const kind = at < to ? (KINDS[byte] as number) : SEPARATOR;
    // `fooBar` ends before its B; `HTTPServer` before its S.
    const begins =
      kind === UPPER &&
      (previous === LOWER ||
        previous === DIGIT ||
        (previous === UPPER && KINDS[bytes[at + 1] as number] === LOWER && at + 1 < to));
    if (length > 0 && (kind === SEPARATOR || kind === JOINT || begins)) {
      if (length > 1) {
        parts += 1;
        onTerm(stemmedHash(length), from, to);
      }
      length = 0;
    }
    previous = kind;
    if (kind === SEPARATOR || kind === JOINT) continue;
    const lower = kind === UPPER ? byte + 32 : byte;
    part[length++] = lower;
    whole[wholeLength++] = lower;
  }
  if (parts > 1) onTerm(hashOf(whole, wholeLength), from, to);
}

/** Of what `part` holds: plural, -ing, -ed, -er, -ion, a final e and a doubled consonant don't distinguish words. */
function stemmedHash(given: number): number {
  let length = given;
  if (length > 3) {
    if (part[length - 1] === S && part[length - 2] !== S && part[length - 2] !== U) length -= 1;
    if (length > 5 && part[length - 3] === I && part[length - 2] === N && part[length - 1] === G) length -= 3;
    if (length > 5 && part[length - 3] === I && part[length - 2] === O && part[length - 1] === N) length -= 3;
    if (length > 4 && part[length - 2] === E && (part[length - 1] === D || part[length - 1] === R)) length -= 2;
    if (length > 3 && part[length - 1] === E) length -= 1;
    if (length > 3 && part[length - 1] === Y) part[length - 1] = I;
    if (length > 3 && part[length - 1] === part[length - 2]) length -= 1;
  }
  return hashOf(part, length);
}

const [D, E, G, I, N, O, R, S, U, Y] = [0x64, 0x65, 0x67, 0x69, 0x6e, 0x6f, 0x72, 0x73, 0x75, 0x79];

/** FNV-1a, as a signed number because those are cheap; never 0, which marks a free place in tables. */
function hashOf(bytes: Uint8Array, length: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash === 0 ? 1 : hash;
}

const encoder = new TextEncoder();

/** The terms of a short text, in order, with repetitions. */
export function termsOf(text: string): number[] {
  const found: number[] = [];
  const bytes = encoder.encode(text);
  eachTerm(bytes, 0, bytes.length, (hash) => found.push(hash));
  return found;
}

/** Words before a name that is declared there. */
const DECLARING = new Set(
  termsOf(
    'def func function class fn struct interface type enum trait module impl package const record protocol object macro',
  ),
);
const DECLARING_BITS = Uint8Array.from({ length: 256 }, () => 0);
for (const hash of DECLARING) DECLARING_BITS[hash & 255] = 1;
/** A declared name says more about a file than one that is used. */
const DECLARED_COUNTS = 3;

/** How often each term occurs in a text; the table is used again for the next one. */
export class TermCounter {
  #keys = new Int32Array(1 << 14);
  #counts = new Uint16Array(1 << 14);
  #used: number[] = [];

  count(bytes: Uint8Array): { terms: Int32Array; counts: Uint8Array } {
    for (const place of this.#used) this.#keys[place] = this.#counts[place] = 0;
    this.#used = [];
    let declaredAt = -1;
    eachTerm(bytes, 0, bytes.length, (hash, start, end) => {
      this.#add(hash, start === declaredAt ? DECLARED_COUNTS : 1);
      if (DECLARING_BITS[hash & 255] === 1 && DECLARING.has(hash)) declaredAt = end + 1;
    });
    const used = this.#used;
    const terms = new Int32Array(used.length);
    const counts = new Uint8Array(used.length);
    for (let at = 0; at < used.length; at++) {
      const place = used[at] ?? 0;
      terms[at] = this.#keys[place] ?? 0;
      counts[at] = Math.min(255, this.#counts[place] ?? 0);
    }
    return { terms, counts };
  }

  #add(hash: number, by: number): void {
    const mask = this.#keys.length - 1;
    let place = hash & mask;
    for (let key = this.#keys[place]; key !== hash; key = this.#keys[place]) {
      if (key === 0) {
        if (this.#used.length * 2 > mask) return this.#grow(hash, by);
        this.#keys[place] = hash;
        this.#used.push(place);
        break;
      }
      place = (place + 1) & mask;
    }
    this.#counts[place] = Math.min(0xffff, (this.#counts[place] ?? 0) + by);
  }

  #grow(hash: number, by: number): void {
    const before = this.#used.map((place) => [this.#keys[place] ?? 0, this.#counts[place] as number] as const);
    this.#counts = new Uint16Array(this.#keys.length * 4);
    this.#keys = new Int32Array(this.#keys.length * 4);
    this.#used = [];
    for (const [key, count] of before) this.#add(key, count);
    this.#add(hash, by);
  }
}
