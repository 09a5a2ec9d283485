import type { Nodes } from 'mdast';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import { codeIn, lineOf, markedText, parseMarkdown } from './markdown.ts';
import type { DocumentSection } from './sections.ts';

const RULE = 'template-text';
const COMMENT = /<!--([\s\S]*?)(?:-->|$)/g;

/** Finds text of this template, and of usual ones, that was not replaced. */
export function createLeftoverText(template: string): (node: Nodes) => DocumentFinding[] {
  const placeholders = template.match(/\{\{[^{}]*\}\}/g) ?? [];
  const hints = new Set([...template.matchAll(COMMENT)].map((match) => bare(match[1] ?? '')));
  const oursIn = (text: string) => placeholders.find((placeholder) => text.includes(placeholder)) ?? null;
  const inText = (text: string, line: number): DocumentFinding[] => {
    const found = oursIn(text) ?? placeholderIn(text) ?? (text.length > 20 && hints.has(bare(text)) ? text : null);
    return found === null ? [] : [leftover(line, found)];
  };
  return function inNode(node: Nodes): DocumentFinding[] {
    const line = lineOf(node);
    if (node.type === 'html') {
      const hint = [...node.value.matchAll(COMMENT)].map(([, text = '']) => text).find((text) => hints.has(bare(text)));
      const message = `A hint of the template is left over, ${quote(hint ?? '')}: delete it.`;
      const hinted = hint === undefined ? [] : [warning(RULE, line, message)];
      return [...hinted, ...inText(node.value.replace(COMMENT, ''), line)];
    }
    if (node.type === 'code') return oursIn(node.value) === null ? [] : inText(oursIn(node.value) ?? '', line);
    if (node.type !== 'paragraph' && node.type !== 'heading' && node.type !== 'tableCell')
      return 'children' in node ? node.children.flatMap(inNode) : [];
    const comments = node.children.filter((child) => child.type === 'html' && child.value.startsWith('<!--'));
    const lines = markedText(node).split('\n');
    return [...comments.flatMap(inNode), ...lines.flatMap((text, index) => inText(text, line + index))];
  };
}

export function leftover(line: number, text: string): DocumentFinding {
  const advice = 'replace it (or put it in backticks if it is meant literally)';
  return error(RULE, line, `Template text is left over, ${quote(text)}: ${advice}.`);
}

function bare(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

/** Anywhere in a sentence. */
const INSIDE =
  /\{\{[^{}\n]*\}\}|\[(?:(?:describe|explain|fill in|provide|specify|insert|your|replace (?:with|this))\s[^\]]*|tbd|todo|placeholder)\](?!\()|<(?:insert|describe|your|fill|enter|specify|todo|tbd|placeholder|replace)\b[^>\n]*>|\blorem ipsum\b/i;
/** As all that a cell, an item or a line says, or all that follows its label. */
const WHOLE: RegExp[] = [
  /^(?:tbd|tba|fixme|to be (?:determined|defined|decided|done|written|added)|placeholder(?: text)?|\?{2,})\W*$/i,
  /^(?:TODO|Todo)\W*$/,
  /^(?:TBD|TODO|FIXME)\s*(?:[:–—(]|-\s)/,
  /^\[(?:description|title|summary|name|date|author|path|file|reason|text|\.{3}|…)\]\W*$/i,
  /^<(?!(?:br|hr|p|b|i|a|details|summary|div|img|table|sub|sup|kbd|code|pre|span)\b)[A-Za-z][\w -]+>\W*$/i,
];

/** The placeholder in a piece of text (inline code in backticks), or null. */
function placeholderIn(text: string): string | null {
  const prose = text.replace(/`[^`]*`/g, '`…`').trim();
  const value = prose.replace(/^\W*[\p{L}][\p{L}\s]{0,30}:\**\s+(?=\S)/u, '');
  const isWhole = (piece: string): boolean => WHOLE.some((pattern) => pattern.test(piece));
  return INSIDE.exec(prose)?.[0] ?? [prose, value].find(isWhole) ?? null;
}

/** Words that stand for text that is not there. */
const LEFT_OUT =
  /\b(?:unchanged|unmodified|omitted|elided|truncated|abbreviated|for brevity|not shown|(?:the )?same as (?:before|above|(?:in )?(?:the )?(?:previous|prior|original|last|earlier|current|existing))|(?:as|like) (?:before|above|is)|as in the (?:previous|prior|original|last|earlier|current)|no changes?|rest of (?:the |this )?(?:document|section|lld|draft|file|table|content)|(?:remaining|other|existing|previous) (?:sections?|rows?|content|text|entries|scenarios|requirements)(?: here| continue| go here)?(?=\W*$))(?!\w)/i;
/** In a table, in italics or in brackets of any kind, alone in its place: what a writer does who saves words. */
const MARKED =
  /^(?:\*{1,2}|_{1,2})?\s*(?:\[(?!x?\])(.*)\]|\((.*)\)|<!--(.*)-->|<([^<>]*)>|(?:\.{3}|…)(.*))\s*\.?(?:\*{1,2}|_{1,2})?$|^(?:\*|_)([^*_]+)(?:\*|_)$/;
const MOST_WORDS = 12;

/** What a prompt puts around its material, and the marks of an edit: no document has them on a line of their own. */
const PROMPT_REMAINS =
  /^\s*(?:<\/?(?:issue|brief|repository|template|draft|review|lld|coverage|check-warnings|findings-ledger|your-review|your-last-reply|changes-since-last-round)-*>|<{7} SEARCH|>{7} REPLACE)\s*$/;

/**
 * `elided-text`: a writer left out what should be here (`*(unchanged)*`, `[Rest as before]`, `<!-- same as above -->`), or
 * left in what belongs to a prompt. Code is not looked at: a quotation of a file may well leave something out. The review
 * log cites what reviewers found, so that words like these may stand in it.
 */
export function elisionsIn(text: string, log: DocumentSection | undefined): DocumentFinding[] {
  const isCode = new Set(
    codeIn(parseMarkdown(text)).flatMap(({ position: { start, end } = { start: { line: 0 }, end: { line: 0 } } }) =>
      Array.from({ length: end.line - start.line + 1 }, (_, index) => start.line + index),
    ),
  );
  return text.split('\n').flatMap((line, index) => {
    if (isCode.has(index + 1)) return [];
    const isLog = log !== undefined && index + 1 >= log.line && index + 1 <= log.line + log.lines;
    const elided = isLog ? null : leftOutIn(line);
    if (elided !== null) {
      const message = `Text is left out, ${quote(elided)}: write the whole text, a reader of this document has no other.`;
      return [error('elided-text', index + 1, message)];
    }
    return PROMPT_REMAINS.test(line)
      ? [error('elided-text', index + 1, `A line of the prompt is left over, ${quote(line)}: delete it.`)]
      : [];
  });
}

/** The words in a line that stand for text that is not there, or null. */
export function leftOutIn(line: string): string | null {
  const cells = new Set(
    line
      .replace(/^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/, '')
      .split(line.trimStart().startsWith('|') ? '|' : '\n')
      .map((cell) => cell.trim())
      .filter((cell) => cell !== '' && !/^(?:\.{3}|…|-)$/.test(cell)),
  );
  const [piece] = cells;
  if (piece === undefined || cells.size > 1) return null;
  const words =
    MARKED.exec(piece)
      ?.slice(1)
      .find((inside) => inside !== undefined) ?? '';
  return LEFT_OUT.test(words) && words.trim().split(/\s+/).length <= MOST_WORDS ? piece : null;
}

/** A template with the title of what it is for and, under its title, all that was said about it. */
export function filledTemplate(
  template: string,
  { id, title, body, note }: { id: string; title: string; body: string; note: string },
): string {
  const named = template
    .replace(/\{\{issue id\}\}/g, () => id)
    .replace(/\{\{(?:issue )?title[^{}]*\}\}/g, () => title.replace(/\s+/g, ' ').trim());
  const [heading = '', ...rest] = named.trim().split('\n');
  // A quotation: headings and tables of the issue are not taken for those of the document.
  const quoted = [note, '', ...body.trim().split('\n')].map((line) => `> ${line}`.trimEnd());
  return [heading, '', ...quoted, ...rest, ''].join('\n');
}
