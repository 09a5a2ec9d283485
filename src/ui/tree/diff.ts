import { diffWordsWithSpace, parsePatch, structuredPatch } from 'diff';
import type { DiffFile, DiffHunk, DiffRow, DiffText } from '../api.ts';

/** Beyond these a difference is not read, and takes long to draw. */
const MOST_ROWS = 3_000;
const MOST_FILES = 200;
const LONGEST_LINE = 2_000;
/** Comparing words takes the square of their number. */
const LONGEST_COMPARED = 800;

/** From one version of a document to the next; null: they are the same. */
export function documentDiff(name: string, before: string, after: string): DiffFile | null {
  if (before === after) return null;
  const { hunks } = structuredPatch(name, name, before, after, '', '', { context: 2 });
  return fileOf(name, 'changed', hunks, { rows: MOST_ROWS });
}

/** What `git diff` printed, file by file. */
export function patchFiles(patch: string): DiffFile[] {
  const left = { rows: MOST_ROWS };
  return parsePatch(patch)
    .slice(0, MOST_FILES)
    .map(({ oldFileName, newFileName, hunks, isCreate, isDelete, isRename }) => {
      const path = nameOf(isDelete ? oldFileName : newFileName);
      const change = isCreate ? 'added' : isDelete ? 'deleted' : isRename ? 'renamed' : 'changed';
      return fileOf(path, change, hunks, left);
    });
}

function nameOf(name: string | undefined): string {
  return (name ?? '').replace(/^[ab]\//, '');
}

interface Hunk {
  oldStart: number;
  newStart: number;
  lines: string[];
}

/** `left`: how many rows may still be shown. */
function fileOf(path: string, change: DiffFile['change'], hunks: readonly Hunk[], left: { rows: number }): DiffFile {
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const count = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length;
  const shown: DiffHunk[] = [];
  let isCut = false;
  for (const hunk of hunks) {
    const all = rowsOf(hunk);
    const rows = all.slice(0, left.rows);
    left.rows -= rows.length;
    isCut ||= rows.length < all.length;
    if (rows.length === 0) break;
    shown.push({ oldStart: hunk.oldStart, newStart: hunk.newStart, rows });
  }
  return { path, change, added: count('+'), removed: count('-'), hunks: shown, isCut };
}

/** Lines that were removed stand beside those that were added in their place. */
function rowsOf({ oldStart, newStart, lines }: Hunk): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  let oldLine = oldStart;
  let newLine = newStart;
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      const [before, after] = [removed[at], added[at]];
      const [oldText, newText] =
        before !== undefined && after !== undefined ? compared(before, after) : [before, after];
      rows.push([
        before === undefined ? null : oldLine++,
        oldText ?? null,
        after === undefined ? null : newLine++,
        newText ?? null,
      ]);
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    const text = line.slice(1, LONGEST_LINE);
    if (line.startsWith('-')) removed.push(text);
    else if (line.startsWith('+')) added.push(text);
    else if (line.startsWith(' ')) {
      flush();
      rows.push([oldLine++, text, newLine++, text]);
    }
  }
  flush();
  return rows;
}

/** Two lines with what differs in them; where most does, marks would only be in the way. */
function compared(before: string, after: string): [DiffText, DiffText] {
  if (before.length > LONGEST_COMPARED || after.length > LONGEST_COMPARED) return [[before], [after]];
  const parts = diffWordsWithSpace(before, after);
  const same = parts.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.trim().length), 0);
  if (same * 2 < Math.min(before.trim().length, after.trim().length)) return [[before], [after]];
  return [textOf(parts, 'added'), textOf(parts, 'removed')];
}

/** Same and different pieces in turn, the same first. */
function textOf(
  parts: readonly { value: string; added: boolean; removed: boolean }[],
  not: 'added' | 'removed',
): DiffText {
  const pieces: string[] = [''];
  for (const part of parts) {
    if (part[not]) continue;
    const isSame = !part.added && !part.removed;
    const isNext = isSame === (pieces.length % 2 === 0);
    if (isNext) pieces.push(part.value);
    else pieces[pieces.length - 1] += part.value;
  }
  return pieces;
}
