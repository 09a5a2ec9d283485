import { UNSEEN } from './lines.ts';

const HIDDEN = new RegExp(`[\\u007F-\\u009F]|${UNSEEN.source}`, 'gu');

/** Null if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** JSON that is safe on a terminal: characters that could move the cursor or change the direction of text are escaped. */
export function shownJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(HIDDEN, (character) =>
    Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** JSON for pages: characters that can't be seen are named, so that code reads there as a compiler reads it. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSEEN,
    (character) => `[U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** Drops undefined values, for JSON and environments. */
export function definedOnly<T>(values: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, T] => entry[1] !== undefined));
}

/** For JSON from outside, which is read field by field: a missing field or a wrong type counts as absent. */
export type Fields = Readonly<Record<string, unknown>>;

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

export function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
