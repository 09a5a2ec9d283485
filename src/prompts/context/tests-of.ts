import { isTestPath, subjectOf } from './file-kind.ts';
import type { PastCommit } from './history.ts';
import { importResolver } from './imports.ts';
import type { IndexedFile } from './rank.ts';

const MOST_TESTS = 20;
/** So often together, a test and a file belong to each other. */
const LEAST_TOGETHER = 2;

/** The tests that touch these files: they import one of them, have its name, or changed with it. The surest first. */
export function testsOf(
  files: readonly IndexedFile[],
  changed: readonly string[],
  history: readonly PastCommit[],
): string[] {
  const wanted = new Set(changed);
  const subjects = new Set(changed.map(subjectOf));
  const paths = files.map(({ path }) => path);
  const resolve = importResolver(paths);
  const together = new Map<string, number>();
  for (const { paths: touched } of history) {
    if (!touched.some((path) => wanted.has(path))) continue;
    for (const path of touched) together.set(path, (together.get(path) ?? 0) + 1);
  }
  return files
    .filter(({ path }) => isTestPath(path))
    .map(({ path, facts }) => {
      const imports = facts.imports.some((name) => wanted.has(paths[resolve(path, name) ?? -1] ?? ''));
      const times = together.get(path) ?? 0;
      const isNear = wanted.has(path) || subjects.has(subjectOf(path)) || imports;
      return { path, value: (isNear ? 100 : 0) + (isNear || times >= LEAST_TOGETHER ? times : 0) };
    })
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value || (a.path < b.path ? -1 : 1))
    .slice(0, MOST_TESTS)
    .map(({ path }) => path);
}
