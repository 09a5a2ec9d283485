/** What files import of each other, in the languages that name files or modules. */

const MOST_IMPORTS = 60;

const IMPORT =
  /^[ \t]*(?:(?:import|export)\b[^'"\n]*?(?:from\s*)?['"]([^'"\n]+)['"]|(?:const|let|var)\b.*?\brequire\(\s*['"]([^'"\n]+)['"]|\}\s*from\s*['"]([^'"\n]+)['"]|from\s+([\w.]+)\s+import\b|import\s+(?:static\s+)?([\w.]+)|(?:pub(?:\(\w+\))?\s+)?(?:use|mod)\s+([\w:]+)|require(?:_relative)?[ (]+['"]([^'"\n]+)['"]|#\s*include\s*["<]([^">\n]+)[">]|"([\w./-]+\/[\w./-]+)"$)/gm;

/** The names as the file writes them; `head`: the part of it where imports stand. */
export function importsOf(head: string): string[] {
  const found = new Set<string>();
  for (const match of head.matchAll(IMPORT)) {
    const name = match.slice(1).find((group) => group !== undefined);
    if (name !== undefined) found.add(name);
    if (found.size >= MOST_IMPORTS) break;
  }
  return [...found];
}

/** The place of the file that an import means: the one whose path ends most like it. Packages of others mean none. */
export function importResolver(paths: readonly string[]): (from: string, name: string) => number | null {
  const bySubject = new Map<string, number[]>();
  paths.forEach((path, place) => {
    const stem = path.replace(/(?<=[^/])\.\w+$/, '').replace(/\/(index|mod|__init__|lib)$/, '');
    const key = stem.slice(stem.lastIndexOf('/') + 1);
    const same = bySubject.get(key);
    if (same === undefined) bySubject.set(key, [place]);
    else same.push(place);
  });
  return (from, name) => {
    const segments = name
      .replace(/\.(ts|js|tsx|jsx|mjs|cjs|h|hpp|rb|py)$/, '')
      .split(/[/.]|::/)
      .filter((part) => part !== '' && part !== '*');
    for (const key of [segments.at(-1), segments.at(-2)]) {
      const candidates = key === undefined ? undefined : bySubject.get(key);
      if (candidates === undefined || candidates.length > 50) continue;
      let best = candidates[0] ?? null;
      let most = -1;
      for (const place of candidates) {
        const path = paths[place] ?? '';
        const shared = segments.filter((segment) => path.includes(segment)).length * 100 + sharedPrefix(path, from);
        if (shared > most) [best, most] = [place, shared];
      }
      return best;
    }
    return null;
  };
}

function sharedPrefix(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
