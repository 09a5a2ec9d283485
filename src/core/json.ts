import { UNSEEN } from './lines.ts';

const HIDDEN = new RegExp(`[\\u007F-\\u009F]|${UNSEEN.source}`, 'gu');

/** Null for what is not JSON, as for the JSON null. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** As JSON for a terminal too: what could move a cursor or turn the direction of text is written as its number. */
export function shownJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Without what is undefined, which JSON and an environment have no word for. */
export function definedOnly<T>(values: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, T] => entry[1] !== undefined));
}
