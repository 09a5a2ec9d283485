/** An object's fields under keys that are spelled alike: `blocking_issues`, `blockingIssues` and `Blocking Issues`. */
export type Fields = Map<string, unknown>;

export function keyOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

export function fieldsOf(value: object): Fields {
  return new Map(Object.entries(value).map(([name, field]) => [keyOf(name), field]));
}

/** A string, or the first string among an object's keys; trimmed, empty if there is none. */
export function stringOf(value: unknown, keys: string[]): string {
  if (typeof value === 'string') return value.trim();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
  const fields = fieldsOf(value);
  for (const key of keys) {
    const field = fields.get(key);
    if (typeof field === 'string' && field.trim() !== '') return field.trim();
  }
  return '';
}

export function arrayOf(fields: Fields, keys: string[]): unknown[] {
  for (const key of keys) {
    const value = fields.get(key);
    if (Array.isArray(value)) return value;
    if (typeof value === 'string' && value.trim() !== '') return [value];
  }
  return [];
}
