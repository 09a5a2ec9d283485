import type { Nodes, Root } from 'mdast';

/*
 * The parser's time and memory grow faster than its text, so a document is parsed piece by piece and the trees are put
 * together. A piece begins where a block of its own must begin, whatever stands before: an unindented heading ends
 * every paragraph, table, list and quotation, and so does a blank line before an unindented word or table row. Only a
 * fence or HTML that is still open at the end of a piece may go on behind it; then the rest is parsed as one. Links by
 * reference see the whole document, so one with definitions is not taken apart.
 */

const PIECE_CHARS = 2_000;
const BOUNDARY = /^(?:#{1,6}(?=[ \t\n])|(?=[A-Za-z|])(?<=\n[ \t]*\n))/gm;
const FRONT_MATTER = /^---[ \t]*\n(?:[^]*?\n)?---[ \t]*(?:\n|$)/;
const FENCE = /^(`{3,}|~{3,})/;

/** The same tree as `parse(text)`, in less time. Lines of `text` end in LF. */
export function parseInPieces(text: string, parse: (text: string) => Root): Root {
  const whole: Root = { type: 'root', children: [] };
  let start = 0;
  let lines = 0;
  while (start < text.length || whole.position === undefined) {
    let piece = text.slice(start, boundaryAfter(text, start));
    let root = parse(piece);
    if (start + piece.length < text.length && isOpenAtEnd(root, piece)) {
      piece = text.slice(start);
      root = parse(piece);
    }
    if (!shift(root, lines, start)) return parse(text);
    for (const child of root.children) whole.children.push(child);
    if (root.position) whole.position = { start: whole.position?.start ?? root.position.start, end: root.position.end };
    start += piece.length;
    lines += piece.split('\n').length - 1;
  }
  return whole;
}

function boundaryAfter(text: string, start: number): number {
  let earliest = start + PIECE_CHARS;
  if (start === 0 && text.startsWith('---')) {
    // Front matter that is never closed confuses the parser to the end of the document.
    const frontMatter = FRONT_MATTER.exec(text)?.[0].length ?? text.length;
    earliest = Math.max(earliest, frontMatter);
  }
  BOUNDARY.lastIndex = earliest;
  return BOUNDARY.exec(text)?.index ?? text.length;
}

function isOpenAtEnd(root: Root, text: string): boolean {
  let last: Nodes | undefined = root;
  while (last && 'children' in last) last = last.children.at(-1);
  if (last?.type !== 'code') return last?.type === 'html';
  const source = text.slice(last.position?.start.offset, last.position?.end.offset).split('\n');
  const fence = FENCE.exec(source[0] ?? '')?.[1];
  if (fence === undefined) return false;
  const ending = source.length > 1 ? (source.at(-1) ?? '').replace(/^[\s>]*/, '').trimEnd() : '';
  return !(ending.startsWith(fence) && ending.replaceAll(fence.charAt(0), '') === '');
}

/** Moves a piece's tree to its place in the document. False: it holds something that concerns the whole document. */
function shift(node: Nodes, lines: number, chars: number): boolean {
  if (node.type === 'definition') return false;
  for (const point of [node.position?.start, node.position?.end]) {
    if (!point) continue;
    point.line += lines;
    point.offset = (point.offset ?? 0) + chars;
  }
  return !('children' in node) || node.children.every((child) => shift(child, lines, chars));
}
