/**
 * Plain text (a test's name, a message, a path) as Markdown that shows exactly that, on one line, in a table or a list.
 * What is longer than `most` characters is cut.
 */
export function asText(text: string, most = Number.POSITIVE_INFINITY): string {
  return (
    oneLine(text, most)
      .replace(/[\\`*~[<|]/g, '\\$&')
      // Inside a word an underscore is only an underscore.
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
  // In a table nothing inside a code span can stand for a backslash before a pipe.
  if (/\\(?:\||$)/.test(line)) return asText(line);
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const inner = line.replace(/\|/g, '\\|');
  return /^`|`$/.test(line) ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
}

/** Cells are Markdown already, from `asText` or `asCode`; an empty one shows a dash. */
export function tableOf(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell || '–').join(' | ')} |`;
  return [line(header), `|${header.map(() => ' --- |').join('')}`, ...rows.map(line)].join('\n');
}

function oneLine(text: string, most: number): string {
  const line = text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}
