import { glob } from 'node:fs/promises';
import { posix } from 'node:path';
import type { LoadFailure, TestCase } from '../port.ts';
import { loadMessage, type PathInWorktree } from '../reports/report.ts';
import type { Changes, RunOutput } from '../runner.ts';
import { isRunnableTest } from '../test-files.ts';

/*
 * Shared by languages whose tests are compiled first and whose reports name classes instead of files.
 */

/** Adds each case's file, found by the name of its class. It stays null if no file or several files have that name. */
export async function withFilesOfClasses(
  cases: readonly TestCase[],
  worktree: string,
  extensions: string,
): Promise<TestCase[]> {
  if (cases.length === 0) return [];
  const files = new Map<string, string | null>();
  const exclude = (path: string): boolean => /(?:^|\/)(?:node_modules|target|build|bin|obj|\.git|\.gradle)$/.test(path);
  for await (const path of glob(`**/*.{${extensions}}`, { cwd: worktree, exclude })) {
    const name = posix.basename(path).replace(/\.\w+$/, '');
    files.set(name, files.has(name) ? null : path);
  }
  return cases.map((test) => {
    const [, name = ''] = /(?:^|[.\s])([A-Z]\w*)(?:[$+]\w+)?(?: > |$)/.exec(test.name) ?? [];
    return test.file === null ? { ...test, file: files.get(name) ?? null } : test;
  });
}

/** The compiler's errors, grouped by file. */
export function compileFailures(output: RunOutput, error: RegExp, pathInWorktree: PathInWorktree): LoadFailure[] {
  const found = new Map<string, string[]>();
  let current: string[] | null = null;
  for (const line of `${output.stdout}\n${output.stderr}`.split(/\r?\n/)) {
    const path = error.exec(line)?.groups?.path;
    if (path !== undefined) {
      current = found.get(path) ?? [];
      // Build tools print errors twice.
      if (!current.includes(line)) current.push(line);
      found.set(path, current);
    } else if (/^(?:\[ERROR\])?\s+\S/.test(line)) current?.push(line);
    else current = null;
  }
  return [...found].map(([path, lines]) => ({ file: pathInWorktree(path), message: loadMessage(lines.join('\n')) }));
}

/**
 * Whether each error is about a name that doesn't exist yet: the name, or the type or package it is looked up in, matches a
 * non-test file that the LLD adds or changes.
 */
export function isEachNamed(errors: readonly string[], notFound: RegExp, changes: Changes): boolean {
  const changed = [...changes.added, ...changes.modified].filter((path) => !isRunnableTest(path));
  const names = new Set(changed.map((path) => posix.basename(path).replace(/\.\w+$/, '')));
  const packages = changed.map((path) => posix.dirname(path).replaceAll('/', '.'));
  const isOurs = (word: string): boolean =>
    names.has(word.split('.').at(-1) ?? '') || packages.some((name) => name === word || name.endsWith(`.${word}`));
  return (
    errors.length > 0 &&
    errors.every(
      (error) => notFound.test(error) && [...error.matchAll(/[A-Za-z_][\w.]*\w|\w/g)].some(([word]) => isOurs(word)),
    )
  );
}
