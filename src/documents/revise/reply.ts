import { FENCE, normaliseText } from '../../markdown/markdown.ts';
import { OPEN_QUESTIONS_KEY, REVIEW_LOG_KEY, readTitle } from '../../markdown/words.ts';
import { headline } from '../finding.ts';
import { ISSUE_SECTIONS } from '../issue.ts';
import { isLld, LLD_SECTIONS } from '../lld/document.ts';

/** How a kind of document is recognised in a reply, and what a revision of it may not lose. */
export interface DocumentForm {
  /** With its article, for messages: `an LLD`. */
  name: string;
  /** Its sections in order; none of them may be dropped. Keys are those of `readTitle`. */
  keys: ReadonlySet<string>;
  /** The line of its title; null: any heading may be it, so only its place above the sections counts. */
  title: RegExp | null;
  /** What may be written in its place, recognised by its title. */
  instead?: DocumentForm;
}

export const LLD_FORM: DocumentForm = {
  name: 'an LLD',
  keys: new Set([...LLD_SECTIONS.map(({ key }) => key), OPEN_QUESTIONS_KEY]),
  title:
    /^ {0,3}(?:##?[ \t]+\W*(?:issue\s+)?#?[\w-]+\]?\s*[-–—:]+\s*feature|#[ \t]+\W*(?:LLD|low[- ]level design)\b(?!\s+review))\b/i,
  // A drafter's claim that the issue is done at the base commit, with evidence.
  instead: {
    name: 'a claim that the issue is already done',
    keys: new Set(['evidence', 'why']),
    title: /^ {0,3}##?[ \t]+\W*already done\b/i,
  },
};

export const ISSUE_FORM: DocumentForm = {
  name: 'an issue',
  keys: new Set(ISSUE_SECTIONS.map(({ key }) => key)),
  title: null,
};

/** The form of a text: the one that may stand in place of the document if its title says so and it is no LLD. */
export function formOf(text: string, form: DocumentForm): DocumentForm {
  const { instead } = form;
  if (instead === undefined || !text.split('\n').some((line) => isTitle(line, instead))) return form;
  return isLld(text) ? form : instead;
}

/** Whether a draft claims that its issue is done at the base commit. */
export function isAlreadyDone(draft: string): boolean {
  return formOf(draft, LLD_FORM) !== LLD_FORM;
}

/** The document, or the reason why it can't be read. */
export type Outcome = { ok: true; text: string } | { ok: false; reason: string };

const THINKING = /^[ \t]*<(think|thinking|antthinking|reasoning|analysis|reflection|scratchpad|thoughts?|planning)>/im;
const HEADING = /^ {0,3}#{1,6}[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const FAILURE = /^(?:API Error\b|\{"(?:type":\s*"error"|error"))/i;

/** What models say after a document, at the beginning of a line. It is looked for below the last section's heading only. */
const CLOSING_WORDS =
  /^[*_>#\s]*(?:let me know|please (?:let|review|confirm|feel|find)|(?:would|do) you (?:like|want)|(?:shall|should) (?:i|we)\b|feel free|happy to|if you(?:[’']d| would| need| want| have)\b|i[’'](?:ve|m|ll|d)\b|i (?:have|hope|can|will|also|am|made|added|updated|revised|kept|left|changed|addressed)\b|(?:a )?summary of (?:the |my |these )?(?:changes|revisions|edits)|(?:key |main |notable )?(?:changes|revisions) (?:made|in this|since|from|summary)\b|what (?:i )?changed\b|next steps\b|-* ?end of (?:the )?(?:lld|document|draft))/i;

/**
 * The document in a model's reply: bare, in a fence, between sentences, after its thinking, below front matter of its own
 * (dropped, as the approved document gets ours). A reply without a heading of the form has no document.
 */
export function documentFromReply(reply: string, asked: DocumentForm = LLD_FORM): Outcome {
  const text = withoutThinking(normaliseText(reply));
  const form = formOf(text, asked);
  const refused = (what: string, said = text): Outcome => ({ ok: false, reason: `${what}: "${headline(said)}"` });
  if (text.trim() === '') return { ok: false, reason: 'the reply is empty' };

  const lines = text.split('\n');
  const anchor = anchorOf(lines, form);
  if (anchor === null) return refused(`the reply has no heading of ${form.name}`);
  const start = titleAbove(lines, anchor, form);
  const last = Math.max(
    anchor,
    lines.findLastIndex((line) => continuesDocument(line, form)),
  );
  const failure = lines.slice(last).find((line) => FAILURE.test(line));
  if (failure !== undefined) return refused('the document breaks off in an error message', failure);
  const document = lines.slice(start, documentEnd(lines, start, last)).join('\n');
  return { ok: true, text: `${document.trimEnd()}\n` };
}

/** Thinking before the reply may have headings and edits of its own. Some models close the tag without ever opening it. */
export function withoutThinking(text: string): string {
  const open = THINKING.exec(text);
  if (open && !/^ {0,3}(?:#|```|~~~)/m.test(text.slice(0, open.index))) {
    const closing = new RegExp(`</${open[1]}>`, 'i').exec(text.slice(open.index));
    if (!closing) return text;
    return withoutThinking(text.slice(0, open.index) + text.slice(open.index + closing.index + closing[0].length));
  }
  const [, rest] = /^[ \t]*<\/think(?:ing)?>([^]*)$/im.exec(text) ?? [];
  return open || rest === undefined || !/^(?: {0,3}#{1,6}[ \t]|<{5})/m.test(rest) ? text : rest;
}

/** The line of the first section; a section quoted in a preamble is not it if the first section proper follows. */
function anchorOf(lines: string[], form: DocumentForm): number | null {
  const keys = lines.map((line) => titleOf(line).key);
  const [first = ''] = form.keys;
  const found = [
    keys.indexOf(first),
    keys.findIndex((key) => form.keys.has(key)),
    lines.findIndex((line) => isTitle(line, form)),
  ];
  return found.find((index) => index >= 0) ?? null;
}

function titleOf(line: string): ReturnType<typeof readTitle> {
  return readTitle(HEADING.exec(line)?.[1] ?? '');
}

function isTitle(line: string, { title }: DocumentForm): boolean {
  return title?.test(line) ?? false;
}

/** The nearest title above the first section; without one the document begins with the section. */
function titleAbove(lines: string[], anchor: number, form: DocumentForm): number {
  const above = lines.slice(0, anchor + 1);
  const title = above.findLastIndex((line) => isTitle(line, form));
  if (title !== -1) return title;
  // Any other title stands inside the same fence as the section.
  const fence = above.findLastIndex((line) => FENCE.test(line));
  const first = above.findLastIndex((line) => /^ {0,3}#[ \t]+\S/.test(line));
  return first > fence ? first : anchor;
}

/** Headings that belong to the document, not to what a model says about it afterwards. */
function continuesDocument(line: string, form: DocumentForm): boolean {
  return form.keys.has(titleOf(line).key) || /^ {0,3}#+[ \t]+appendix\b/i.test(line);
}

/** The line after the document's last: where a fence or tag around it ends, or a remark about it begins. */
function documentEnd(lines: string[], start: number, last: number): number {
  const above = lines.slice(0, start);
  const isWrapped = above.filter((line) => FENCE.test(line)).length % 2 === 1;
  const lastFence = lines.findLastIndex((line) => FENCE.test(line));
  const isLog = titleOf(lines[last] ?? '').key === REVIEW_LOG_KEY;
  let [isCode, hasTable] = [false, false];
  for (let index = last + 1; index < lines.length; index++) {
    const [previous = '', line = '', next = ''] = lines.slice(index - 1, index + 2);
    hasTable ||= line.startsWith('|');
    if (FENCE.test(line)) {
      // A bare fence with nothing below it, or that nothing closes, ends the one around the document.
      const isBare = /^\s*[`~]+\s*$/.test(line);
      if (!isCode && isBare && (next.trim() === '' || (isWrapped && index === lastFence))) return index;
      isCode = !isCode;
    } else if (!isCode) {
      const tag = /^<\/([a-z][\w-]*)>\s*$/i.exec(line)?.[1];
      const endsTag = tag !== undefined && above.some((one) => one.includes(`<${tag}`));
      // The log is a table only, so any words below it are a remark.
      const isBelowLog = isLog && hasTable && previous.trim() === '' && /^[>*_\s]*\p{L}/u.test(line);
      if (endsTag || isBelowLog || CLOSING_WORDS.test(line) || isRuleAboveRemark(lines, index)) return index;
    }
  }
  return lines.length;
}

function isRuleAboveRemark(lines: string[], index: number): boolean {
  if (!RULE.test(lines[index] ?? '') || lines[index - 1]?.trim() !== '') return false;
  const next = lines.slice(index + 1).find((line) => line.trim() !== '');
  return next !== undefined && (!HEADING.test(next) || CLOSING_WORDS.test(next));
}
