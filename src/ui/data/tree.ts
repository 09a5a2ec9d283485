import { diffWordsWithSpace, parsePatch, structuredPatch } from 'diff';
import type { Nodes, Root } from 'mdast';
import { normaliseText, parseMarkdown } from '../../markdown/markdown.ts';
import type { Block, DiffFile, DiffHunk, DiffRow, DiffText, MarkdownNode } from '../api.ts';

/** Deeper nesting is not shown: a hostile document could overflow the stack of the page. */
const DEEPEST = 40;
/** The rest of a longer document is not shown. */
const MOST_CHARS = 400_000;

/**
 * A document as a tree of a closed set of nodes, which the page turns into elements. HTML becomes text, images become their
 * description, and only http and https links stay links, so nothing that a model wrote is run or loaded.
 */
export function markdownTree(text: string): MarkdownNode[] {
  const source = normaliseText(text);
  const root: Root = parseMarkdown(source.length > MOST_CHARS ? source.slice(0, MOST_CHARS) : source);
  const links = new Map<string, string>();
  for (const node of root.children) if (node.type === 'definition') links.set(node.identifier, node.url);
  const tree = nodesOf(root, links, 0);
  return source.length > MOST_CHARS ? [...tree, ['p', '… the rest is not shown here.']] : tree;
}

type Links = ReadonlyMap<string, string>;

/** Parents in which HTML is a block. */
const BLOCKS: ReadonlySet<string> = new Set(['root', 'blockquote', 'listItem']);

function nodesOf(parent: Nodes, links: Links, depth: number): MarkdownNode[] {
  if (depth > DEEPEST) return ['…'];
  if (!('children' in parent)) return [];
  const isBlock = BLOCKS.has(parent.type);
  return parent.children.flatMap((node) => nodeOf(node, links, depth + 1, isBlock));
}

function nodeOf(node: Nodes, links: Links, depth: number, isBlock: boolean): MarkdownNode[] {
  const inside = (): MarkdownNode[] => nodesOf(node, links, depth);
  switch (node.type) {
    case 'text':
      return [node.value];
    case 'html':
      // Comments are dropped, tags are shown as text.
      if (/^<!--[^]*-->$/.test(node.value)) return [];
      if (/^<br\s*\/?>$/i.test(node.value)) return [['br']];
      return [isBlock ? ['p', node.value] : node.value];
    case 'paragraph':
      return [['p', ...inside()]];
    case 'heading':
      return [['h', node.depth, ...inside()]];
    case 'emphasis':
      return [['em', ...inside()]];
    case 'strong':
      return [['strong', ...inside()]];
    case 'delete':
      return [['del', ...inside()]];
    case 'blockquote':
      return [['quote', ...inside()]];
    case 'inlineCode':
      return [['code', node.value]];
    case 'code':
      return [['pre', languageOf(node.lang), node.value]];
    case 'yaml':
      return [['pre', 'yaml', node.value]];
    case 'break':
      return [['br']];
    case 'thematicBreak':
      return [['hr']];
    case 'list':
      return [[node.ordered === true ? 'ol' : 'ul', ...inside()]];
    case 'listItem':
      return [typeof node.checked === 'boolean' ? ['task', node.checked, ...inside()] : ['li', ...inside()]];
    case 'table':
      return [['table', ...inside()]];
    case 'tableRow':
      return [['row', ...inside()]];
    case 'tableCell':
      return [['cell', ...inside()]];
    case 'link':
      return linkTo(node.url, inside());
    case 'linkReference':
      return linkTo(links.get(node.identifier) ?? '', inside());
    case 'image':
    case 'imageReference':
      return [['em', node.alt || 'image']];
    case 'definition':
      return [];
    default:
      return inside();
  }
}

/** Other URLs than http and https become plain text. */
function linkTo(url: string, inside: MarkdownNode[]): MarkdownNode[] {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isWeb = parsed?.protocol === 'https:' || parsed?.protocol === 'http:';
  return isWeb ? [['a', parsed.href, ...inside]] : inside;
}

function languageOf(lang: string | null | undefined): string {
  return /^[\w+#.-]{1,30}/.exec(lang ?? '')?.[0] ?? '';
}

/** A document as a block; none if there is no text. */
export function documentBlocks(text: string | null | undefined): Block[] {
  return text ? [{ type: 'markdown', tree: markdownTree(text) }] : [];
}

/** Nobody reads longer diffs, and they take long to render. */
const MOST_ROWS = 3_000;
const MOST_FILES = 200;
const LONGEST_LINE = 2_000;
/** Comparing words takes quadratic time. */
const LONGEST_COMPARED = 800;

/** The diff between two versions of a document; null: they are equal. */
export function documentDiff(name: string, before: string, after: string): DiffFile | null {
  if (before === after) return null;
  const { hunks } = structuredPatch(name, name, before, after, '', '', { context: 2 });
  return fileOf(name, 'changed', hunks, { rows: MOST_ROWS });
}

/** The output of `git diff`, by file. */
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

/** Puts removed lines next to the added lines that replace them. */
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

/** Marks the differences of two lines, unless most of them differs. */
function compared(before: string, after: string): [DiffText, DiffText] {
  if (before.length > LONGEST_COMPARED || after.length > LONGEST_COMPARED) return [[before], [after]];
  const parts = diffWordsWithSpace(before, after);
  const same = parts.reduce((sum, { added, removed, value }) => sum + (added || removed ? 0 : value.trim().length), 0);
  if (same * 2 < Math.min(before.trim().length, after.trim().length)) return [[before], [after]];
  return [textOf(parts, 'added'), textOf(parts, 'removed')];
}

/** Equal and different pieces in turn, an equal one first. */
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
