import { type Fields, textOf } from '../../models/json-fields.ts';

const MAX_LINE_CHARS = 400;

/** The lines of a text that say something, none of them too long. */
export function linesOf(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => shortened(line.trimEnd()));
}

/** Of all that a tool is given, what tells a person the most; in the order of preference. */
const TELLING = ['file_path', 'path', 'absolute_path', 'notebook_path', 'command', 'cmd', 'pattern', 'query', 'url'];

/** `Write src/a.ts`, `Bash npm test`. */
export function toolLine(name: string, input: Fields): string {
  const told = [...TELLING, 'description', 'prompt'].map((field) => textOf(input[field])).find(Boolean) ?? '';
  return shortLine(`${name} ${told}`);
}

export function shortLine(text: string): string {
  return shortened(text.replaceAll(/\s+/g, ' ').trim());
}

function shortened(line: string): string {
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 1)}…` : line;
}
