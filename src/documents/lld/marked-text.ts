import type { Nodes } from 'mdast';

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
  return textOf(node).trim();
}

function textOf(node: Nodes): string {
  if (node.type === 'inlineCode') return `\`${node.value}\``;
  if (node.type === 'break') return '\n';
  if (node.type === 'html') return /^<br\b/i.test(node.value) ? '\n' : node.value.replace(/<!--[\s\S]*?(?:-->|$)/g, '');
  if ('value' in node) return node.value;
  if (node.type === 'image') return node.alt ?? '';
  if (!('children' in node)) return '';
  const inline = node.children.every((child) => INLINE.has(child.type));
  return node.children.map((child: Nodes) => textOf(child)).join(inline ? '' : '\n');
}

/** The same with whitespace collapsed: for a cell, an item, a message. */
export function flatText(node: Nodes): string {
  return markedText(node).replace(/\s+/g, ' ');
}
