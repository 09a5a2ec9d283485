import { sha256 } from './hash.ts';
import { MASK, maskedForms } from './mask.ts';

/**
 * What is needed to recognise a secret, and not to know it: workers mask what vendors echo without ever holding a key.
 * The rolling sum is only a sieve, so that not every window of a text has to be hashed.
 */
export interface Fingerprint {
  length: number;
  sum: number;
  sha256: string;
}

const BASE = 257;

function sumOf(text: string): number {
  let sum = 0;
  for (let at = 0; at < text.length; at++) sum = (Math.imul(sum, BASE) + text.charCodeAt(at)) | 0;
  return sum;
}

export function fingerprintsOf(secrets: readonly string[]): Fingerprint[] {
  return maskedForms(secrets).map((form) => ({ length: form.length, sum: sumOf(form), sha256: sha256(form) }));
}

/** Takes everything out of a text that has one of the fingerprints. */
export function createFingerprintMask(fingerprints: readonly Fingerprint[]): (text: string) => string {
  return (text) => fingerprints.reduce(maskOne, text);
}

function maskOne(text: string, { length, sum, sha256: digest }: Fingerprint): string {
  if (text.length < length) return text;
  let highest = 1;
  for (let power = 1; power < length; power++) highest = Math.imul(highest, BASE);
  let rolling = sumOf(text.slice(0, length));
  let result = '';
  let kept = 0;
  for (let start = 0; ; start++) {
    if (rolling === sum && start >= kept && sha256(text.slice(start, start + length)) === digest) {
      result += text.slice(kept, start) + MASK;
      kept = start + length;
    }
    if (start + length >= text.length) break;
    rolling =
      (Math.imul(rolling - Math.imul(text.charCodeAt(start), highest), BASE) + text.charCodeAt(start + length)) | 0;
  }
  return result + text.slice(kept);
}
