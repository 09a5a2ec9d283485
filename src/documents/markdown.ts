import type { Heading, Nodes, Root, RootContent } from 'mdast';
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
import { parseInPieces } from './markdown-pieces.ts';

/** One form for what editors and models disagree about: byte-order mark, CRLF, and a lone CR. */
export function normaliseText(text: string): string {
  return text.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
}

/** What our documents use of GFM. Automatic links and footnotes are left out: they double the time and mean nothing here. */
const WITHOUT_TABLES = {
  extensions: [gfmTaskListItem(), gfmStrikethrough(), frontmatter(['yaml'])],
  mdastExtensions: [gfmTaskListItemFromMarkdown(), gfmStrikethroughFromMarkdown(), frontmatterFromMarkdown(['yaml'])],
};
const WITH_TABLES = {
  extensions: [gfmTable(), ...WITHOUT_TABLES.extensions],
  mdastExtensions: [gfmTableFromMarkdown(), ...WITHOUT_TABLES.mdastExtensions],
};

/** Every line could begin a table and is tried as one, unless nothing of the kind is in the text. */
const TABLE_SIGN = /\||:-|-:/;

function parsePiece(text: string): Root {
  return fromMarkdown(text, TABLE_SIGN.test(text) ? WITH_TABLES : WITHOUT_TABLES);
}

/** One document is read by many: these are the trees of the last few, as long as their memory isn't needed. */
const RECENT = 4;
const recent = new Map<string, WeakRef<Root>>();

/**
 * The syntax tree (tables, checklists, strikethrough, YAML front matter) of text that `normaliseText` has seen. The same
 * text may get the same tree again: nobody changes it.
 */
export function parseMarkdown(text: string): Root {
  const known = recent.get(text)?.deref();
  if (known) return known;
  const root = parseInPieces(text, parsePiece);
  recent.delete(text);
  recent.set(text, new WeakRef(root));
  for (const oldest of recent.keys()) {
    if (recent.size <= RECENT) break;
    recent.delete(oldest);
  }
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
