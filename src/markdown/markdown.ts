import type { Code, Heading, Nodes, Root, RootContent } from 'mdast';
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

/** Wider than the padding of any table. Patterns that look for white space take quadratic time on longer gaps. */
const GAPS = /([ \t]{200})[ \t]+/g;

/** Removes what editors and models disagree about: zero-width marks at the start, CRLF, a lone CR, and endless white space. */
export function normaliseText(text: string): string {
  return text
    .replace(/^[\uFEFF\u200B\u2060]+/, '')
    .replace(/\r\n?/g, '\n')
    .replace(GAPS, '$1');
}

/** The parts of GFM that our documents use. Automatic links and footnotes would double the time for nothing. */
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

/** A rule at the top is front matter only with fields below it. Otherwise the sections up to the next rule would be lost. */
function hasFrontMatter(text: string): boolean {
  const lines = (BETWEEN_RULES.exec(text)?.[1] ?? '').split('\n');
  return lines.every((line) => YAML_LINE.test(line)) && lines.some((line) => /^["'\w][^#]*:/.test(line));
}

/** The last few trees, because a dozen readers read the same document in a row. */
const recent = new Map<string, Root>();
const MOST_RECENT = 4;

/** The syntax tree of text that `normaliseText` returned. Trees are cached, so callers must not change them. */
export function parseMarkdown(text: string): Root {
  const grammar = hasFrontMatter(text) ? WITH_FRONT_MATTER : GRAMMAR;
  const root = recent.get(text) ?? fromMarkdown(tameMarkdown(text), grammar);
  recent.delete(text);
  recent.set(text, root);
  const [oldest] = recent.keys();
  if (recent.size > MOST_RECENT && oldest !== undefined) recent.delete(oldest);
  return root;
}

export const FENCE = /^[\s>]*(`{3,}|~{3,})/;
export const CLOSING_FENCE = /^[\s>]*(?:`{3,}|~{3,})\s*$/;

/*
 * The parser takes quadratic time for nested containers, underlined headings, and openers that nothing closes in one paragraph.
 * Real documents have few of them, but a hostile text can consist of nothing else. Beyond these limits such characters are
 * replaced one for one before parsing, so offsets stay the same.
 */
const MOST = {
  /** Openings of HTML comments and the like. */
  html: 500,
  /** Quote marks in the whole text. */
  quotes: 2_000,
  /** Lines that could underline a heading. */
  underlines: 200,
  /** Characters in one paragraph that could open or close emphasis, a link or an escape. */
  openers: 300,
};
/** A shorter text can't reach a limit. */
const FEW = 2_000;

const HTML = /<(?=!--|\?|!\[CDATA\[|![A-Za-z])/g;
const CONTAINER = String.raw`[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))`;
/** More than 40 nested quotes and lists on one line. */
const DEEP = new RegExp(`^((?:${CONTAINER}){40})((?:${CONTAINER})+)`);
/** The parser looks for each length of backticks to the end of the paragraph. */
const LONG_TICKS = /`{17,}/g;
const UNDERLINE = /^ {0,3}(?:=+|-+)[ \t]*$/;
/** An underscore inside a word is not markup. */
const OPENER = /[*~[\]\\]|(?<!\w)_|_(?!\w)/g;
/** The line begins a paragraph, or is a row of a table. */
const OWN_PARAGRAPH = /^\s*(?:$|[>|#]|[-*+][ \t]|\d{1,9}[.)][ \t])|\|/;

const dots = (marks: string): string => '.'.repeat(marks.length);

function tameMarkdown(text: string): string {
  if (text.length < FEW) return text;
  const left = { ...MOST };
  const within = (kind: keyof typeof MOST) => (marks: string) => (left[kind]-- > 0 ? marks : dots(marks));
  let fence: string | null = null;
  return text
    .replaceAll(HTML, within('html'))
    .split('\n')
    .map((given) => {
      const mark = FENCE.exec(given)?.[1] ?? null;
      const isCode = fence !== null || mark !== null;
      if (fence === null) fence = mark;
      else if (mark?.startsWith(fence)) fence = null;
      const line = given
        .replace(DEEP, (_, first: string, deeper: string) => first + deeper.replaceAll(/\S/g, '.'))
        .replace(/^[ \t>]*>/, (signs) => signs.replaceAll('>', within('quotes')));
      if (isCode) return line;
      if (OWN_PARAGRAPH.test(line)) left.openers = MOST.openers;
      return line
        .replaceAll(LONG_TICKS, dots)
        .replace(UNDERLINE, within('underlines'))
        .replaceAll(OPENER, within('openers'));
    })
    .join('\n');
}

/** A node's text without markup. */
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

/**
 * Without a ```markdown fence around the whole document: its first line, and the last fence that closes something, become
 * blank. `isOurs` judges what the fence holds, up to the end of the first fence inside.
 */
export function withoutWrapper(text: string, isOurs: (inside: string) => boolean): string {
  // Most documents begin with a heading: they are not parsed for this.
  const fence = /^[ \t>]*(?:`{3,}|~{3,})/m.exec(text);
  if (fence === null || /^ {0,3}#{1,6}[ \t]/m.test(text.slice(0, fence.index))) return text;
  const wrapper = parseMarkdown(text).children.find((node) => node.type !== 'paragraph');
  if (wrapper?.type !== 'code' || !/^(?:markdown|md|text|)$/i.test(wrapper.lang ?? '')) return text;
  const lines = text.split('\n');
  const first = lineOf(wrapper) - 1;
  if (!FENCE.test(lines[first] ?? '') || !isOurs(wrapper.value)) return text;
  const last = lines.findLastIndex((line) => CLOSING_FENCE.test(line));
  return lines.map((line, index) => (index === first || (index === last && last > first) ? '' : line)).join('\n');
}

/** A heading with everything up to the next heading of the same or a higher level. */
export interface Section {
  heading: Heading;
  title: string;
  depth: number;
  /** The nodes directly under this heading, up to the first subsection. */
  own: RootContent[];
  /** All nodes of the section, subsections' headings and nodes included. */
  all: RootContent[];
  /** Offsets into the text: from the heading's first character to the end of the section. */
  start: number;
  end: number;
}

/** Every section of the document in order, nested ones included. Text above the first heading is in none. */
export function sectionsOf({ children, position }: Root): Section[] {
  return children.flatMap((heading, at): Section[] => {
    if (heading.type !== 'heading') return [];
    const { depth } = heading;
    let to = at + 1;
    const ends = (node: RootContent | undefined): boolean => !node || (node.type === 'heading' && node.depth <= depth);
    while (!ends(children[to])) to++;
    const all = children.slice(at + 1, to);
    const part = all.findIndex(({ type }) => type === 'heading');
    const [start, end] = [heading.position?.start.offset, (children[to]?.position?.start ?? position?.end)?.offset];
    const own = part < 0 ? all : all.slice(0, part);
    return [{ heading, title: plainText(heading), depth, own, all, start: start ?? 0, end: end ?? 0 }];
  });
}

const BLOCKS = new Set(['root', 'list', 'listItem', 'blockquote', 'table', 'tableRow']);

/**
 * A node's text without markup, except that inline code keeps its backticks, because rules treat code and words differently.
 * Comments are dropped, and blocks are on lines of their own. `keepsMarks` also keeps `**` and `~~`.
 */
export function markedText(node: Nodes, keepsMarks = false): string {
  return markedNode(node, keepsMarks).trim();
}

const MARKS: Record<string, string> = { strong: '**', delete: '~~' };

function markedNode(node: Nodes, keepsMarks: boolean): string {
  if (node.type === 'inlineCode') return `\`${node.value}\``;
  if (node.type === 'break') return '\n';
  if (node.type === 'html') return /^<br\b/i.test(node.value) ? '\n' : node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  if ('value' in node) return node.value;
  if (node.type === 'image') return node.alt ?? '';
  if (!('children' in node)) return '';
  const text = node.children
    .map((child: Nodes) => markedNode(child, keepsMarks))
    .join(BLOCKS.has(node.type) ? '\n' : '');
  const mark = keepsMarks ? (MARKS[node.type] ?? '') : '';
  return `${mark}${text}${mark}`;
}

/** The same on one line. */
export function flatText(node: Nodes): string {
  return markedText(node).replace(/\s+/g, ' ');
}

export interface TextLine {
  text: string;
  line: number;
}

/** The lines of a paragraph, heading or cell. */
export function linesOf(node: Nodes): TextLine[] {
  return markedText(node)
    .split('\n')
    .map((text, index) => ({ text, line: lineOf(node) + index }));
}

/** Each point of a list, line of a paragraph and row of a table at the top of these nodes. */
export function statementsIn(nodes: readonly Nodes[]): TextLine[] {
  return nodes.flatMap((node): TextLine[] => {
    if (node.type === 'list') return node.children.map((item) => ({ text: flatText(item), line: lineOf(item) }));
    if (node.type === 'table')
      return node.children.map((row) => ({
        text: row.children.map((cell) => flatText(cell)).join(' | '),
        line: lineOf(row),
      }));
    return node.type === 'paragraph' ? linesOf(node) : [];
  });
}

/** `* **Name:** value`, as a point, a line or a row of a table; the name is in lower case. */
export interface Field {
  name: string;
  value: string;
  line: number;
}

export function fieldsIn(nodes: readonly Nodes[]): Field[] {
  return statementsIn(nodes).flatMap(({ text, line }) => {
    const [, name = '', value = ''] =
      /^[^\p{L}\p{N}_]*(\p{L}[\p{L} #]{0,30}?)[^\p{L}\p{N}_]*[:：|]\s*(.*)$/su.exec(text) ?? [];
    return name === '' ? [] : [{ name: name.toLowerCase(), value, line }];
  });
}
