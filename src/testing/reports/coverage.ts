import { isAbsolute, join } from 'node:path';
import type { FileCoverage } from '../port.ts';
import type { PathInWorktree } from '../worktree-path.ts';
import { textsIn } from './report.ts';
import { elementsNamed, parseXml } from './xml.ts';

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

/** From all lcov files below a folder; null where there is none. */
export async function lcovIn(folder: string, pathInWorktree: PathInWorktree): Promise<FileCoverage[] | null> {
  const texts = await textsIn(folder, /\.info$/);
  return texts.length === 0 ? null : parseLcov(texts.join('\n'), pathInWorktree);
}

/** The XML of coverage.py. Its file names are relative to one of the sources; null where it can't be read. */
export function parseCobertura(
  xml: string,
  pathInWorktree: PathInWorktree,
  isFile: (path: string) => boolean,
): FileCoverage[] | null {
  const root = parseXml(xml);
  if (root?.name !== 'coverage') return null;
  const sources = elementsNamed(root, 'source').map((element) => element.text.trim());
  const coverage = createLineCoverage(pathInWorktree);
  for (const element of elementsNamed(root, 'class')) {
    const { filename = '' } = element.attributes;
    const places = isAbsolute(filename) ? [filename] : sources.map((source) => join(source, filename));
    const file = places.find((place) => isFile(pathInWorktree(place) ?? '')) ?? filename;
    coverage.file(file);
    for (const line of elementsNamed(element, 'line'))
      coverage.add(file, Number(line.attributes.number), Number(line.attributes.hits) > 0);
  }
  return coverage.files();
}

const BLOCK = /^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$/;

/** Go's own profile: blocks of statements, with file names that begin with the path of the module. */
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

interface LineCoverage {
  /** Known to the tool, even if nothing in it can be run. */
  file(path: string): void;
  /** A line may be reported several times: once covered is enough. */
  add(path: string, line: number, isCovered: boolean): void;
  files(): FileCoverage[];
}

/** Gathers lines by file; files outside of the worktree and of installed packages don't count. */
function createLineCoverage(pathInWorktree: PathInWorktree): LineCoverage {
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
