import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** A package that a Go file imports. */
interface GoImport {
  path: string;
  /** As the file calls it; null: by the package's own name. */
  alias: string | null;
}

/** Of a file in the worktree; empty where it can't be read. */
export function importsOf(worktree: string, file: string): GoImport[] {
  const text = textOf(join(worktree, file));
  const clauses = text.matchAll(/^import\s+(?:\(([^)]*)\)|([^\n(]*))/gm);
  return [...clauses].flatMap(([, group = '', single = '']) =>
    [...`${group}\n${single}`.matchAll(/^\s*(?:([\w.]+)\s+)?["`]([^"`\n]+)["`]/gm)].map(([, alias, path = '']) => ({
      path,
      alias: alias ?? null,
    })),
  );
}

/** What the files of a folder call their package; by its path where there are none, or it is not in the worktree (null). */
export function packageNameOf(worktree: string, folder: string | null, importPath: string): string {
  const byPath = posix.basename(importPath.replace(/\/v\d+$/, '')).replace(/\.v\d+$/, '');
  if (folder === null) return byPath;
  const files = namesIn(join(worktree, folder)).filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  const named = files.map((name) => /^package (\w+)/m.exec(textOf(join(worktree, folder, name)))?.[1]);
  return named.find((name) => name !== undefined) ?? byPath;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
