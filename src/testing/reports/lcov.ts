import type { FileCoverage } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';
import { createLineCoverage } from './line-coverage.ts';

export function parseLcov(text: string, pathInWorktree: PathInWorktree): FileCoverage[] {
  const coverage = createLineCoverage(pathInWorktree);
  let file = '';
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('SF:')) {
      file = line.slice(3);
      coverage.file(file);
    }
    const hit = /^DA:(\d+),(\d+)/.exec(line);
    if (hit !== null) coverage.add(file, Number(hit[1]), Number(hit[2]) > 0);
  }
  return coverage.files();
}
