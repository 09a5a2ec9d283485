import type { IssueMaterial } from '../../governance/material.ts';
import { isSecret, namedPaths } from '../../workspace/context.ts';
import { modulePathFor } from './module-path.ts';
import { testPathFor } from './test-path.ts';

export interface PlannedFile {
  path: string;
  change: 'Add' | 'Modify';
  description: string;
  /** By the issue, in so many words. */
  named: boolean;
}

const MOST_FILES = 20;
const ADDRESS = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
/** A path with a folder, or a file name in backticks; both with an extension. */
const PATH_LIKE =
  /(?<![\w@.~/\\+-])(?:[\w@.+-]+\/)+[\w@+-][\w@.+-]*\.[A-Za-z]\w{0,7}\b(?!\/)|(?<=`)[\w@+-]+(?:\.[\w+-]+)*\.[a-z]{1,5}(?=`)/g;
/** What is written like a file name in code and is none: `console.log`, `Object.keys`. */
const SOURCE_NAME =
  /\.(?:[cm]?[jt]sx?|py|go|rs|rb|java|kt|cs?|cpp|h|hpp|php|swift|exs?|sh|sql|md|ya?ml|json|toml|html|css)$/;

/** Which files a design for this issue touches: those that it names, else a new module; and a test in any case. */
export function plannedFiles(issue: IssueMaterial, paths: readonly string[]): PlannedFile[] {
  const known = new Set(paths);
  const named = namedFiles(`${issue.title}\n${issue.body}`, paths).slice(0, MOST_FILES);
  const planned = named.map((path) => plan(path, known, 'Named by the issue', true));
  const sources = named.filter((path) => !isTestPath(path) && !/\.(?:md|json|ya?ml|toml)$/.test(path));
  if (planned.length === 0 || (sources.length === 0 && !named.some(isTestPath))) {
    const path = modulePathFor(issue, paths);
    planned.push(plan(path, known, 'The module that meets the requirements'));
    sources.push(path);
  }
  if (!named.some(isTestPath)) {
    const path = testPathFor(sources[0] ?? modulePathFor(issue, paths), paths);
    if (!planned.some((file) => file.path === path)) planned.push(plan(path, known, 'One test for each scenario'));
  }
  return planned;
}

function plan(path: string, known: Set<string>, description: string, named = false): PlannedFile {
  return { path, change: known.has(path) ? 'Modify' : 'Add', description, named };
}

function namedFiles(text: string, paths: readonly string[]): string[] {
  const plain = text.toWellFormed().replace(ADDRESS, ' ');
  const added = [...plain.matchAll(PATH_LIKE)]
    .map(([path]) => path.replace(/^(?:\.\/)+/, ''))
    .filter((path) => SOURCE_NAME.test(path));
  const existing = namedPaths(plain, paths);
  const names = new Set(existing.map((path) => path.slice(path.lastIndexOf('/') + 1)));
  const wanted = [...existing, ...added.filter((path) => path.includes('/') || !names.has(path))];
  return [...new Set(wanted)].filter(isUsable);
}

/** Inside the repository, nothing secret, and nothing that a table or a file system could misread. */
function isUsable(path: string): boolean {
  const segments = path.split('/');
  if (isSecret(path) || path.length > 200 || /[`|\\*\p{Cc}]/u.test(path)) return false;
  return (
    segments.every((segment) => segment !== '' && segment !== '..' && segment !== '.') &&
    !/^\.(?:git|agentos)$/i.test(segments[0] ?? '')
  );
}

export function isTestPath(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /(?:^|\/)(?:tests?|specs?|__tests__)\//.test(path) || /(?:^test_|[._-](?:test|spec)\.)/.test(name);
}
