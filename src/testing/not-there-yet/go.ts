import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Changes } from './changes.ts';
import { importsOf, packageNameOf } from './go-imports.ts';
import { relativePath } from './module-path.ts';

const ERROR = /^(?:vet: )?(\S+\.go):\d+(?::\d+)?: (.+)$/gm;
/** Without a file to blame: `go build example.com/m/a: no non-test Go files in /m/a`. */
const NO_FILES = /^.*\bno non-test Go files in (.+)$/gm;
const MISSING_PACKAGE: readonly RegExp[] = [
  /^no required module provides package (\S+?);/,
  /^package (\S+) is not in (?:GOROOT|std)/,
  /^cannot find (?:package "(\S+)"|module providing package (\S+))/,
  /^could not import (\S+) \(/,
  /^module \S+ (?:provides|does not contain) package (\S+)/,
];
const MISSING_NAME: readonly RegExp[] = [
  /^undefined: (?:(\w+)\.)?\w+$/,
  /\bundefined \(type \**(?:(\w+)\.)?\w+(?:\[.*\])? has no field or method \w+/,
  /^unknown field '?\w+'? in struct literal(?: of type (?:(\w+)\.)?\w+)?/,
];

export function looksLikeGo(message: string): boolean {
  return /^(?:vet: )?\S+\.go:\d+|\bno non-test Go files in /m.test(message);
}

/** Every error has to be one of a name or a package that a changed file could bring. */
export function isGoNotThere(message: string, changes: Changes, worktree: string): boolean {
  const isProduct = (path: string): boolean => path.endsWith('.go') && !path.endsWith('_test.go');
  const added = new Set(changes.added.filter(isProduct).map((path) => posix.dirname(path)));
  const changed = new Set([...added, ...changes.modified.filter(isProduct).map((path) => posix.dirname(path))]);
  const modulePath = modulePathOf(worktree);
  // The compiler stops after ten errors of a package, and says so.
  const errors = [...message.replace(NO_FILES, '').matchAll(ERROR)].filter(([, , text]) => text !== 'too many errors');
  const empty = [...message.matchAll(NO_FILES)].map(([, path = '']) => relativePath(path.trim(), worktree));
  return (
    errors.length + empty.length > 0 &&
    errors.every(([, file = '', text = '']) => isAddedPackage(text) || isName(file, text)) &&
    empty.every((folder) => added.has(folder ?? ''))
  );

  function isAddedPackage(text: string): boolean {
    const found = MISSING_PACKAGE.map((pattern) => pattern.exec(text)).find((match) => match !== null);
    const path = found?.[1] ?? found?.[2];
    return path !== undefined && added.has(folderOf(path) ?? '');
  }

  function isName(file: string, text: string): boolean {
    const found = MISSING_NAME.map((pattern) => pattern.exec(text)).find((match) => match !== null);
    if (found === undefined) return false;
    const [, qualifier] = found;
    if (qualifier === undefined) return changed.has(posix.dirname(posix.normalize(file)));
    const imports = importsOf(worktree, posix.normalize(file));
    const meant = imports.find(({ path, alias }) => (alias ?? nameOf(path)) === qualifier);
    if (meant !== undefined) return changed.has(folderOf(meant.path) ?? '');
    // The package of a type need not be imported by the file that uses it.
    return [...changed].some((folder) => packageNameOf(worktree, folder, importPath(folder)) === qualifier);
  }

  function nameOf(path: string): string {
    return packageNameOf(worktree, folderOf(path), path);
  }

  /** Null for a package of somebody else. */
  function folderOf(path: string): string | null {
    if (modulePath === null) return null;
    if (path === modulePath) return '.';
    return path.startsWith(`${modulePath}/`) ? path.slice(modulePath.length + 1) : null;
  }

  function importPath(folder: string): string {
    return folder === '.' ? (modulePath ?? '') : folder;
  }
}

function modulePathOf(worktree: string): string | null {
  try {
    return /^module\s+"?([^\s"]+)/m.exec(readFileSync(join(worktree, 'go.mod'), 'utf8'))?.[1] ?? null;
  } catch {
    return null;
  }
}
