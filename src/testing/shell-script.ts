/*
 * As much of the shell's grammar as it takes to find a command in a script and to change its arguments, leaving every
 * other character as it was. Quotes, escapes, substitutions and redirections are understood; here-documents are not.
 */

export interface ShellWord {
  /** Without its quotes. */
  text: string;
  start: number;
  end: number;
}

/** A program with its arguments; assignments in front of it are its first words. */
export type ShellCommand = readonly ShellWord[];

export interface Edit {
  start: number;
  end: number;
  text: string;
}

const SEPARATORS = new Set(['&', '|', ';', '\n', '(', ')']);

export function shellCommands(script: string): ShellCommand[] {
  const commands: ShellWord[][] = [[]];
  let at = 0;
  /** The next word is a file that something is redirected to. */
  let isTarget = false;
  while (at < script.length) {
    const char = script[at] ?? '';
    if (char === ' ' || char === '\t') {
      at += 1;
    } else if (char === '\\' && script[at + 1] === '\n') {
      at += 2;
    } else if (char === '>' || char === '<') {
      while (/[<>&|]/.test(script[at] ?? '')) at += 1;
      isTarget = true;
    } else if (SEPARATORS.has(char)) {
      at += 1;
      isTarget = false;
      commands.push([]);
    } else {
      const word = readWord(script, at);
      at = word.end;
      const isDescriptor = /^\d+$/.test(word.text) && /[<>]/.test(script[at] ?? '');
      if (!isTarget && !isDescriptor) commands.at(-1)?.push(word);
      isTarget = false;
    }
  }
  return commands.map(withoutReserved).filter((words) => words.length > 0);
}

const RESERVED = new Set(['{', '}', '!', 'if', 'then', 'else', 'fi', 'do', 'done', 'while', 'time', 'exec']);

function withoutReserved(words: ShellWord[]): ShellWord[] {
  const first = words.findIndex((word) => !RESERVED.has(word.text));
  return first < 0 ? [] : words.slice(first);
}

function readWord(script: string, start: number): ShellWord {
  let text = '';
  let at = start;
  while (at < script.length) {
    const char = script[at] ?? '';
    if (/\s/.test(char) || SEPARATORS.has(char) || char === '>' || char === '<') break;
    if (char === "'") {
      const close = script.indexOf("'", at + 1);
      const end = close < 0 ? script.length : close;
      text += script.slice(at + 1, end);
      at = end + 1;
    } else if (char === '"') {
      at += 1;
      while (at < script.length && script[at] !== '"') {
        if (script[at] === '\\' && /["\\$`]/.test(script[at + 1] ?? '')) at += 1;
        text += script[at] ?? '';
        at += 1;
      }
      at += 1;
    } else if (char === '\\') {
      text += script[at + 1] ?? '';
      at += 2;
    } else if (char === '`' || (char === '$' && script[at + 1] === '(')) {
      const end = char === '`' ? script.indexOf('`', at + 1) + 1 || script.length : endOfSubstitution(script, at + 1);
      text += script.slice(at, end);
      at = end;
    } else {
      text += char;
      at += 1;
    }
  }
  return { text, start, end: Math.min(at, script.length) };
}

function endOfSubstitution(script: string, open: number): number {
  let depth = 0;
  for (let at = open; at < script.length; at += 1) {
    if (script[at] === '(') depth += 1;
    if (script[at] === ')') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return script.length;
}

/** The edits don't overlap; those at the same place keep their order. */
export function edited(script: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += script.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + script.slice(at);
}

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function isAssignment(text: string): boolean {
  return /^[A-Za-z_]\w*=/.test(text);
}
