import type { BlockContent, DefinitionContent, ListItem, PhrasingContent, RootContent } from 'mdast';

type Block = RootContent | BlockContent | DefinitionContent;

/** Inline content as readable text: emphasis dropped, code and strikethrough marked, line breaks kept. */
export function inlineText(nodes: PhrasingContent[]): string {
  return nodes.map(inlineNodeText).join('');
}

function inlineNodeText(node: PhrasingContent): string {
  if (node.type === 'text') return node.value;
  if (node.type === 'inlineCode') return `\`${node.value}\``;
  if (node.type === 'break') return '\n';
  if (node.type === 'delete') return `~~${inlineText(node.children)}~~`;
  if (node.type === 'image' || node.type === 'imageReference') return node.alt ?? '';
  return 'children' in node ? inlineText(node.children) : '';
}

/** Soft line breaks are an accident of wrapping, not part of what is said. */
export function unwrapLines(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim();
}

/** Blocks as readable text, one below the other; nested lists are indented under their point. */
export function blockText(nodes: Block[]): string {
  return nodes
    .map(blockNodeText)
    .filter((text) => text !== '')
    .join('\n');
}

function blockNodeText(node: Block): string {
  if (node.type === 'paragraph' || node.type === 'heading') return unwrapLines(inlineText(node.children));
  if (node.type === 'code') return `\`\`\`${node.lang ?? ''}\n${node.value}\n\`\`\``;
  if (node.type === 'blockquote') return blockText(node.children).replace(/^/gm, '> ');
  if (node.type === 'list') {
    return node.children.map((item, index) => itemLines(item, node.ordered ? `${index + 1}. ` : '- ')).join('\n');
  }
  if (node.type !== 'table') return '';
  return node.children
    .map((row) => row.children.map((cell) => unwrapLines(inlineText(cell.children))).join(' | '))
    .join('\n');
}

function itemLines(item: ListItem, marker: string): string {
  return `${marker}${blockText(item.children).replace(/\n/g, '\n  ')}`;
}
