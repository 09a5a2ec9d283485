const MAX_LINE_CHARS = 10_000;
const MOST_LINES = 20_000;
const MOST_CHARS = 4 * 1024 * 1024;

/** Calls back with each line of a text, without its line feed. `ended` is false for the last one if it has no line feed. */
export function splitLines(text: string, onPiece: (piece: string, ended: boolean) => void): void {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    onPiece(text.slice(start, end), true);
    start = end + 1;
  }
  if (start < text.length) onPiece(text.slice(start), false);
}

/** Longer than any encoded form of a secret. */
const LONGEST_SECRET = 4_000;

/**
 * Splits a stream of bytes into lines. A very long line is passed on in pieces, so that it can't fill the memory; no piece ends inside
 * a secret that `mask` hides.
 */
export function createLineReader(
  onLine: (line: string) => void,
  longest = MAX_LINE_CHARS,
  mask?: (text: string) => string,
) {
  const most = longest + (mask === undefined ? 0 : LONGEST_SECRET);
  const decoder = new TextDecoder();
  let rest = '';
  const take = (piece: string, ended: boolean): void => {
    rest += piece;
    if (ended) {
      onLine(rest.replace(/\r$/, ''));
      rest = '';
    }
    if (rest.length > most) rest = mask?.(rest) ?? rest;
    while (rest.length > most) {
      onLine(rest.slice(0, longest));
      rest = rest.slice(longest);
    }
  };
  return {
    push: (piece: Uint8Array): void => splitLines(decoder.decode(piece, { stream: true }), take),
    end(): void {
      splitLines(decoder.decode(), take);
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}

/** Passes lines on up to a limit; then says once that there are more. */
export function boundedLines(pass: (line: string) => void): (line: string) => void {
  let lines = 0;
  let chars = 0;
  let isCut = false;
  return (line) => {
    if (isCut) return;
    lines += 1;
    chars += line.length;
    isCut = lines > MOST_LINES || chars > MOST_CHARS;
    pass(isCut ? '… there is more output than is kept' : line);
  };
}

/**
 * Invisible characters that change how text is read: direction marks, line and paragraph separators, invisible operators and tags.
 * Joiners are allowed, because scripts and emoji need them.
 */
export const UNSEEN =
  /[\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** Colours, cursor movements, titles and links. Removing only the ESC would leave `[31m`. */
const SEQUENCE = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B\][^\u0007\u001B]*(?:\u0007|\u001B\\)/g;

/** Node's own function takes quadratic time for a text with many unfinished titles. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCE, '');
}

/** Text from outside as one line, without control and invisible characters. */
export function oneLine(text: string): string {
  return withoutSequences(text)
    .replace(/[\u2028\u2029]/g, ' ')
    .replace(UNSEEN, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/**
 * Text from outside for GitHub or GitLab, where a mention would notify people and a number would link or close an issue. An invisible
 * character breaks each of them.
 */
export function unlinked(text: string): string {
  return text
    .replace(/@(?=[\w/-])/g, '@\u200B')
    .replace(/#(?=\d)/g, '#\u200B')
    .replace(/\bGH-(?=\d)/gi, (word) => `${word}\u200B`)
    .replace(/:\/\//g, ':\u200B//');
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}

const MOST_LISTED = 20;

/** For one line: the first names, and how many more there are. */
export function listed(files: readonly string[], most = MOST_LISTED): string {
  const more = files.length - most;
  return `${files.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The operating system's codes in words. */
const SYSTEM_REASONS: Record<string, string> = {
  ENOENT: 'it does not exist',
  EEXIST: 'something else is in its place',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
};

/** Explains a code of the operating system; any other reason is already in words. */
export function inWords(reason: string): string {
  return SYSTEM_REASONS[reason] ?? reason;
}

/** A reason as the predicate of a sentence about a file: "is empty", "can't be read: it is a folder". */
export function predicate(reason: string): string {
  const words = SYSTEM_REASONS[reason];
  return words === undefined ? reason : `can't be read: ${words}`;
}

/** Adds a full stop if it is missing. */
export function endSentence(sentence: string): string {
  return /[.?!…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** ` (429)` for an HTTP status. */
export function statusText(code: number | null): string {
  return code === null ? '' : ` (${code})`;
}

/** Escaped like JSON, on one line, and at most 120 characters. */
export function shorten(text: string): string {
  const line = JSON.stringify(text).slice(1, -1);
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}

/** A word for a shell command to copy, quoted if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Splits a line that was made from such words. */
export function wordsOfLine(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|\\'|[^\s'\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|\\'/g, (_, quoted?: string) => quoted ?? "'"),
  );
}

/** Flags with their values, for such a line; without those that have no value. */
export function flagWords(values: Readonly<Record<string, string | number | null | undefined>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [name, shellWord(String(value))],
  );
}

/** Removes these flags and their values. */
export function withoutFlags(words: readonly string[], flags: ReadonlySet<string>): string[] {
  return words.filter((word, index) => !flags.has(word) && !flags.has(words[index - 1] ?? ''));
}
