import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { LoadFailure, TestCase } from '../port.ts';

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
  const clean = stripVTControlCharacters(text).trim();
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}
