/** A word for a line to copy into a shell: quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Flags with their values, for such a line; those without a value are left out. */
export function flagWords(values: Readonly<Record<string, string | number | null | undefined>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [name, shellWord(String(value))],
  );
}
