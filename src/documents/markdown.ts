import type { Code, Heading, Nodes, Root, RootContent, Table, TableCell } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { frontmatterFromMarkdown } from 'mdast-util-frontmatter';
import { gfmStrikethroughFromMarkdown } from 'mdast-util-gfm-strikethrough';
import { gfmTableFromMarkdown } from 'mdast-util-gfm-table';
import { gfmTaskListItemFromMarkdown } from 'mdast-util-gfm-task-list-item';
import { toString as textOf } from 'mdast-util-to-string';
import { frontmatter } from 'micromark-extension-frontmatter';
import { gfmStrikethrough } from 'micromark-extension-gfm-strikethrough';
import { gfmTable } from 'micromark-extension-gfm-table';
import { gfmTaskListItem } from 'micromark-extension-gfm-task-list-item';
import { tameMarkdown } from './tame-markdown.ts';

/** Wider than the padding of any table; rules that look for white space take the square of its length. */
const WIDEST_GAP = 200;
const GAPS = new RegExp(`([ \\t]{${WIDEST_GAP}})[ \\t]+`, 'g');

/** One form for what editors and models disagree about: marks without width at the beginning, CRLF, a lone CR, and white space without an end. */
export function normaliseText(text: string): string {
  return text
    .replace(/^[\uFEFF\u200B\u2060]+/, '')
    .replace(/\r\n?/g, '\n')
    .replace(GAPS, '$1');
}

/** What our documents use of GFM. Automatic links and footnotes are left out: they double the time and mean nothing here. */
const GRAMMAR = {
  extensions: [gfmTable(), gfmTaskListItem(), gfmStrikethrough()],
  mdastExtensions: [gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown(), gfmStrikethroughFromMarkdown()],
};
const WITH_FRONT_MATTER = {
  extensions: [...GRAMMAR.extensions, frontmatter(['yaml'])],
  mdastExtensions: [...GRAMMAR.mdastExtensions, frontmatterFromMarkdown(['yaml'])],
};

const BETWEEN_RULES = /^---[ \t]*\n([\s\S]*?)(?<=\n)---[ \t]*(?:\n|$)/;
const YAML_LINE = /^(?:\s|-\s|#(?!#)|["'\w][\w ."'-]*:(?:\s|$)|[\]}]|$)/;

/**
 * A rule at the beginning is no front matter unless there are fields below it: the sections up to the next rule would be
 * lost, and without a next one the parser sees no lists.
 */
function hasFrontMatter(text: string): boolean {
  const lines = (BETWEEN_RULES.exec(text)?.[1] ?? '').split('\n');
  return lines.every((line) => YAML_LINE.test(line)) && lines.some((line) => /^["'\w][^#]*:/.test(line));
}

/** One document is read by a dozen readers in a row: the trees of the last few. */
const recent = new Map<string, Root>();
const MOST_RECENT = 4;

/**
 * The syntax tree (tables, checklists, strikethrough, YAML front matter) of text that `normaliseText` has seen. The same
 * text may get the same tree again: it is never changed.
 */
export function parseMarkdown(text: string): Root {
  const grammar = hasFrontMatter(text) ? WITH_FRONT_MATTER : GRAMMAR;
  const root = recent.get(text) ?? fromMarkdown(tameMarkdown(text), grammar);
  recent.delete(text);
  recent.set(text, root);
  const [oldest] = recent.keys();
  if (recent.size > MOST_RECENT && oldest !== undefined) recent.delete(oldest);
  return root;
}

/** A node's text without its markup, trimmed. */
export function plainText(node: Nodes | undefined): string {
  return node ? textOf(node).trim() : '';
}

/** The line a node begins at, counted from 1. */
export function lineOf(node: Nodes | undefined): number {
  return node?.position?.start.line ?? 1;
}

/** Code blocks under a node, in document order. */
export function codeIn(node: Nodes): Code[] {
  if (node.type === 'code') return [node];
  return 'children' in node ? node.children.flatMap((child) => codeIn(child)) : [];
}

/** A heading with everything up to the next heading of the same or a higher level; subsections are inside, once. */
export interface Section {
  heading: Heading;
  title: string;
  depth: number;
  line: number;
  /** The nodes directly under this heading, up to the first subsection. */
  own: RootContent[];
  /** All nodes of the section, subsections' headings and nodes included. */
  all: RootContent[];
  subsections: Section[];
  /** Offsets into the text: from the heading's first character to the end of the section. */
  start: number;
  end: number;
}

/** The document as a tree of sections. What stands before the first heading belongs to none. */
export function sectionsOf(root: Root): Section[] {
  const documentEnd = root.position?.end.offset ?? 0;
  const top: Section[] = [];
  const open: Section[] = [];
  for (const node of root.children) {
    if (node.type === 'heading') {
      const start = node.position?.start.offset ?? 0;
      while ((open.at(-1)?.depth ?? 0) >= node.depth) {
        const closed = open.pop();
        if (closed) closed.end = start;
      }
      const section: Section = {
        heading: node,
        title: plainText(node),
        depth: node.depth,
        line: lineOf(node),
        own: [],
        all: [],
        subsections: [],
        start,
        end: documentEnd,
      };
      for (const ancestor of open) ancestor.all.push(node);
      (open.at(-1)?.subsections ?? top).push(section);
      open.push(section);
    } else {
      open.at(-1)?.own.push(node);
      for (const section of open) section.all.push(node);
    }
  }
  return top;
}

/** Every section of the tree, in document order. */
export function flattenSections(sections: Section[]): Section[] {
  return sections.flatMap((section) => [section, ...flattenSections(section.subsections)]);
}

const INLINE = new Set([
  'text',
  'inlineCode',
  'emphasis',
  'strong',
  'delete',
  'link',
  'linkReference',
  'image',
  'html',
  'break',
]);

/**
 * A node's text without its markup, except that inline code keeps its backticks: whether a word is code decides how
 * much it says. Comments are left out, blocks stand on lines of their own.
 */
export function markedText(node: Nodes): string {
  return markedNode(node).trim();
}

function markedNode(node: Nodes): string {
  if (node.type === 'inlineCode') return `\`${node.value}\``;
  if (node.type === 'break') return '\n';
  if (node.type === 'html') return /^<br\b/i.test(node.value) ? '\n' : node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  if ('value' in node) return node.value;
  if (node.type === 'image') return node.alt ?? '';
  if (!('children' in node)) return '';
  const inline = node.children.every((child) => INLINE.has(child.type));
  return node.children.map((child: Nodes) => markedNode(child)).join(inline ? '' : '\n');
}

/** The same with whitespace collapsed: for a cell, an item, a message. */
export function flatText(node: Nodes): string {
  return markedText(node).replace(/\s+/g, ' ');
}

export interface DocumentTable {
  /** Lower-case words of the heading cells: `Pass Criteria` is `pass criteria`. */
  headers: string[];
  rows: TableRow[];
  line: number;
}

export interface TableRow {
  cells: string[];
  nodes: TableCell[];
  line: number;
}

/** The table with rows of equal length; rows without any text are left out. */
export function readTable(table: Table): DocumentTable {
  const [head, ...body] = table.children;
  const headers = (head?.children ?? []).map((cell) => headerName(flatText(cell)));
  const rows = body.map((row) => ({
    cells: headers.map((_, index) => {
      const cell = row.children[index];
      return cell ? flatText(cell) : '';
    }),
    nodes: row.children,
    line: lineOf(row),
  }));
  return { headers, rows: rows.filter((row) => row.cells.some((cell) => cell !== '')), line: lineOf(table) };
}

function headerName(text: string): string {
  return text
    .toLowerCase()
    .replace(/\([^)]*\)/g, (inside) => (/^\((?:s|es|ies)\)$/.test(inside) ? 's' : ' '))
    .replace(/[^\p{L}\p{N}#]+/gu, ' ')
    .trim();
}

/** All tables under these nodes, those in lists and quotations too, in document order. */
export function tablesIn(nodes: Nodes[]): DocumentTable[] {
  return nodes.flatMap((node) => {
    if (node.type === 'table') return [readTable(node)];
    return 'children' in node && (node.type === 'list' || node.type === 'listItem' || node.type === 'blockquote')
      ? tablesIn(node.children)
      : [];
  });
}

/** The first column that has one of these names and is not taken; names that come first win. */
export function columnNamed(table: DocumentTable, names: RegExp[], taken: number[] = []): number | null {
  for (const name of names) {
    const index = table.headers.findIndex((header, at) => name.test(header) && !taken.includes(at));
    if (index >= 0) return index;
  }
  return null;
}

/** Rows of Markdown as a table; an empty cell shows a dash, and a cell is one line without bars of its own. */
export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => tableCell(cell) || '–').join(' | ')} |`;
  const rule = header.map((title) => `${'-'.repeat(title.length + 2)}|`).join('');
  return [line(header), `|${rule}`, ...rows.map(line)].join('\n');
}

function tableCell(text: string): string {
  const lines = text
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.trim().replace(/^[-*]\s+/, '')).trim());
  return lines
    .filter((line) => line !== '')
    .join(' ')
    .replace(/(?<!\\)\|/g, '\\|');
}
