import type { Nodes } from 'mdast';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import { lineOf, markedText } from './markdown.ts';

const RULE = 'template-text';

/** Finds text of this template, and of usual ones, that was not replaced. */
export function createLeftoverText(template: string): (node: Nodes) => DocumentFinding[] {
  const placeholders = new Set(template.match(/\{\{[^{}]*\}\}/g) ?? []);
  const hints = new Set([...template.matchAll(/<!--([\s\S]*?)-->/g)].map((match) => bare(match[1] ?? '')));

  function inNode(node: Nodes): DocumentFinding[] {
    if (node.type === 'html') return inHtml(node.value, lineOf(node));
    if (node.type === 'code') {
      const found = [...placeholders].find((placeholder) => node.value.includes(placeholder));
      return found === undefined ? [] : [leftover(lineOf(node), found)];
    }
    if (node.type === 'paragraph' || node.type === 'heading' || node.type === 'tableCell') {
      const comments = node.children.flatMap((child) =>
        child.type === 'html' ? hintIn(child.value, lineOf(child)) : [],
      );
      const lines = markedText(node).split('\n');
      return [...comments, ...lines.flatMap((text, index) => inLine(text, lineOf(node) + index))];
    }
    return 'children' in node ? node.children.flatMap((child) => inNode(child)) : [];
  }

  function inLine(text: string, line: number): DocumentFinding[] {
    const ours = [...placeholders].find((placeholder) => text.includes(placeholder));
    const found = ours ?? placeholderIn(text) ?? (text.length > 20 && hints.has(bare(text)) ? text : null);
    return found === null ? [] : [leftover(line, found)];
  }

  function inHtml(value: string, line: number): DocumentFinding[] {
    const text = value.replace(/<!--[\s\S]*?(?:-->|$)/g, '').trim();
    const found = text === '' ? null : placeholderIn(text);
    return [...hintIn(value, line), ...(found === null ? [] : [leftover(line, found)])];
  }

  function hintIn(value: string, line: number): DocumentFinding[] {
    const hint = [...value.matchAll(/<!--([\s\S]*?)-->/g)]
      .map((match) => match[1] ?? '')
      .find((text) => hints.has(bare(text)));
    return hint === undefined
      ? []
      : [warning(RULE, line, `A hint of the template is left over, ${quote(hint)}: delete it.`)];
  }

  return inNode;
}

export function leftover(line: number, text: string): DocumentFinding {
  return error(
    RULE,
    line,
    `Template text is left over, ${quote(text)}: replace it (or put it in backticks if it is meant literally).`,
  );
}

function bare(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}

const HTML_TAGS = new Set(
  (
    'a abbr b big blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption figure font ' +
    'h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q s samp small source span strike strong sub summary sup ' +
    'svg table tbody td tfoot th thead tr tt u ul var video'
  ).split(' '),
);

const WHOLE: RegExp[] = [
  /^(?:tbd|tba|fixme|to be (?:determined|defined|decided|done|announced|filled in|added|written))\W*$/i,
  /^(?:TODO|Todo)\W*$/,
  /^(?:TBD|TODO|FIXME)\s*(?:[:–—(]|-\s)/,
  /^(?:fill (?:this |me )?in|insert \S.* here|your \S.* here|placeholder(?: text)?|0?X{3,}|YYYY-MM-DD|\?{2,})\W*$/i,
  /^\[(?:describe|insert|your|explain|fill|provide|specify|list|add|name|enter|brief|short|link|e\.?g\.?|what|why|how|who|reason|details?|example|optional|if applicable)(?:\s+[^\],]+)\]\W*$/i,
  /^\[(?:description|placeholder|title|summary|name|date|author|tbd|todo|path|file|reason|details?|text|\.{3}|…)\]\W*$/i,
];

const INSIDE: RegExp[] = [
  /\{\{[^{}\n]*\}\}/,
  /\[(?:(?:describe|explain|fill in|provide|specify|insert|your|replace with|replace this)\s[^\]]*|tbd|todo|placeholder)\](?!\()/i,
  /<(?:insert|describe|your|fill|enter|specify|todo|tbd|placeholder|add your|replace)\b[^>\n]*>/i,
  /\blorem ipsum\b/i,
];

/**
 * The placeholder in a piece of text (a cell, an item, a line of a paragraph; inline code in backticks), or null. A
 * whole piece, or what follows its label, is judged more strictly than words inside a sentence.
 */
export function placeholderIn(text: string): string | null {
  const prose = text.replace(/`[^`]*`/g, '`…`');
  const inside = INSIDE.map((pattern) => pattern.exec(prose)?.[0]).find((match) => match !== undefined);
  if (inside !== undefined) return inside;
  const value = prose.replace(/^\W*[\p{L}][\p{L}\s]{0,30}:\**\s+(?=\S)/u, '').trim();
  for (const piece of [prose.trim(), value]) {
    if (WHOLE.some((pattern) => pattern.test(piece)) || isUnknownTag(piece)) return piece;
  }
  return null;
}

/** `<description>` alone; `<br>` and `<T>` are none. */
function isUnknownTag(piece: string): boolean {
  const tag = /^<([A-Za-z][\w -]*)>\W*$/.exec(piece)?.[1];
  if (tag === undefined || tag.length === 1) return false;
  return !HTML_TAGS.has((tag.split(' ')[0] ?? '').toLowerCase());
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
 * left in what belongs to a prompt. Code is not looked at: a quotation of a file may well leave something out.
 */
export function elisionsIn(text: string): DocumentFinding[] {
  let fence: string | null = null;
  return text.split('\n').flatMap((line, index) => {
    const mark = /^\s*(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null;
    if (fence !== null || mark !== undefined) return [];
    const elided = leftOutIn(line);
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
