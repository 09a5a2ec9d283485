import type { ListItem, Paragraph } from 'mdast';
import { flattenSections, parseMarkdown, plainText, sectionsOf } from '../markdown.ts';

/** Sets the `**Status:**` line of section 1; a document without one is returned as it is. */
export function withStatus(document: string, status: string): string {
  const context = flattenSections(sectionsOf(parseMarkdown(document))).find(({ title }) => /context/i.test(title));
  const items = (context?.own ?? []).flatMap((node) => (node.type === 'list' ? node.children : []));
  const line = items.find((item) => /^status\s*:/i.test(plainText(item)));
  const value = line && valueSpan(line);
  return value ? `${document.slice(0, value.start)} ${status}${document.slice(value.end)}` : document;
}

/** From behind the label to the end of the item's first paragraph. */
function valueSpan(item: ListItem): { start: number; end: number } | null {
  const paragraph = item.children.find((child): child is Paragraph => child.type === 'paragraph');
  const label = paragraph?.children[0];
  if (label?.type !== 'strong') return null;
  const start = label.position?.end.offset;
  const end = paragraph?.position?.end.offset;
  return start === undefined || end === undefined ? null : { start, end };
}
