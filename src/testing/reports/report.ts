import { realpathSync } from 'node:fs';
import { glob, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withoutSequences } from '../../core/lines.ts';
import { isInside } from '../../core/paths.ts';
import type { FileCoverage, LoadFailure, TestCase } from '../port.ts';

/** Turns a path or file URL into a path relative to the worktree, with forward slashes; null if it is outside. */
export type PathInWorktree = (path: string) => string | null;

export function createPathInWorktree(worktree: string): PathInWorktree {
  const roots = [worktree, realpathSync(worktree)];
  return (path) => {
    if (path === '') return null;
    const plain = path.startsWith('file:') ? fileURLToPath(path) : path;
    for (const root of roots) {
      const absolute = isAbsolute(plain) ? plain : resolve(root, plain);
      if (isInside(root, absolute)) return relative(root, absolute);
    }
    return null;
  };
}

/** The content of a report. */
export interface Reading {
  cases: TestCase[];
  loadFailures: LoadFailure[];
  /** Null or absent: not requested, or not available. */
  coverage?: FileCoverage[] | null;
}

/** The reports that could be read, as one; null: none could. */
export function together(readings: readonly (Reading | null)[]): Reading | null {
  const read = readings.filter((reading) => reading !== null);
  if (read.length === 0) return null;
  return {
    cases: read.flatMap(({ cases }) => cases),
    loadFailures: read.flatMap(({ loadFailures }) => loadFailures),
  };
}

/** The texts of all non-empty files below a folder whose paths match, sorted by path. */
export async function textsIn(folder: string, pattern: RegExp): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true }).catch(() => []);
  const found = paths.filter((path) => pattern.test(path)).toSorted();
  const texts = await Promise.all(found.map((path) => reportText(join(folder, path), folder)));
  return texts.filter((text) => text.trim() !== '');
}

const LARGEST_BYTES = 256 * 1024 * 1024;

/**
 * The text of a file that tests wrote. Tests could leave a link or a pipe in its place: anything but a regular file inside
 * the folder reads as empty.
 */
export async function reportText(path: string, folder: string): Promise<string> {
  const real = await fileIn(path, folder);
  return real === null ? '' : readFile(real, 'utf8');
}

/** The real path; null if it is outside the folder, not a regular file, or too large. */
export async function fileIn(path: string, folder: string): Promise<string | null> {
  const [real, inside] = await Promise.all([path, folder].map((each) => realpath(each).catch(() => null)));
  if (real === null || real === undefined || !inside || !isInside(inside, real)) return null;
  const found = await stat(real).catch(() => null);
  return found?.isFile() === true && found.size <= LARGEST_BYTES ? real : null;
}

/** Distinguishes the files that a command writes from those that existed before. */
export interface WrittenFiles {
  /** The texts of files that are new or changed. */
  texts(): Promise<string[]>;
  /** Removes files that didn't exist before. */
  removeNew(): Promise<void>;
}

/**
 * Call it before the command. `pattern` is a path or glob relative to the directory. Files outside the worktree are neither
 * read nor removed, whatever the pattern or a symbolic link says.
 */
export async function watchWritten(directory: string, pattern: string, worktree: string): Promise<WrittenFiles> {
  const statesNow = (): Promise<Map<string, string>> => statesOf(directory, pattern, worktree);
  const before = await statesNow();
  const changed = async (): Promise<string[]> =>
    [...(await statesNow())].filter(([path, state]) => before.get(path) !== state).map(([path]) => path);
  return {
    texts: async () => await Promise.all((await changed()).map(async (path) => await reportText(path, worktree))),
    async removeNew() {
      for (const path of await changed()) if (!before.has(path)) await rm(path, { force: true });
    },
  };
}

async function statesOf(directory: string, pattern: string, worktree: string): Promise<Map<string, string>> {
  const paths = /[*?[{]/.test(pattern) ? [] : [pattern];
  if (paths.length === 0) for await (const path of glob(pattern, { cwd: directory })) paths.push(path);
  const found = new Map<string, string>();
  for (const path of paths.toSorted()) {
    const place = await fileIn(resolve(directory, path), worktree);
    const info = place === null ? null : await stat(place, { bigint: true }).catch(() => null);
    if (place !== null && info !== null) found.set(place, `${info.ino}:${info.size}:${info.mtimeNs}:${info.ctimeNs}`);
  }
  return found;
}

const CASE_CHARS = 4_000;
const LOAD_CHARS = 20_000;

/** Short enough that a prompt can hold the messages of many failed tests. */
export function caseMessage(text: string): string {
  return plain(text, CASE_CHARS);
}

/** Longer, because the reason for a load failure is searched in it. */
export function loadMessage(text: string): string {
  return plain(text, LOAD_CHARS);
}

function plain(text: string, limit: number): string {
  const clean = withoutSequences(text).trim();
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean;
}

/**
 * Adds a load failure if a command failed although its reports contain no failure, as a build of several modules can: some
 * part of it must have failed without a report.
 */
export function withUnexplained(
  { cases, loadFailures }: Reading,
  { exitCode, stdout, stderr }: { exitCode: number | null; stdout: string; stderr: string },
): Reading {
  const isExplained = loadFailures.length > 0 || cases.some(({ outcome }) => outcome === 'failed');
  if (exitCode === 0 || isExplained || cases.length === 0) return { cases, loadFailures };
  const said = `It exited with ${exitCode}, but its report contains no failure.\n${`${stderr}\n${stdout}`.trim()}`;
  return { cases, loadFailures: [{ file: null, message: loadMessage(said) }] };
}

export function parseLcov(text: string, pathInWorktree: PathInWorktree): FileCoverage[] {
  const coverage = createLineCoverage(pathInWorktree);
  let file = '';
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('SF:')) {
      file = line.slice(3);
      coverage.linesOf(file);
    }
    const hit = /^DA:(\d+),(\d+)/.exec(line);
    if (hit !== null) coverage.add(file, Number(hit[1]), Number(hit[2]) > 0);
  }
  return coverage.files();
}

/** Reads all lcov files below a folder; null if there are none. */
export async function lcovIn(folder: string, pathInWorktree: PathInWorktree): Promise<FileCoverage[] | null> {
  const texts = await textsIn(folder, /\.info$/);
  return texts.length === 0 ? null : parseLcov(texts.join('\n'), pathInWorktree);
}

const BLOCK = /^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$/;

/** A Go cover profile: blocks of statements, with file names that start with the module path. */
export function parseGoProfile(text: string, modulePath: string): FileCoverage[] {
  const prefix = `${modulePath}/`;
  const coverage = createLineCoverage((file) => (file.startsWith(prefix) ? file.slice(prefix.length) : null));
  for (const line of text.split(/\r?\n/)) {
    const [, file = '', first, last, statements, count] = BLOCK.exec(line) ?? [];
    if (file === '' || Number(statements) === 0) continue;
    for (let at = Number(first); at <= Number(last); at += 1) coverage.add(file, at, Number(count) > 0);
  }
  return coverage.files();
}

/** Collects lines by file. Files outside the worktree and in node_modules are ignored. */
function createLineCoverage(pathInWorktree: PathInWorktree) {
  const found = new Map<string, Map<number, boolean>>();
  /** Registers the file even if it has no executable line. */
  const linesOf = (path: string): Map<number, boolean> | null => {
    const file = pathInWorktree(path);
    if (file === null || /(^|\/)node_modules\//.test(file)) return null;
    const lines = found.get(file) ?? new Map<number, boolean>();
    found.set(file, lines);
    return lines;
  };
  return {
    linesOf,
    /** A line that is reported several times counts as covered if one report says so. */
    add(path: string, line: number, isCovered: boolean) {
      const lines = linesOf(path);
      lines?.set(line, isCovered || lines.get(line) === true);
    },
    files: (): FileCoverage[] =>
      [...found].map(([file, lines]) => {
        const missed = [...lines].filter(([, isCovered]) => !isCovered).map(([line]) => line);
        return {
          file,
          lines: lines.size,
          covered: lines.size - missed.length,
          missed: missed.toSorted((a, b) => a - b),
        };
      }),
  };
}
