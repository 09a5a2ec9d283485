import { headline } from '../finding.ts';
import { isLld } from '../lld/sections.ts';
import { codeIn, lineOf, normaliseText, parseMarkdown } from '../markdown.ts';
import { REVIEW_LOG_KEY, readTitle } from '../titles.ts';
import { type DocumentForm, LLD_FORM } from './form.ts';

export type ReplyDocument = { ok: true; text: string } | { ok: false; reason: string };

const THINKING = /^[ \t]*<(think|thinking|antthinking|reasoning|analysis|reflection|scratchpad|thoughts?|planning)>/im;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const FENCE = /^\s*(?:`{3,}|~{3,})/;
const FAILURE = /^(?:API Error\b|\{"(?:type":\s*"error"|error"))/i;

/** What models say after a document, at the beginning of a line. It is looked for below the last section's heading only. */
const CLOSING_WORDS =
  /^[*_>]*(?:let me know|please (?:let|review|confirm|feel|find)|(?:would|do) you (?:like|want)|(?:shall|should) (?:i|we)\b|feel free|happy to|if you(?:[’']d| would| need| want| have)\b|i[’'](?:ve|m|ll|d)\b|i (?:have|hope|can|will|also|am|made|added|updated|revised|kept|left|changed|addressed)\b|(?:a )?summary of (?:the |my |these )?(?:changes|revisions|edits)|(?:key |main |notable )?(?:changes|revisions) (?:made|in this|since|from|summary)\b|what (?:i )?changed\b|next steps\b|-* ?end of (?:the )?(?:lld|document|draft))/i;

/** The form that a text has: that of what may stand in place of the document where its title says so, and it is no LLD. */
export function formOf(text: string, form: DocumentForm): DocumentForm {
  const { instead } = form;
  if (instead === undefined || !text.split('\n').some((line) => isTitle(line, instead))) return form;
  return isLld(text) ? form : instead;
}

/**
 * The document in a model's reply: bare, in a fence, between sentences, after its thinking, below front matter of its own
 * (dropped, as the approved document gets ours). What holds no heading of its form is no document, whatever it is.
 */
export function documentFromReply(reply: string, asked: DocumentForm = LLD_FORM): ReplyDocument {
  const text = withoutThinking(normaliseText(reply), asked);
  const form = formOf(text, asked);
  if (/^\s*<(?:!doctype|html|\?xml)\b/i.test(text)) return { ok: false, reason: 'the reply is an HTML page' };
  if (/^\s*\{\s*"(?:error|type"\s*:\s*"error)"/.test(text)) return noDocument('the reply is an error message', text);

  const lines = text.split('\n');
  const anchor = anchorOf(lines, form);
  if (anchor === null) {
    return text.trim() === ''
      ? { ok: false, reason: 'the reply is empty' }
      : noDocument(`the reply has no heading of ${form.name}`, text);
  }
  const start = titleAbove(lines, anchor, form);
  const last = Math.max(
    anchor,
    lines.findLastIndex((line) => continuesDocument(line, form)),
  );
  const end = documentEnd(lines, start, last);
  const failure = lines.slice(last).find((line) => FAILURE.test(line));
  if (failure !== undefined) return noDocument('the document breaks off in an error message', failure);
  return { ok: true, text: `${lines.slice(start, end).join('\n').trimEnd()}\n` };
}

function noDocument(what: string, text: string): ReplyDocument {
  return { ok: false, reason: `${what}: "${headline(text)}"` };
}

/** Thinking before the document may hold headings of its own. Some models close the tag without ever opening it. */
export function withoutThinking(text: string, form: DocumentForm): string {
  const open = THINKING.exec(text);
  if (open && !/^ {0,3}(?:#|```|~~~)/m.test(text.slice(0, open.index))) {
    const closing = new RegExp(`</${open[1]}>`, 'i').exec(text.slice(open.index));
    if (!closing) return text;
    const end = open.index + closing.index + closing[0].length;
    return withoutThinking(text.slice(0, open.index) + text.slice(end), form);
  }
  const stray = /^[ \t]*<\/think(?:ing)?>/im.exec(text);
  if (open || !stray) return text;
  const rest = text.slice(stray.index + stray[0].length);
  return anchorOf(rest.split('\n'), form) === null ? text : rest;
}

/** The line of the first section; a section quoted in a preamble is not it as long as there is a first section proper. */
function anchorOf(lines: string[], form: DocumentForm): number | null {
  const keys = lines.map(headingKey);
  const first = keys.indexOf(form.firstKey);
  if (first !== -1) return first;
  const section = keys.findIndex((key) => key !== null && form.keys.has(key));
  if (section !== -1) return section;
  const title = lines.findIndex((line) => isTitle(line, form));
  return title === -1 ? null : title;
}

function headingKey(line: string): string | null {
  const heading = HEADING.exec(line);
  return heading?.[2] === undefined ? null : readTitle(heading[2]).key;
}

function isTitle(line: string, form: DocumentForm): boolean {
  const [, marks, text] = HEADING.exec(line) ?? [];
  return marks !== undefined && text !== undefined && form.isTitle({ level: marks.length, text });
}

/** The nearest title above the first section; without one the document begins with the section. */
function titleAbove(lines: string[], anchor: number, form: DocumentForm): number {
  const above = lines.slice(0, anchor + 1);
  const title = above.findLastIndex((line) => isTitle(line, form));
  if (title !== -1) return title;
  // Any other title stands inside the same fence as the section.
  const fence = above.findLastIndex((line) => FENCE.test(line));
  const first = above.findLastIndex((line) => HEADING.exec(line)?.[1] === '#');
  return first > fence ? first : anchor;
}

/** Headings that belong to the document, not to what a model says about it afterwards. */
function continuesDocument(line: string, form: DocumentForm): boolean {
  const heading = HEADING.exec(line);
  if (!heading) return false;
  const title = heading[2] ?? '';
  const { number, key } = readTitle(title);
  return form.keys.has(key) || /^appendix\b/i.test(title) || Number.parseInt(number ?? '0', 10) > form.lastNumber;
}

/**
 * The line after the document's last. Read from its title on, the end of a fence around it is a code block that is never
 * closed, or one that begins with a blank line.
 */
function documentEnd(lines: string[], start: number, last: number): number {
  const root = parseMarkdown(lines.slice(start).join('\n'));
  const blocks = new Map(codeIn(root).map((code) => [start + lineOf(code) - 1, code]));
  const isWrapped = lines.slice(0, start).filter((line) => FENCE.test(line)).length % 2 === 1;
  const isLog = headingKey(lines[last] ?? '') === REVIEW_LOG_KEY;
  for (let index = last + 1; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const code = blocks.get(index);
    if (code) {
      const end = start + (code.position?.end.line ?? 0) - 1;
      const isOpen = end === index || !FENCE.test(lines[end] ?? '');
      if (!code.lang && (/^\s*(?:\n|$)/.test(code.value) || (isOpen && isWrapped))) return index;
      index = end;
    } else if (CLOSING_WORDS.test(line) || CLOSING_WORDS.test(HEADING.exec(line)?.[2] ?? '')) {
      return withoutRule(lines, index);
    } else if (closesWrapper(lines, start, index) || endsWithRemark(lines, { index, last, isLog })) {
      return index;
    }
  }
  return lines.length;
}

/**
 * A rule below the last section with a remark under it, or a remark below the log's table. The log holds a table only, so
 * what else stands there is said about the document.
 */
function endsWithRemark(
  lines: string[],
  { index, last, isLog }: { index: number; last: number; isLog: boolean },
): boolean {
  const section = lines.slice(last + 1, index);
  if (section.at(-1)?.trim() !== '') return false;
  const line = lines[index] ?? '';
  if (RULE.test(line)) return !HEADING.test(lines.slice(index + 1).find((next) => next.trim() !== '') ?? '#');
  return isLog && section.some((row) => row.startsWith('|')) && /^(?:>\s*)?[*_]*\p{L}/u.test(line);
}

/** `</lld>` and the like, when the tag was opened above the document. */
function closesWrapper(lines: string[], start: number, index: number): boolean {
  const tag = /^<\/([a-z][\w-]*)>\s*$/i.exec(lines[index] ?? '')?.[1];
  return tag !== undefined && !lines.slice(start, index).some((line) => line.includes(`<${tag}`));
}

function withoutRule(lines: string[], index: number): number {
  const above = lines.slice(0, index).findLastIndex((line) => line.trim() !== '');
  return RULE.test(lines[above] ?? '') ? above : index;
}
