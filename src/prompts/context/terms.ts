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

/** Longer words are hashes, keys and encoded data. */
const LONGEST_WORD = 60;
const part = new Uint8Array(LONGEST_WORD + 1);
const whole = new Uint8Array(LONGEST_WORD + 1);

/** Called for each part of a word, and for a whole word of several parts; `start` and `end` are those of the word. */
type OnTerm = (hash: number, start: number, end: number) => void;

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

/** The hash of `part` without plural, -ing, -ed, -er, -ion, a final e or a doubled consonant. */
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

/** FNV-1a, as a signed number, which is fast. */
function hashOf(bytes: Uint8Array, length: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return hash;
}

const encoder = new TextEncoder();

/** The terms of a short text, in order, with repetitions. */
export function termsOf(text: string): number[] {
  const found: number[] = [];
  const bytes = encoder.encode(text);
  eachTerm(bytes, 0, bytes.length, (hash) => found.push(hash));
  return found;
}

/** Keywords before the name of a declaration. */
const DECLARING = new Set(
  termsOf(
    'def func function class fn struct interface type enum trait module impl package const record protocol object macro',
  ),
);
/** A declaration says more about a file than a use. */
const DECLARED_COUNTS = 3;

/** How often each term occurs in a text. */
export function countTerms(bytes: Uint8Array): { terms: Int32Array; counts: Uint8Array } {
  const found = new Map<number, number>();
  let declaredAt = -1;
  eachTerm(bytes, 0, bytes.length, (hash, start, end) => {
    found.set(hash, (found.get(hash) ?? 0) + (start === declaredAt ? DECLARED_COUNTS : 1));
    if (DECLARING.has(hash)) declaredAt = end + 1;
  });
  return {
    terms: Int32Array.from(found.keys()),
    counts: Uint8Array.from(found.values(), (count) => Math.min(255, count)),
  };
}
