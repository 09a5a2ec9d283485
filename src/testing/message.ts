import { stripVTControlCharacters } from 'node:util';

const CASE_CHARS = 4_000;
const LOAD_CHARS = 20_000;

/** Why a test failed: short enough to be shown to a model together with many others. */
export function caseMessage(text: string): string {
  return plain(text, CASE_CHARS);
}

/** Why tests could not be loaded: whole, as its reason is looked for in it. */
export function loadMessage(text: string): string {
  return plain(text, LOAD_CHARS);
}

function plain(text: string, limit: number): string {
  const clean = stripVTControlCharacters(text).trim();
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}
