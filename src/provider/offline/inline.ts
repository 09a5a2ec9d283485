/** Words of an issue, made safe to stand inside a list item or a table cell of a document, and still readable as written. */

const LONGEST = 300;
const CODE_OR_BRACES = /(`[^`]+`|\{\{[^{}]*\}\})/;

/** One line without control characters, cut at a length that a table can bear. */
function oneLine(text: string, longest = LONGEST): string {
  const flat = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\uFEFF]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  // A cut must not leave half of a character.
  const cut = flat.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '');
  return flat.length > longest ? `${cut.trimEnd()}…` : flat;
}

/** Code spans stay code, double braces become code; all else is escaped so that it is only text. */
export function inline(text: string, longest = LONGEST): string {
  const markdown = oneLine(text, longest)
    .split(CODE_OR_BRACES)
    .map((piece) => {
      const code =
        /^`([^`]+)`$/.exec(piece)?.[1]?.trim() ?? (piece.startsWith('{{') && !piece.includes('`') ? piece : '');
      // A bar would end the table's cell, even inside code.
      return code === '' || code.includes('|') ? escaped(piece) : `\`${code}\``;
    })
    .join('');
  // At the beginning these would start a list, a heading or a quotation.
  return markdown.replace(/^([-+=#>])/, '\\$1').replace(/^(\d{1,9})([.)])/, '$1\\$2');
}

function escaped(text: string): string {
  return text.replace(/[\\`*_[\]<>|~]/g, '\\$&').replace(/&(?=#?\w+;)/g, '\\&');
}

/** A fenced block that shows lines as they are; braces of templates are set apart so that nobody takes them for one. */
export function quotedBlock(lines: readonly string[]): string[] {
  const shown = lines.map((line) => oneLine(line, 2000).replaceAll('{{', '{ {'));
  const longestRun = Math.max(2, ...shown.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length)));
  const fence = '`'.repeat(longestRun + 1);
  return [`${fence}text`, ...shown, fence];
}
