/** Escapes plain text (a test's name, a message, a path) for one line of a table or a list, cut to `most` characters. */
export function asText(text: string, most = Number.POSITIVE_INFINITY): string {
  return (
    oneLine(text, most)
      .replace(/[\\`*~[<|]/g, '\\$&')
      // An underscore inside a word is not markup.
      .replace(/(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/g, '\\_')
      .replace(/&(?=#?\w+;)/g, '\\&')
      .replace(/^[#>+=-]/, '\\$&')
      .replace(/^(\d{1,9})([.)])(?= |$)/, '$1\\$2')
  );
}

/** The same as code, for names that people copy. */
export function asCode(text: string, most = Number.POSITIVE_INFINITY): string {
  const line = oneLine(text, most);
  if (line === '') return '';
  // A code span in a table can't show a backslash before a pipe.
  if (/\\(?:\||$)/.test(line)) return asText(line);
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const inner = line.replace(/\|/g, '\\|');
  return /^`|`$/.test(line) ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
}

export function oneLine(text: string, most = Number.POSITIVE_INFINITY): string {
  const line = text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

/** A Markdown table. An empty cell becomes a dash, a cell of several lines becomes one, and bars are escaped. */
export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => tableCell(cell) || '–').join(' | ')} |`;
  const rule = header.map((title) => `${'-'.repeat(title.length + 2)}|`).join('');
  return [line(header), `|${rule}`, ...rows.map(line)].join('\n');
}

function tableCell(text: string): string {
  const lines = text
    .split('\n')
    .map((line, index) => (index === 0 ? line : line.trim().replace(/^[-*]\s+/, '')).trim());
  return lines
    .filter((line) => line !== '')
    .join(' ')
    .replace(/(?<!\\)\|/g, '\\|');
}
