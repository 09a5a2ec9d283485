import { codeIn } from '../markdown/markdown.ts';
import { type DocumentFinding, error, quote, warning } from './finding.ts';
import type { ParsedDocument } from './sections.ts';

const RULE = 'template-text';
const COMMENT = /<!--([\s\S]*?)(?:-->|$)/g;

/**
 * `template-text` and `elided-text`: placeholders and hints of this template and of common ones that were not replaced, text that
 * was left out, and remains of a prompt. In code only placeholders of this template count, because a quoted file may be
 * shortened. The review log may have all but a prompt, because it quotes findings.
 */
export function checkLeftovers({ text, root, sections }: ParsedDocument, template: string): DocumentFinding[] {
  const placeholders = template.match(/\{\{[^{}]*\}\}/g) ?? [];
  const hints = new Set([...template.matchAll(COMMENT)].map((match) => bare(match[1] ?? '')));
  const oursIn = (line: string) => placeholders.find((placeholder) => line.includes(placeholder)) ?? null;
  const isHint = (said: string): boolean => said.length > 20 && hints.has(bare(said));
  const log = sections.find(({ id }) => id === 'log');
  const blocks = codeIn(root).map(({ position }) => [position?.start.line ?? 1, position?.end.line ?? 0] as const);
  const inCode = new Set(
    blocks.flatMap(([first, last]) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
  );
  const prose = text.replace(COMMENT, (comment) => comment.replace(/[^\n]/g, ' ')).split('\n');
  const tags = new Set<string>();
  return text.split('\n').flatMap((given, index) => {
    const line = index + 1;
    const said = prose[index] ?? '';
    const isLog = log !== undefined && line >= log.line && line <= log.line + log.lines;
    if (inCode.has(line)) {
      const ours = isLog ? null : oursIn(given);
      return ours === null ? [] : [leftover(line, ours)];
    }
    const findings: DocumentFinding[] = [];
    if (!isLog) {
      const hint = [...given.matchAll(COMMENT)].find(([, comment = '']) => isHint(comment))?.[1];
      if (hint) findings.push(warning(RULE, line, `A hint of the template was left in, ${quote(hint)}: delete it.`));
      const left = oursIn(said) ?? cellsOf(said).map(placeholderIn).find(Boolean) ?? (isHint(said) ? said : null);
      // A row says what it is about; only its state is open.
      const isState = said.trimStart().startsWith('|') && /^TODO\b/.test(left ?? '');
      if (left !== null) findings.push({ ...leftover(line, left), ...(isState ? { severity: 'warning' } : {}) });
      const elided = leftOutIn(given);
      const why = 'write it in full, because readers see no other version';
      if (elided !== null) findings.push(error('elided-text', line, `Text was left out, ${quote(elided)}: ${why}.`));
    }
    const [remains, tag = given] = PROMPT_REMAINS.exec(given) ?? [];
    // The end of a tag is the same mistake as its beginning.
    if (remains !== undefined && tags.size < tags.add(tag).size)
      findings.push(error('elided-text', line, `A line of the prompt was left in, ${quote(given)}: delete it.`));
    return findings;
  });
}

/** The cells of a row, or the words of a line, without markup. */
function cellsOf(line: string): string[] {
  const words = line.replace(/^\s*(?:(?:#{1,6}|[-*+>]|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?/, '');
  const plain = words.replace(/\*+|(?<!\w)_+|_+(?!\w)|~~/g, '');
  return plain.startsWith('|') ? plain.split(/(?<!\\)\|/) : [plain];
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
  /^(?:tbd|tba|fixme|to be (?:determined|defined|decided|done|written|added)|placeholder|\?{2,})\W*$/i,
  /^(?:TODO|Todo)\W*$/,
  /^(?:TBD|TODO|FIXME)\s*(?:[:–—(]|-\s)/,
  /^\[(?:description|title|summary|name|date|author|path|file|reason|text|\.{3}|…)\]\W*$/i,
  /^\{[A-Za-z][\w ,/-]*\}\W*$/,
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
  /\b(?:unchanged|unmodified|omitted|elided|truncated|abbreviated|for brevity|not shown|(?:the )?same as (?:before|above|(?:in )?(?:the )?(?:previous|prior|original|last|earlier|current|existing))|(?:as|like)[- ](?:before|above|is)|as in the (?:previous|prior|original|last|earlier|current)|(?:see|from|in) (?:the )?(?:previous|prior|original|last|earlier) (?:version|draft|lld|document|revision)|no changes?(?=\W*$)|rest of (?:the |this )?(?:document|section|lld|draft|file|table|content)|(?:remaining|other|existing|previous) (?:sections?|rows?|content|code|text|entries|scenarios|requirements)(?: here| continue| go here)?(?=\W*$))(?!\w)/i;
/** Italics or brackets of any kind around the whole line. */
const MARKED =
  /^(?:\*{1,2}|_{1,2})?\s*(?:\[(?!x?\])(.*)\]|\((.*)\)|<!--(.*)-->|<([^<>]*)>|(?:\/\/|#)?\s*(?:\.{3}|…)(.*))\s*\.?(?:\*{1,2}|_{1,2})?$|^(?:\*|_)([^*_]+)(?:\*|_)$/;
const MOST_WORDS = 12;

/** Tags of a prompt, marks of an edit and what a prompt says. No document has them at the start of a line. */
const PROMPT_REMAINS =
  /^\s*(?:<\/?((?:issue|brief|repository|template|draft|review|lld|coverage|check-warnings|findings-ledger|your-review|your-last-reply|changes-since-last-round)-*)>\s*$|<{7} SEARCH\s*$|>{7} REPLACE\s*$|You are (?:an?|the) (?:[\w-]+ ){0,4}(?:architect|engineer|developer|drafter|designer|reviewer|assistant)\b|Write the LLD for issue\b|Reply with (?:the whole document|edits)\b)/;

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
