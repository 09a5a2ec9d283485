const MAX_LINE_CHARS = 10_000;
const MOST_LINES = 20_000;
const MOST_CHARS = 4 * 1024 * 1024;

/** Hands over each line of a text, without its line feed; the last one, which has none, as not ended. */
export function splitLines(text: string, onPiece: (piece: string, ended: boolean) => void): void {
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
    onPiece(text.slice(start, end), true);
    start = end + 1;
  }
  if (start < text.length) onPiece(text.slice(start), false);
}

export interface LineReader {
  push(piece: Uint8Array): void;
  end(): void;
}

/** Longer than any form of a secret. */
const LONGEST_SECRET = 4_000;

/**
 * Cuts a stream of bytes into lines. A line that does not end is passed on in pieces, so that it can't fill the memory; none
 * of its cuts is inside of what `mask` hides.
 */
export function createLineReader(
  onLine: (line: string) => void,
  longest = MAX_LINE_CHARS,
  mask?: (text: string) => string,
): LineReader {
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
    push: (piece) => splitLines(decoder.decode(piece, { stream: true }), take),
    end() {
      splitLines(decoder.decode(), take);
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}

/** Passes lines on until there are more than anybody reads; then says so once. */
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
 * What is not seen and changes how the rest is read: marks that turn the direction of text, separators of lines and
 * paragraphs, invisible operators and tags. Joiners stay: scripts and emoji need them.
 */
export const UNSEEN =
  /[\u061C\u180E\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E007F}]/gu;

/** Colours, cursor movements, titles and links, whole: without their ESC, `[31m` would be left to read. */
const SEQUENCE = /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B\][^\u0007\u001B]*(?:\u0007|\u001B\\)/g;

/** Node's own function for it takes the square of the length of a text that begins titles and ends none. */
export function withoutSequences(text: string): string {
  return text.replace(SEQUENCE, '');
}

/** Text from outside as one line, without what could move the cursor or is not seen. */
export function oneLine(text: string): string {
  return withoutSequences(text)
    .replace(/[\u2028\u2029]/g, ' ')
    .replace(UNSEEN, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/**
 * Text from outside for a place where a service gives words a meaning: a mention that would notify people, a number that would link
 * an issue, or close it. Each is broken by an invisible character.
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

/** Names for one line; of many, the first. */
export function listed(files: readonly string[], most = MOST_LISTED): string {
  const more = files.length - most;
  return `${files.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What the operating system's codes mean to a person; any other reason is in words already. */
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

/** What a code of the operating system means. */
export function inWords(reason: string): string {
  return SYSTEM_REASONS[reason] ?? reason;
}

/** For reasons that continue the sentence after the file's name: "is empty", but "can't be read: it is a folder". */
export function predicate(reason: string): string {
  const words = SYSTEM_REASONS[reason];
  return words === undefined ? reason : `can't be read: ${words}`;
}

/** With a full stop, unless it has one. */
export function endSentence(sentence: string): string {
  return /[.?!…]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** Of an HTTP answer, where there was one. */
export function statusText(code: number | null): string {
  return code === null ? '' : ` (${code})`;
}

/** As JSON writes it, without the quotes: one line, and not longer than a line. */
export function shorten(text: string): string {
  const line = JSON.stringify(text).slice(1, -1);
  return line.length > 120 ? `${line.slice(0, 117)}…` : line;
}

/** A word for a line to copy into a shell: quoted where it has to be. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The words of a line that was put together from such words. */
export function wordsOfLine(line: string): string[] {
  return [...line.matchAll(/(?:'[^']*'|\\'|[^\s'\\])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|\\'/g, (_, quoted?: string) => quoted ?? "'"),
  );
}

/** Flags with their values, for such a line; those without a value are left out. */
export function flagWords(values: Readonly<Record<string, string | number | null | undefined>>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [name, shellWord(String(value))],
  );
}

/** Of the words of a command line, these flags with their values. */
export function onlyFlags(words: readonly string[], flags: ReadonlySet<string>): string[] {
  return words.filter((word, index) => flags.has(word) || flags.has(words[index - 1] ?? ''));
}

/** The words of a command line without these flags and their values. */
export function withoutFlags(words: readonly string[], flags: ReadonlySet<string>): string[] {
  return words.filter((word, index) => !flags.has(word) && !flags.has(words[index - 1] ?? ''));
}
