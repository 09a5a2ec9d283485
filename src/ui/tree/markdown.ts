import type { Nodes, Root } from 'mdast';
import { normaliseText, parseMarkdown } from '../../documents/markdown.ts';
import type { MarkdownNode } from '../api.ts';

/** Deeper nesting than this is not shown: a hostile document could otherwise use up the stack of the page that draws it. */
const DEEPEST = 40;
/** Of one document. */
const MOST_CHARS = 400_000;

/**
 * A document as a tree of a closed set of nodes, which the page turns into elements. HTML in it is text, images are their
 * description, and only links to http and https are links: whatever a model wrote, nothing of it runs or is loaded.
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

/** Where a piece of HTML is a block of its own. */
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
      // A comment says nothing to a reader; a tag is shown as it is written.
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

/** Only to the web; any other address is only its text. */
function linkTo(url: string, inside: MarkdownNode[]): MarkdownNode[] {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isWeb = parsed?.protocol === 'https:' || parsed?.protocol === 'http:';
  return isWeb ? [['a', parsed.href, ...inside]] : inside;
}

function languageOf(lang: string | null | undefined): string {
  return /^[\w+#.-]{1,30}/.exec(lang ?? '')?.[0] ?? '';
}
