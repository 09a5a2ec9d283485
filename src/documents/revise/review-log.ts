import { parseMarkdown, type Section, sectionsOf } from '../../markdown/markdown.ts';
import { REVIEW_LOG_KEY, readTitle } from '../../markdown/words.ts';

const HEADER = '| Finding | Answer |\n|---------|--------|';

/**
 * The draft with these rows in its review log; every other byte stays. `rows` is either data rows alone, which go under
 * the header that is there, or a whole table (its second line is the delimiter row), which replaces the header too.
 */
export function withReviewLog(draft: string, rows: string): string {
  const section = reviewLogOf(draft);
  if (!section) return `${draft.trimEnd()}\n\n## Appendix: Review Log\n${tableOf(HEADER, rows)}\n`;
  const { start, end } = section.all.find(({ type }) => type === 'table')?.position ?? {};
  if (start?.offset === undefined || end?.offset === undefined) {
    const headingEnd = section.heading.position?.end.offset ?? section.start;
    const rest = draft.slice(headingEnd);
    const gap = rest.trim() === '' ? '\n' : '\n\n';
    return `${draft.slice(0, headingEnd)}\n\n${tableOf(HEADER, rows)}${gap}${rest.replace(/^\s*\n/, '')}`;
  }
  const header = draft.slice(start.offset, end.offset).split('\n').slice(0, 2).join('\n');
  return `${draft.slice(0, start.offset)}${tableOf(header, rows)}${draft.slice(end.offset)}`;
}

function tableOf(header: string, given: string): string {
  const rows = given.trim();
  if (/^[\s|:-]*-[\s|:-]*$/.test(rows.split('\n')[1] ?? '')) return rows;
  return rows === '' ? header : `${header}\n${rows}`;
}

/** The document without its review log, for readers that have no use for it. */
export function withoutReviewLog(document: string): string {
  const section = reviewLogOf(document);
  if (!section) return document;
  const rest = document.slice(section.end).trim();
  return `${document.slice(0, section.start).trimEnd()}\n${rest === '' ? '' : `\n${rest}\n`}`;
}

/** The log is an appendix, so the last heading of that name is meant. */
export function reviewLogOf(draft: string): Section | undefined {
  return sectionsOf(parseMarkdown(draft)).findLast((section) => readTitle(section.title).key === REVIEW_LOG_KEY);
}

/** Sets the `**Status:**` line of section 1; a document without one stays as it is. */
export function withStatus(document: string, status: string): string {
  const context = sectionsOf(parseMarkdown(document)).find(({ title }) => /context/i.test(title));
  if (!context) return document;
  const section = document.slice(context.start, context.end);
  const set = section.replace(/^([*+-] +\*\*Status(?::\*\*|\*\*:)).*$/im, (_, label: string) => `${label} ${status}`);
  return document.slice(0, context.start) + set + document.slice(context.end);
}
