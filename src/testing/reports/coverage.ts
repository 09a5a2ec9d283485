import type { FileCoverage } from '../port.ts';
import { type PathInWorktree, textsIn } from './report.ts';

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
