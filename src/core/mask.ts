import { sha256 } from './hash.ts';
import type { Secret } from './secret.ts';

export const MASK = '********';

/** The part of a text that holds a secret. */
interface Region {
  readonly start: number;
  readonly end: number;
}

/**
 * Enough to recognise a secret without knowing it: workers mask keys that vendors echo, and never hold a key. The rolling sum is a
 * cheap first test, so that not every window of a text has to be hashed.
 */
export interface Fingerprint {
  length: number;
  sum: number;
  sha256: string;
}

/** Masking a dummy such as `test` would hide ordinary words. */
function isMaskable(value: string): boolean {
  return value.length >= 8 || (value.length >= 4 && /[^a-zA-Z]/.test(value));
}

/**
 * All forms in which these values may appear, the longest first: plain, in JSON, in a URL, and in base64, hexadecimal and percent
 * encoding, also as part of a longer encoded text.
 */
export function maskedForms(values: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const value of values) {
    if (!isMaskable(value)) continue;
    const inUrl = encodeURIComponent(value.toWellFormed());
    for (const form of [value, JSON.stringify(value).slice(1, -1), inUrl, ...encodedForms(value)]) forms.add(form);
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Shorter base64 occurs in ordinary text. */
const SHORTEST_ENCODED = 12;

function encodedForms(value: string): string[] {
  if (value.length < SHORTEST_ENCODED) return [];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const percent = hex.replace(/../g, '%$&');
  const base64 = [0, 1, 2].map((before) => base64Behind(before, bytes));
  const inUrls = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [hex, hex.toUpperCase(), percent, percent.toUpperCase(), ...base64, ...inUrls];
}

/** The base64 of these bytes after `before` others, without the characters that depend on neighbouring bytes. */
function base64Behind(before: number, bytes: Buffer): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '');
  const isWhole = (before + bytes.length) % 3 === 0;
  return text.slice(before === 0 ? 0 : before + 1, isWhole ? text.length : -1);
}

/** Where the forms occur in a text. Regions that touch or overlap are joined. */
export function secretRegions(text: string, forms: readonly string[]): Region[] {
  const found: Region[] = [];
  for (const form of forms) {
    for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1)) {
      found.push({ start, end: start + form.length });
    }
  }
  return joined(found);
}

/** Replaces every secret in a text, in all its forms. */
export function createMask(secrets: readonly Secret[]): (text: string) => string {
  const forms = maskedForms(secrets.map((secret) => secret.reveal()));
  return (text) => masked(text, secretRegions(text, forms));
}

export function fingerprintsOf(secrets: readonly string[]): Fingerprint[] {
  return maskedForms(secrets).map((form) => ({ length: form.length, sum: sumOf(form), sha256: sha256(form) }));
}

/** Replaces everything that matches one of the fingerprints. */
export function createFingerprintMask(fingerprints: readonly Fingerprint[]): (text: string) => string {
  const byLength = [...Map.groupBy(fingerprints, ({ length }) => length)];
  const digests = new Set(fingerprints.map((fingerprint) => fingerprint.sha256));
  const sums = byLength.map(([length, some]) => ({ length, sums: new Set(some.map(({ sum }) => sum)), digests }));
  return (text) => masked(text, joined(sums.flatMap((known) => recognised(text, known))));
}

const STAR = 0x2a;

/** Replaces a secret in a stream with as many bytes, however it is split into chunks. */
export function createStreamMask(secret: string) {
  const forms = maskedForms([secret]).map((form) => Buffer.from(form));
  const longest = Math.max(0, ...forms.map(({ length }) => length));
  let kept = Buffer.alloc(0);
  return {
    push(chunk: Buffer): Buffer {
      if (forms.length === 0) return chunk;
      let bytes: Buffer = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      for (const form of forms) {
        for (let at = bytes.indexOf(form); at !== -1; at = bytes.indexOf(form, at + form.length)) {
          // The given chunk is never changed.
          if (bytes === chunk) bytes = Buffer.from(chunk);
          bytes.fill(STAR, at, at + form.length);
        }
      }
      const from = beginningAt(bytes, forms, longest);
      kept = Buffer.from(bytes.subarray(from));
      return bytes.subarray(0, from);
    },
    /** The last bytes, which were kept back because they might have been the start of a secret. */
    end: (): Buffer => kept,
  };
}

/** The offset of an end that may be the start of one of these forms; otherwise the length. */
function beginningAt(bytes: Buffer, forms: readonly Buffer[], longest: number): number {
  for (let at = Math.max(0, bytes.length - longest + 1); at < bytes.length; at++) {
    const length = bytes.length - at;
    const isStart = (form: Buffer): boolean =>
      form.length > length && form[0] === bytes[at] && bytes.compare(form, 0, length, at) === 0;
    if (forms.some(isStart)) return at;
  }
  return bytes.length;
}

function masked(text: string, regions: readonly Region[]): string {
  let result = '';
  let at = 0;
  for (const { start, end } of regions) {
    result += text.slice(at, start) + MASK;
    at = end;
  }
  return at === 0 ? text : result + text.slice(at);
}

function joined(regions: readonly Region[]): Region[] {
  const all: Region[] = [];
  for (const region of regions.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && region.start <= last.end) all.splice(-1, 1, { ...last, end: Math.max(last.end, region.end) });
    else all.push(region);
  }
  return all;
}

const BASE = 257;

function sumOf(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, BASE) + text.charCodeAt(at)) | 0;
  return sum;
}

interface KnownLength {
  length: number;
  sums: ReadonlySet<number>;
  digests: ReadonlySet<string>;
}

function recognised(text: string, { length, sums, digests }: KnownLength): Region[] {
  if (text.length < length) return [];
  const found: Region[] = [];
  let highest = 1;
  for (let power = 1; power < length; power++) highest = Math.imul(highest, BASE);
  let rolling = sumOf(text.slice(0, length));
  for (let start = 0; ; start++) {
    const end = start + length;
    if (sums.has(rolling) && digests.has(sha256(text.slice(start, end)))) found.push({ start, end });
    if (end >= text.length) return found;
    rolling = (Math.imul(rolling - Math.imul(text.charCodeAt(start), highest), BASE) + text.charCodeAt(end)) | 0;
  }
}
