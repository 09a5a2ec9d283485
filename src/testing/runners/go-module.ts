import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** A package that a Go file imports. */
interface GoImport {
  path: string;
  /** As the file calls it; null: by the package's own name. */
  alias: string | null;
}

/** The Go module at the top of a worktree, as far as its files have to be read to understand what `go test` says. */
export interface GoModule {
  /** From go.mod; null where there is none. */
  path: string | null;
  /** Of a package, relative to the worktree; null for a package of another module. */
  folderOf(importPath: string): string | null;
  importPath(folder: string): string;
  importsOf(file: string): GoImport[];
  /** What the files of a package call it; by its path where there are none, or it is of another module. */
  packageName(importPath: string): string;
  /** Which file of a package holds a test; null where none or more than one does. */
  fileOfTest(folder: string, test: string): string | null;
}

export function createGoModule(worktree: string): GoModule {
  const tests = new Map<string, ReadonlyMap<string, string | null>>();
  const path = /^module\s+"?([^\s"]+)/m.exec(textOf('go.mod'))?.[1] ?? null;
  return { path, folderOf, importPath, importsOf, packageName, fileOfTest };

  function folderOf(importPath: string): string | null {
    if (path === null) return null;
    if (importPath === path) return '.';
    return importPath.startsWith(`${path}/`) ? importPath.slice(path.length + 1) : null;
  }

  function importPath(folder: string): string {
    return folder === '.' ? (path ?? '') : posix.join(path ?? '', folder);
  }

  function importsOf(file: string): GoImport[] {
    const clauses = textOf(file).matchAll(/^import\s+(?:\(([^)]*)\)|([^\n(]*))/gm);
    return [...clauses].flatMap(([, group = '', single = '']) =>
      [...`${group}\n${single}`.matchAll(/^\s*(?:([\w.]+)\s+)?["`]([^"`\n]+)["`]/gm)].map(
        ([, alias, imported = '']) => ({
          path: imported,
          alias: alias ?? null,
        }),
      ),
    );
  }

  function packageName(imported: string): string {
    const byPath = posix.basename(imported.replace(/\/v\d+$/, '')).replace(/\.v\d+$/, '');
    const folder = folderOf(imported);
    if (folder === null) return byPath;
    const files = namesIn(folder).filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
    const named = files.map((name) => /^package (\w+)/m.exec(textOf(posix.join(folder, name)))?.[1]);
    return named.find((name) => name !== undefined) ?? byPath;
  }

  function fileOfTest(folder: string, test: string): string | null {
    const known = tests.get(folder) ?? testsIn(folder);
    tests.set(folder, known);
    return known.get(test) ?? null;
  }

  function testsIn(folder: string): ReadonlyMap<string, string | null> {
    const found = new Map<string, string | null>();
    for (const name of namesIn(folder).filter((file) => file.endsWith('_test.go'))) {
      const file = posix.join(folder, name);
      for (const [, test = ''] of textOf(file).matchAll(/^func ((?:Test|Example|Fuzz|Benchmark)\w*)\s*\(/gm))
        found.set(test, found.has(test) ? null : file);
    }
    return found;
  }

  function textOf(file: string): string {
    try {
      return readFileSync(join(worktree, file), 'utf8');
    } catch {
      return '';
    }
  }

  function namesIn(folder: string): string[] {
    try {
      return readdirSync(join(worktree, folder));
    } catch {
      return [];
    }
  }
}
