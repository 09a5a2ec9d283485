import { realpathSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutSequences } from '../../core/lines.ts';
import { isInside } from '../../core/paths.ts';
import type { LoadFailure, TestCase } from '../port.ts';

/** Whatever a runner calls a file, as a path relative to the worktree with forward slashes; null for one outside of it. */
export type PathInWorktree = (path: string) => string | null;

export function createPathInWorktree(worktree: string): PathInWorktree {
  const roots = [worktree, realpathSync(worktree)];
  return (path) => {
    if (path === '') return null;
    const plain = path.startsWith('file:') ? fileURLToPath(path) : path;
    for (const root of roots) {
      const absolute = isAbsolute(plain) ? plain : resolve(root, plain);
      if (isInside(root, absolute)) return relative(root, absolute).split(sep).join('/');
    }
    return null;
  };
}

/** What a report says of the tests. */
export interface Reading {
  cases: TestCase[];
  loadFailures: LoadFailure[];
}

/** Several reports of one run as one. */
export function together(readings: readonly Reading[]): Reading {
  return {
    cases: readings.flatMap(({ cases }) => cases),
    loadFailures: readings.flatMap(({ loadFailures }) => loadFailures),
  };
}

/** The texts of the files below a folder whose paths match, in the order of their paths, without empty ones. */
export async function textsIn(folder: string, pattern: RegExp): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true }).catch(() => []);
  const found = paths.filter((path) => pattern.test(path)).toSorted();
  const texts = await Promise.all(found.map((path) => readFile(join(folder, path), 'utf8')));
  return texts.filter((text) => text.trim() !== '');
}

const CASE_CHARS = 4_000;
const LOAD_CHARS = 20_000;

/** Why a test failed: short enough to be shown to a model together with many others. */
export function caseMessage(text: string): string {
  return plain(text, CASE_CHARS);
}

/** Why tests could not be loaded: whole, as its reason is looked for in it. */
export function loadMessage(text: string): string {
  return plain(text, LOAD_CHARS);
}

function plain(text: string, limit: number): string {
  const clean = withoutSequences(text).trim();
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}
