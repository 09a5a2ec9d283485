import type { Nodes } from 'mdast';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import { codeIn, lineOf, parseMarkdown, proseIn, type TextLine } from './markdown.ts';
import type { DocumentSection } from './sections.ts';

const RULE = 'template-text';
const COMMENT = /<!--([\s\S]*?)(?:-->|$)/g;

/** Finds placeholders and hints of this template, and placeholders of common ones, that were not replaced. */
export function createLeftoverText(template: string): (node: Nodes) => DocumentFinding[] {
  const placeholders = template.match(/\{\{[^{}]*\}\}/g) ?? [];
  const hints = new Set([...template.matchAll(COMMENT)].map((match) => bare(match[1] ?? '')));
  const oursIn = (text: string) => placeholders.find((placeholder) => text.includes(placeholder)) ?? null;
  const isHint = (text: string): boolean => text.length > 20 && hints.has(bare(text));
  return (node) => {
    const html = htmlIn(node);
    const own = node.type === 'html' ? node.value.replace(COMMENT, '') : '';
    const hinted = html.flatMap(({ text, line }) =>
      [...text.matchAll(COMMENT)]
        .map(([, said = '']) => ({ text: said, line }))
        .filter(({ text: said }) => isHint(said)),
    );
    const found = [...proseIn(node), { text: own, line: lineOf(node) }].flatMap(({ text, line }) => {
      const said = oursIn(text) ?? placeholderIn(text) ?? (isHint(text) ? text : null);
      return said === null ? [] : [leftover(line, said)];
    });
    return [
      ...hinted.map(({ text, line }) =>
        warning(RULE, line, `A hint of the template was left in, ${quote(text)}: delete it.`),
      ),
      ...found,
      ...codeIn(node).flatMap((code) => {
        const said = oursIn(code.value);
        return said === null ? [] : [leftover(lineOf(code), said)];
      }),
    ];
  };
}

function htmlIn(node: Nodes): TextLine[] {
  if (node.type === 'html') return [{ text: node.value, line: lineOf(node) }];
  return 'children' in node ? node.children.flatMap((child: Nodes) => htmlIn(child)) : [];
}

export function leftover(line: number, text: string): DocumentFinding {
  const advice = 'replace it, or put it in backticks if it is meant literally';
  return error(RULE, line, `Template text was not replaced, ${quote(text)}: ${advice}.`);
}

function bare(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** Placeholders anywhere in a sentence. */
const INSIDE =
  /\{\{[^{}\n]*\}\}|\[(?:(?:describe|explain|fill in|provide|specify|insert|your|replace (?:with|this))\s[^\]]*|tbd|todo|placeholder)\](?!\()|<(?:insert|describe|your|fill|enter|specify|todo|tbd|placeholder|replace)\b[^>\n]*>|\blorem ipsum\b/i;
/** Placeholders that are all of a cell, an item or a line, or all that follows its label. */
const WHOLE: RegExp[] = [
  /^(?:tbd|tba|fixme|to be (?:determined|defined|decided|done|written|added)|placeholder(?: text)?|\?{2,})\W*$/i,
  /^(?:TODO|Todo)\W*$/,
  /^(?:TBD|TODO|FIXME)\s*(?:[:–—(]|-\s)/,
  /^\[(?:description|title|summary|name|date|author|path|file|reason|text|\.{3}|…)\]\W*$/i,
  /^<(?!(?:br|hr|p|b|i|a|details|summary|div|img|table|sub|sup|kbd|code|pre|span)\b)[A-Za-z][\w -]+>\W*$/i,
];

function placeholderIn(text: string): string | null {
  const prose = text.replace(/`[^`]*`/g, '`…`').trim();
  const value = prose.replace(/^\W*[\p{L}][\p{L}\s]{0,30}:\**\s+(?=\S)/u, '');
  const isWhole = (piece: string): boolean => WHOLE.some((pattern) => pattern.test(piece));
  return INSIDE.exec(prose)?.[0] ?? [prose, value].find(isWhole) ?? null;
}

/** Words in place of text. */
const LEFT_OUT =
  /\b(?:unchanged|unmodified|omitted|elided|truncated|abbreviated|for brevity|not shown|(?:the )?same as (?:before|above|(?:in )?(?:the )?(?:previous|prior|original|last|earlier|current|existing))|(?:as|like) (?:before|above|is)|as in the (?:previous|prior|original|last|earlier|current)|no changes?|rest of (?:the |this )?(?:document|section|lld|draft|file|table|content)|(?:remaining|other|existing|previous) (?:sections?|rows?|content|text|entries|scenarios|requirements)(?: here| continue| go here)?(?=\W*$))(?!\w)/i;
/** Italics or brackets of any kind around the whole line. */
const MARKED =
  /^(?:\*{1,2}|_{1,2})?\s*(?:\[(?!x?\])(.*)\]|\((.*)\)|<!--(.*)-->|<([^<>]*)>|(?:\.{3}|…)(.*))\s*\.?(?:\*{1,2}|_{1,2})?$|^(?:\*|_)([^*_]+)(?:\*|_)$/;
const MOST_WORDS = 12;

/** Tags of a prompt and marks of an edit. No document has them on a line of their own. */
const PROMPT_REMAINS =
  /^\s*(?:<\/?(?:issue|brief|repository|template|draft|review|lld|coverage|check-warnings|findings-ledger|your-review|your-last-reply|changes-since-last-round)-*>|<{7} SEARCH|>{7} REPLACE)\s*$/;

/**
 * `elided-text`: a writer left text out (`*(unchanged)*`, `[Rest as before]`, `<!-- same as above -->`), or left a part of the
 * prompt in. Code is skipped, because a quoted file may be shortened; the review log is skipped, because it quotes findings.
 */
export function elisionsIn(text: string, log: DocumentSection | undefined): DocumentFinding[] {
  const lines = text.split('\n');
  for (const { position } of codeIn(parseMarkdown(text))) {
    const { start, end } = position ?? { start: { line: 1 }, end: { line: 0 } };
    lines.fill('', start.line - 1, end.line);
  }
  return lines.flatMap((said, index) => {
    const line = index + 1;
    const isLog = log !== undefined && line >= log.line && line <= log.line + log.lines;
    const elided = isLog ? null : leftOutIn(said);
    const message =
      elided === null
        ? `A line of the prompt was left in, ${quote(said)}: delete it.`
        : `Text was left out, ${quote(elided)}: write it in full, because readers see no other version.`;
    return elided === null && !PROMPT_REMAINS.test(said) ? [] : [error('elided-text', line, message)];
  });
}

/** The words in place of text in a line, or null. A row of a table must have nothing else in it. */
export function leftOutIn(line: string): string | null {
  const [piece, ...others] = new Set(
    line
      .replace(/^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/, '')
      .split(line.trimStart().startsWith('|') ? '|' : '\n')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '' && !/^(?:\.{3}|…|-)$/.test(cell)),
  );
  const inside = (MARKED.exec(piece ?? '') ?? []).slice(1).find((words) => words !== undefined) ?? '';
  const isLeftOut = LEFT_OUT.test(inside) && inside.trim().split(/\s+/).length <= MOST_WORDS;
  return piece !== undefined && others.length === 0 && isLeftOut ? piece : null;
}

/** A template with the issue's title filled in and the issue's text quoted below it. */
export function filledTemplate(
  template: string,
  { id, title, body, note }: { id: string; title: string; body: string; note: string },
): string {
  const named = template
    .replace(/\{\{issue id\}\}/g, () => id)
    .replace(/\{\{(?:issue )?title[^{}]*\}\}/g, () => title.replace(/\s+/g, ' ').trim());
  const [heading = '', ...rest] = named.trim().split('\n');
  // In a quotation, headings and tables of the issue are not taken for those of the document.
  const quoted = [note, '', ...body.trim().split('\n')].map((line) => `> ${line}`.trimEnd());
  return [heading, '', ...quoted, ...rest, ''].join('\n');
}
