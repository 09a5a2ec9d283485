import type { Nodes } from 'mdast';
import { normaliseText, parseMarkdown } from '../documents/markdown.ts';

/** What moves a cursor or ends a text, but for line feeds and tabs. */
const CONTROL = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;
/** What is there and can't be seen: text in other order than shown, and letters without a shape. */
const INVISIBLE = /[\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF\u{E0000}-\u{E007F}]/gu;

/** One line, of characters that a person can see. */
export function outsideLine(text: string): string {
  return normaliseText(text).replace(INVISIBLE, '').replace(CONTROL, ' ').replace(/\s+/g, ' ').trim();
}

/**
 * A text from outside as people see it on the page: what is hidden there must not reach a model, because the person who vouches for
 * the text has not read it.
 */
export function outsideText(text: string): string {
  return withoutComments(normaliseText(text).replace(INVISIBLE, '').replace(CONTROL, '')).trim();
}

/** Those that the page hides; in code they are shown. */
function withoutComments(text: string): string {
  if (!text.includes('<!--')) return text;
  let rest = '';
  let at = 0;
  for (const { start, end } of htmlIn(parseMarkdown(text))) {
    rest += text.slice(at, start) + text.slice(start, end).replace(/<!--[^]*?(?:-->|$)/g, '');
    at = end;
  }
  return rest + text.slice(at);
}

function htmlIn(node: Nodes): { start: number; end: number }[] {
  if (node.type === 'html') {
    const start = node.position?.start.offset ?? 0;
    return [{ start, end: node.position?.end.offset ?? start }];
  }
  return 'children' in node ? node.children.flatMap((child: Nodes) => htmlIn(child)) : [];
}
