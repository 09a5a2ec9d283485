import type { ListItem, Paragraph, Table } from 'mdast';
import { flattenSections, parseMarkdown, plainText, type Section, sectionsOf } from '../markdown.ts';
import { REVIEW_LOG_KEY, readTitle } from '../titles.ts';

const HEADER = '| Finding | Answer |\n|---------|--------|';

/**
 * The draft with these rows in its review log; every other byte stays. `rows` is either data rows alone, which go under
 * the header that is there, or a whole table (its second line is the delimiter row), which replaces header and all.
 */
export function withReviewLog(draft: string, rows: string): string {
  const given = rows.trim();
  const section = reviewLogOf(draft);
  if (!section) return `${draft.trimEnd()}\n\n## Appendix: Review Log\n${tableOf(HEADER, given)}\n`;

  const table = section.all.find((node): node is Table => node.type === 'table');
  const start = table?.position?.start.offset;
  const end = table?.position?.end.offset;
  if (start === undefined || end === undefined) {
    const headingEnd = section.heading.position?.end.offset ?? section.start;
    const rest = draft.slice(headingEnd);
    const gap = rest.trim() === '' ? '\n' : '\n\n';
    return `${draft.slice(0, headingEnd)}\n\n${tableOf(HEADER, given)}${gap}${rest.replace(/^\s*\n/, '')}`;
  }
  const header = draft.slice(start, end).split('\n').slice(0, 2).join('\n');
  return `${draft.slice(0, start)}${tableOf(header, given)}${draft.slice(end)}`;
}

/** The document without its review log, for readers who have no use for it. */
export function withoutReviewLog(document: string): string {
  const section = reviewLogOf(document);
  if (!section) return document;
  const rest = document.slice(section.end).trim();
  return `${document.slice(0, section.start).trimEnd()}\n${rest === '' ? '' : `\n${rest}\n`}`;
}

/** The log is an appendix, so the last heading of that name is meant. */
export function reviewLogOf(draft: string): Section | undefined {
  return flattenSections(sectionsOf(parseMarkdown(draft))).findLast(
    (section) => readTitle(section.title).key === REVIEW_LOG_KEY,
  );
}

function tableOf(header: string, rows: string): string {
  if (/^[\s|:-]*-[\s|:-]*$/.test(rows.split('\n')[1] ?? '')) return rows;
  return rows === '' ? header : `${header}\n${rows}`;
}

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
