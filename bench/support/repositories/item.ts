/** A pure function and its tests in the style of a repository: what an honest implementer would write. */
export interface TrivialItem {
  tests: Record<string, string>;
  code: Record<string, string>;
}

/** A test of the repository and the file that it tests, beside which the new ones go. */
export interface Examples {
  test: string;
  testText: string;
  source: string;
  sourceText: string;
  /** How the test imports the source; null where that is not known. */
  specifier: string | null;
  /** Of all files, relative to the repository. */
  paths: readonly string[];
  read: (path: string) => string;
}

/** How the names of files are written where a new one goes. */
export function fileName(neighbour: string, words: readonly string[]): string {
  const stem = neighbour.replace(/\..*$/, '');
  if (stem.includes('_')) return words.join('_');
  if (stem.includes('-')) return words.join('-');
  const pascal = words.map((word) => `${word[0]?.toUpperCase() ?? ''}${word.slice(1)}`).join('');
  if (/^[A-Z]/.test(stem)) return pascal;
  return /[a-z][A-Z]/.test(stem) ? `${pascal[0]?.toLowerCase() ?? ''}${pascal.slice(1)}` : words.join('-');
}

/** `x.test.js`, `test-x.js`, `x_spec.js`, or in a folder of tests `x.js`. */
export function isTestOfName(test: string, stem: string): boolean {
  const name = test.replace(/\.\w+$/, '').replace(/^tests?[._-]|[._-](?:tests?|spec|unit)$|Spec$|Test$/g, '');
  return name === stem;
}

export const WORDS = ['add', 'forty', 'two'] as const;
