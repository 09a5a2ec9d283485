import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileCoverage } from '../port.ts';
import { parseLcov } from '../reports/lcov.ts';
import type { RunPlace } from '../runner.ts';

/** The texts of the files below a folder whose names match, in the order of their paths; those that are empty are left out. */
export async function textsIn(folder: string, pattern: RegExp): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true }).catch(() => []);
  const found = paths.filter((path) => pattern.test(path)).toSorted();
  const texts = await Promise.all(found.map((path) => readFile(join(folder, path), 'utf8')));
  return texts.filter((text) => text.trim() !== '');
}

/** From all lcov files of a run; null where there is none. */
export async function lcovCoverage(place: RunPlace): Promise<FileCoverage[] | null> {
  const texts = await textsIn(place.folder, /\.info$/);
  return texts.length === 0 ? null : parseLcov(texts.join('\n'), place.pathInWorktree);
}
