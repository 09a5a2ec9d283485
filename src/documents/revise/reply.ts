import { normaliseText } from '../markdown.ts';
import { REVIEW_LOG_KEY, readTitle } from '../titles.ts';
import { type DocumentForm, LLD_FORM } from './form.ts';

export type ReplyDocument = { ok: true; text: string } | { ok: false; reason: string };

const THINKING = /^[ \t]*<(think|thinking|antthinking|reasoning|analysis|reflection|scratchpad|thoughts?|planning)>/im;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const FAILURE = /^(?:API Error\b|\{"(?:type":\s*"error"|error"))/i;

// What models say after a document, at the beginning of a line. It is looked for below the last section's heading only.
const CLOSING_WORDS = new RegExp(
  `^[*_>]*(?:${[
    'let me know',
    'please (?:let|review|confirm|feel|find)',
    '(?:would|do) you (?:like|want)',
    '(?:shall|should) (?:i|we)\\b',
    'feel free',
    'happy to',
    "if you(?:’d|'d| would| need| want| have)\\b",
    "i(?:’|')(?:ve|m|ll|d)\\b",
    'i (?:have|hope|can|will|would|also|am|believe|did|made|added|updated|revised|kept|left|changed|addressed|included|assumed|used)\\b',
    '(?:a )?summary of (?:the |my |these )?(?:changes|revisions|edits)',
    '(?:key |main |notable )?(?:changes|revisions) (?:made|in this|since|from|summary)\\b',
    '(?:key|main) changes\\b',
    'what (?:i )?changed\\b',
    'change summary\\b',
    'revision notes\\b',
    'next steps\\b',
    '(?:this|the) (?:(?:above|revised|updated|complete|full|final) )*(?:lld|draft|document|revision|low-level design) ' +
      '(?:above )?(?:is (?:now|complete|ready)|now|address|incorporat|cover|follow|should|has been|provide)',
    'all (?:of the )?(?:review(?:er)? )?(?:findings|issues|comments|feedback)\\b.*(?:addressed|resolved)',
    '-* ?end of (?:the )?(?:lld|document|draft)',
  ].join('|')})`,
  'i',
);

/**
 * The document in a model's reply: bare, in a fence, between sentences, after its thinking, below front matter of its own
 * (dropped, as the approved document gets ours). What holds no heading of its form is no document, whatever it is.
 */
export function documentFromReply(reply: string, form: DocumentForm = LLD_FORM): ReplyDocument {
  const text = withoutThinking(normaliseText(reply), form);
  if (/^\s*<(?:!doctype|html|\?xml)\b/i.test(text)) return { ok: false, reason: 'the reply is an HTML page' };
  if (/^\s*\{\s*"(?:error|type"\s*:\s*"error)"/.test(text)) return noDocument('the reply is an error message', text);

  const lines = text.split('\n');
  const anchor = anchorOf(lines, form);
  if (anchor === null) {
    return text.trim() === ''
      ? { ok: false, reason: 'the reply is empty' }
      : noDocument(`the reply has no heading of ${form.name}`, text);
  }
  const outer = openFenceAt(lines, anchor);
  const start = titleAbove(lines, { from: outer ? outer.line + 1 : 0, anchor }, form);
  const last = Math.max(
    anchor,
    lines.findLastIndex((line) => continuesDocument(line, form)),
  );
  const end = documentEnd(lines, { start, last, outer });
  const failure = lines.slice(last).find((line) => FAILURE.test(line));
  if (failure !== undefined) return noDocument('the document breaks off in an error message', failure);
  return { ok: true, text: `${lines.slice(start, end).join('\n').trimEnd()}\n` };
}

function noDocument(what: string, text: string): ReplyDocument {
  const first = text.trim().split('\n')[0] ?? '';
  return { ok: false, reason: `${what}: "${first.length > 120 ? `${first.slice(0, 119)}…` : first}"` };
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
function titleAbove(lines: string[], { from, anchor }: { from: number; anchor: number }, form: DocumentForm): number {
  const above = lines.slice(from, anchor + 1);
  const title = above.findLastIndex((line) => isTitle(line, form));
  if (title !== -1) return from + title;
  const first = above.findLastIndex((line) => HEADING.exec(line)?.[1] === '#');
  return first === -1 ? anchor : from + first;
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
 * The line after the document's last. Above the last section's heading every fence belongs to the document, because the
 * document continues; so only the fences below it can be the outer one's end, even when all of them look the same.
 */
function documentEnd(lines: string[], at: { start: number; last: number; outer: Fence | null }): number {
  const { start, last, outer } = at;
  let inner: Fence | null = null;
  for (let index = last + 1; index < lines.length; index++) {
    const line = lines[index] ?? '';
    const fence = fenceAt(line, index);
    if (inner) {
      if (fence && closes(fence, inner)) inner = null;
    } else if (fence) {
      if (outer ? endsOuter(lines, fence, outer) : isStray(lines, fence)) return index;
      inner = fence;
    } else if (!outer && endsWithRemark(lines, index, last)) {
      return index;
    } else if ((index > last + 1 && endsBare(line)) || closesWrapper(lines, start, index)) {
      return withoutRule(lines, index);
    }
  }
  // The outer fence was closed with fewer marks than it was opened with.
  if (outer && inner && inner.info === '' && inner.char === outer.char) return inner.line;
  return lines.length;
}

function endsBare(line: string): boolean {
  return CLOSING_WORDS.test(line) || CLOSING_WORDS.test(HEADING.exec(line)?.[2] ?? '');
}

/**
 * A rule below the last section with a remark under it, or a remark below the log's table. The log holds a table only, so
 * what else stands there is said about the document.
 */
function endsWithRemark(lines: string[], index: number, last: number): boolean {
  const section = lines.slice(last + 1, index);
  if (index === last + 1 || (section.at(-1) ?? '').trim() !== '') return false;
  const line = lines[index] ?? '';
  if (RULE.test(line)) return !HEADING.test(lines.slice(index + 1).find((next) => next.trim() !== '') ?? '#');
  const isLog = headingKey(lines[last] ?? '') === REVIEW_LOG_KEY;
  return isLog && section.some((row) => row.startsWith('|')) && /^(?:>\s*)?[*_]*\p{L}/u.test(line);
}

/** A bare fence in the last section ends the outer one, unless text follows at once and a later fence can close that. */
function endsOuter(lines: string[], fence: Fence, outer: Fence): boolean {
  if (!closes(fence, outer) || fence.indent > 3) return false;
  return isBlankAfter(lines, fence) || bareFencesAfter(lines, fence) === 0;
}

/** The end of a fence whose beginning was never in the reply. Text right below it would make it a beginning instead. */
function isStray(lines: string[], fence: Fence): boolean {
  return fence.info === '' && fence.indent === 0 && isBlankAfter(lines, fence) && bareFencesAfter(lines, fence) === 0;
}

function isBlankAfter(lines: string[], fence: Fence): boolean {
  return (lines[fence.line + 1] ?? '').trim() === '';
}

function bareFencesAfter(lines: string[], fence: Fence): number {
  return lines.slice(fence.line + 1).filter((line) => {
    const other = fenceAt(line, 0);
    return other !== null && closes(other, fence);
  }).length;
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

/** A line of three or more backticks or tildes. */
interface Fence {
  line: number;
  char: string;
  length: number;
  indent: number;
  info: string;
}

/** The fence on a line, opening or closing. Any indentation counts: lists hold fences too. */
function fenceAt(line: string, index: number): Fence | null {
  const match = /^(\s*)(`{3,}|~{3,})\s*(.*?)\s*$/.exec(line);
  const marks = match?.[2];
  if (match === null || marks === undefined) return null;
  const info = match[3] ?? '';
  const char = marks.charAt(0);
  if (char === '`' && info.includes('`')) return null;
  return { line: index, char, length: marks.length, indent: match[1]?.length ?? 0, info };
}

function closes(fence: Fence, opening: Fence): boolean {
  return fence.info === '' && fence.char === opening.char && fence.length >= opening.length;
}

/** The fence that is still open where this line begins. */
function openFenceAt(lines: string[], line: number): Fence | null {
  let open: Fence | null = null;
  for (let index = 0; index < line; index++) {
    const fence = fenceAt(lines[index] ?? '', index);
    if (!fence) continue;
    if (!open) open = fence;
    else if (closes(fence, open)) open = null;
  }
  return open;
}
