import { sha256 } from './hash.ts';
import type { Secret } from './secret.ts';

export const MASK = '********';

/** A part of a text that must not be shown. */
export interface Region {
  readonly start: number;
  readonly end: number;
}

/**
 * Enough to recognise a secret without knowing it: workers mask what vendors echo, and never hold a key. The rolling
 * sum is a cheap first test, so that not every window of a text has to be hashed.
 */
export interface Fingerprint {
  length: number;
  sum: number;
  sha256: string;
}

/** A dummy such as `test` would blot out ordinary words; a key that short protects nothing. */
function isMaskable(value: string): boolean {
  return value.length >= 8 || (value.length >= 4 && /[^a-zA-Z]/.test(value));
}

/** What has to be hidden to hide these values: each one as it is, inside JSON and in a URL; the longest first. */
export function maskedForms(values: readonly string[]): string[] {
  const forms = new Set<string>();
  for (const value of values) {
    if (!isMaskable(value)) continue;
    const inUrl = encodeURIComponent(value.toWellFormed());
    for (const form of [value, JSON.stringify(value).slice(1, -1), inUrl]) forms.add(form);
  }
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Where the forms stand in a text. Those that touch or overlap are one region, so that no end of one is left. */
export function secretRegions(text: string, forms: readonly string[]): Region[] {
  const found: Region[] = [];
  for (const form of forms) {
    for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1)) {
      found.push({ start, end: start + form.length });
    }
  }
  return joined(found);
}

/** Replaces every known secret in a text, also in the form that it has inside JSON and in URLs. */
export function createMask(secrets: readonly Secret[]): (text: string) => string {
  const forms = maskedForms(secrets.map((secret) => secret.reveal()));
  return (text) => masked(text, secretRegions(text, forms));
}

export function fingerprintsOf(secrets: readonly string[]): Fingerprint[] {
  return maskedForms(secrets).map((form) => ({ length: form.length, sum: sumOf(form), sha256: sha256(form) }));
}

/** Replaces everything in a text that has one of the fingerprints. */
export function createFingerprintMask(fingerprints: readonly Fingerprint[]): (text: string) => string {
  return (text) => masked(text, joined(fingerprints.flatMap((fingerprint) => recognised(text, fingerprint))));
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

function recognised(text: string, { length, sum, sha256: digest }: Fingerprint): Region[] {
  if (text.length < length) return [];
  const found: Region[] = [];
  let highest = 1;
  for (let power = 1; power < length; power++) highest = Math.imul(highest, BASE);
  let rolling = sumOf(text.slice(0, length));
  for (let start = 0; ; start++) {
    const end = start + length;
    if (rolling === sum && sha256(text.slice(start, end)) === digest) found.push({ start, end });
    if (end >= text.length) return found;
    rolling = (Math.imul(rolling - Math.imul(text.charCodeAt(start), highest), BASE) + text.charCodeAt(end)) | 0;
  }
}
