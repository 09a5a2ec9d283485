import type { FileCoverage } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';

export interface LineCoverage {
  /** Known to the tool, even if nothing in it can be run. */
  file(path: string): void;
  /** A line may be told of several times: one time through it is enough. */
  add(path: string, line: number, isCovered: boolean): void;
  files(): FileCoverage[];
}

/** Gathers lines by file; files outside of the worktree and of installed packages don't count. */
export function createLineCoverage(pathInWorktree: PathInWorktree): LineCoverage {
  const found = new Map<string, Map<number, boolean>>();
  const linesOf = (path: string): Map<number, boolean> | null => {
    const file = pathInWorktree(path);
    if (file === null || /(^|\/)node_modules\//.test(file)) return null;
    const lines = found.get(file) ?? new Map<number, boolean>();
    found.set(file, lines);
    return lines;
  };
  return {
    file(path) {
      linesOf(path);
    },
    add(path, line, isCovered) {
      const lines = linesOf(path);
      lines?.set(line, isCovered || lines.get(line) === true);
    },
    files: () =>
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
