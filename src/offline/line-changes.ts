import { parsePatch } from 'diff';
import type { RecordedStep } from './recorded-code.ts';

/** By path: how often each line was added, less how often it was removed. The same, whatever algorithm made the diff. */
export type LineChanges = Map<string, Map<string, number>>;

/** Of a diff as git prints it; null where it can't be read. */
export function changesOfDiff(diff: string): LineChanges | null {
  const changes: LineChanges = new Map();
  try {
    for (const { oldFileName = '', newFileName = '', hunks } of parsePatch(diff)) {
      const paths = [oldFileName.replace(/^a\//, ''), newFileName.replace(/^b\//, '')];
      const [before = '', after = ''] = paths.map((path) => (path === '/dev/null' ? '' : path));
      // A renamed file is gone from its old place, too.
      for (const path of [before, after]) if (path !== '') changes.set(path, changes.get(path) ?? new Map());
      for (const line of hunks.flatMap(({ lines }) => lines)) {
        if (line.startsWith('+')) count(changes, after, [line.slice(1)], 1);
        if (line.startsWith('-')) count(changes, before, [line.slice(1)], -1);
      }
    }
  } catch {
    return null;
  }
  return changes.size === 0 && diff.trim() !== '' ? null : changes;
}

export function changesOfSteps(steps: readonly RecordedStep[]): LineChanges {
  const changes: LineChanges = new Map();
  for (const file of steps.flatMap(({ files }) => files)) {
    if ('content' in file) count(changes, file.path, file.content.replace(/\n$/, '').split('\n'), 1);
    else {
      for (const { search, replace } of file.edits) {
        count(changes, file.path, search.split('\n'), -1);
        count(changes, file.path, replace.split('\n'), 1);
      }
    }
  }
  return changes;
}

export function sameChanges(left: LineChanges, right: LineChanges): boolean {
  return canonical(left) === canonical(right);
}

function count(changes: LineChanges, path: string, lines: readonly string[], by: 1 | -1): void {
  const counts = changes.get(path) ?? new Map<string, number>();
  changes.set(path, counts);
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + by);
}

function canonical(changes: LineChanges): string {
  const files = [...changes].map(([path, counts]) => [
    path,
    [...counts]
      .filter(([, times]) => times !== 0)
      .map(([line, times]) => `${line}\0${times}`)
      .toSorted(),
  ]);
  return JSON.stringify(files.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)));
}
