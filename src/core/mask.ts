import type { Secret } from './secret.ts';

export const MASK = '********';

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

/** Takes every known secret out of a text, also in the form it has inside JSON and in URLs. */
export function createMask(secrets: readonly Secret[]): (text: string) => string {
  const longestFirst = maskedForms(secrets.map((secret) => secret.reveal()));
  return (text) => longestFirst.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}
