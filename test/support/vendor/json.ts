/** Reading of request bodies whose shape nobody promised: a wrong shape is an absence, never an exception. */
export type JsonObject = { [key: string]: unknown };

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The text of a `string | {text: string}[]` field; parts of other kinds (images, tool blocks) count as nothing. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return asArray(content)
    .map((part) => asString(asObject(part)['text']))
    .filter((text) => text !== '')
    .join('\n');
}
