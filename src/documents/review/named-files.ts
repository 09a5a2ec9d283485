import { basename } from 'node:path/posix';

/** Whether a text names a file: by its path, or by its name where that stands as a word of its own. */
export function namesFile(text: string, path: string): boolean {
  // A word such as `run` is the name of a file only where it is set off as code.
  const isWord = !/[./]/.test(path);
  for (let at = text.indexOf(path); at >= 0; at = text.indexOf(path, at + 1)) {
    const before = text.slice(0, at).replace(/(?<![\w./-])\.\/$/, '');
    const after = text.slice(at + path.length);
    const isWhole = !/[\w/.@-]$/.test(before) && !/^(?:[\w/-]|\.\w)/.test(after);
    if (isWhole && (!isWord || (before.endsWith('`') && after.startsWith('`')))) return true;
  }
  return false;
}

export interface NamedAmong {
  /** Files that are there: named by their whole paths. */
  paths: readonly string[];
  /** Those that were changed: named also by a name that only one of them has. */
  changed: readonly string[];
}

/**
 * The files that findings name, and so may be changed for them. A finding that names none leaves all changed files open:
 * what it asks for has to be somewhere in the change. A suggestion that names none opens nothing.
 */
export function filesNamed(
  { findings, suggestions }: { findings: readonly string[]; suggestions: readonly string[] },
  { paths, changed }: NamedAmong,
): string[] {
  const names = changed.map((path) => basename(path));
  const known = [...new Set([...changed, ...paths])];
  const namedIn = (text: string): string[] => [
    ...known.filter((path) => namesFile(text, path)),
    ...changed.filter((_, at) => {
      const name = names[at] ?? '';
      return names.indexOf(name) === names.lastIndexOf(name) && namesFile(text, name);
    }),
  ];
  const asked = findings.flatMap((text) => {
    const named = namedIn(text);
    return named.length === 0 ? changed : named;
  });
  const all = findings.length === 0 ? changed : asked;
  return [...new Set([...all, ...suggestions.flatMap(namedIn)])].sort();
}
