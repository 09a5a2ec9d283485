import { basename } from 'node:path';
import type { RunnerName } from './port.ts';

/*
 * As much of the shell's grammar as it takes to find the test runner in a script and to change its arguments, leaving every
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

const QUOTED = String.raw`'[^']*'?|"(?:\\[^]|[^"\\])*"?|\\[^]`;
const SUBSTITUTED = String.raw`\`[^\`]*\`?|\$\((?:[^()]|\([^()]*\))*\)?`;
const PIECE = new RegExp(`${QUOTED}|${SUBSTITUTED}`, 'g');
const TOKEN = new RegExp(
  String.raw`\\\n|(?<redirection>\d*[<>][<>&|]*)|(?<separator>[&|;()\n])|(?<word>(?:${QUOTED}|${SUBSTITUTED}|[^\s&|;()<>])+)`,
  'g',
);
const RESERVED = new Set(['{', '}', '!', 'if', 'then', 'else', 'fi', 'do', 'done', 'while', 'time', 'exec']);

export function shellCommands(script: string): ShellCommand[] {
  const commands: ShellWord[][] = [[]];
  /** The next word is a file that something is redirected to. */
  let isTarget = false;
  for (const { index, groups = {} } of script.matchAll(TOKEN)) {
    const { redirection, separator, word } = groups;
    if (separator !== undefined) commands.push([]);
    if (word !== undefined && !isTarget)
      commands.at(-1)?.push({ text: unquoted(word), start: index, end: index + word.length });
    isTarget = redirection !== undefined;
  }
  return commands
    .map((words) => {
      const first = words.findIndex((word) => !RESERVED.has(word.text));
      return first < 0 ? [] : words.slice(first);
    })
    .filter((words) => words.length > 0);
}

function unquoted(word: string): string {
  return word.replace(PIECE, (piece) => {
    if (piece.startsWith("'")) return piece.slice(1).replace(/'$/, '');
    if (piece.startsWith('"'))
      return piece
        .slice(1)
        .replace(/"$/, '')
        .replace(/\\(["\\$`])/g, '$1');
    return piece.startsWith('\\') ? piece.slice(1) : piece;
  });
}

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

export function isAssignment(text: string): boolean {
  return /^[A-Za-z_]\w*=/.test(text);
}

export interface Edit {
  start: number;
  end: number;
  text: string;
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

/** A command of a script that starts a test runner. */
export interface RunnerCall {
  runner: RunnerName;
  words: ShellCommand;
  /** Index of the last word that names the runner (`vitest run`, `go test`); arguments come after it. */
  head: number;
}

/** A shell script, and which of its commands start a test runner. */
export interface TestScript {
  text: string;
  calls: readonly RunnerCall[];
}

/**
 * Whether the program at `at` is this runner: the index of the last word that names it, else null. `names` are the words of
 * the command without folders and Windows' endings; files of installed packages are called like these.
 */
export type HeadAt = (names: readonly string[], at: number) => number | null;

export function programNamed(...programs: readonly string[]): HeadAt {
  return (names, at) => (programs.includes(names[at] ?? '') ? at : null);
}

/** Of package managers: options that say in which package or folder something happens, with a value. */
export const ELSEWHERE =
  /^(--filter|-F|-C|--dir|--cwd|--prefix|-w|--workspace|--project|-p|--directory|--manifest-path)$/;
/** The same in one word, or for every package. */
export const ELSEWHERE_ALONE =
  /^(--(filter|dir|cwd|prefix|workspace|directory)=|-r$|--recursive$|--workspaces$|--ws$|workspaces?$)/;

/**
 * Whether a call surely runs in the folder in which the script is started, so that files can be given to it as they are
 * called there.
 */
export function runsHere(script: string, { words, head }: RunnerCall): boolean {
  const before = shellCommands(script).filter((command) => (command[0]?.start ?? 0) < (words[0]?.start ?? 0));
  if (before.some(([first]) => /^(cd|pushd|popd)$/.test(first?.text ?? ''))) return false;
  return !words.slice(0, head).some(({ text }) => ELSEWHERE.test(text) || ELSEWHERE_ALONE.test(text));
}

/**
 * The script with a call that runs whatever comes of the commands in front of it, where these are only joined by `&&`; else
 * as it is.
 */
export function withCallReached(script: string, { words }: RunnerCall): string {
  const end = words[0]?.start ?? 0;
  const signs = [...script.slice(0, end).matchAll(TOKEN)].filter(({ groups }) => /[&|]/.test(groups?.separator ?? ''));
  const pairs = signs.filter(({ index }) => script.slice(index, index + 2) === '&&');
  if (signs.some(({ 0: sign }) => sign === '|')) return script;
  return edited(
    script,
    pairs.map(({ index }) => ({ start: index, end: index + 2, text: ';' })),
  );
}

/** Programs that start another one, which is named in their arguments. */
const WRAPPERS =
  /^(npx|pnpx|bunx|npm|pnpm|yarn|bun|cross-env|cross-env-shell|env|dotenv|dotenvx|c8|nyc|nice|timeout|xvfb-run|uv|poetry|pipenv|pdm|hatch|rye|coverage|node|nodejs|tsx|python[\d.]*|py|bundle|bundler|ruby|php|composer|tox|nox)$/;

export function runnerCalls(script: string, runners: readonly { name: RunnerName; headAt?: HeadAt }[]): RunnerCall[] {
  return shellCommands(script).flatMap((words) => {
    const first = words.findIndex((word) => !isAssignment(word.text));
    const names = words.map(({ text }) => programName(text));
    for (let at = Math.max(first, 0); at < words.length; at += 1) {
      if (at > first && ELSEWHERE.test(words[at - 1]?.text ?? '')) continue;
      for (const { name, headAt } of runners) {
        const head = headAt?.(names, at) ?? null;
        if (head !== null) return [{ runner: name, words, head }];
      }
      if (at === first && !WRAPPERS.test(names[at] ?? '')) return [];
    }
    return [];
  });
}

/** Without its folder; a file of an installed package is called like the package. */
function programName(path: string): string {
  const [, owner] = /(?:^|\/)node_modules\/([^.@/][^/]*)\/.+\.[cm]?js$/.exec(path) ?? [];
  return owner ?? basename(path).replace(/\.(cmd|exe)$/, '');
}

/**
 * The arguments of a call, up to `--`, that are surely no options and no values of options: what comes after an option that
 * is not among `flags` may be its value, and stays. Then more tests run than were chosen, and never fewer.
 */
export function plainArguments({ words, head }: RunnerCall, flags: RegExp): ShellWord[] {
  const dashes = words.findIndex(({ text }, at) => at > head && text === '--');
  const given = words.slice(0, dashes < 0 ? undefined : dashes);
  return given.filter(({ text }, at) => {
    if (at <= head || text.startsWith('-')) return false;
    const before = at - 1 === head ? '' : (given[at - 1]?.text ?? '');
    return !before.startsWith('-') || before.includes('=') || flags.test(before);
  });
}

/** The options that match, those of `valued` with the value where that is a word of its own. */
export function optionsMatching({ words, head }: RunnerCall, flags: RegExp, valued: RegExp | null = null): ShellWord[] {
  return words.flatMap((word, at) => {
    if (at <= head) return [];
    const value = words[at + 1];
    if (valued?.test(word.text)) return word.text.includes('=') || value === undefined ? [word] : [word, value];
    return flags.test(word.text) ? [word] : [];
  });
}

export interface CallChange {
  remove?: readonly ShellWord[];
  /** Right after the runner's name. */
  first?: readonly string[];
  /** After all other arguments; before a `--` where there is one. */
  last?: readonly string[];
}

/** The script with arguments of some of its calls changed. */
export function withCallsChanged(script: string, changes: ReadonlyMap<RunnerCall, CallChange>): string {
  const edits = [...changes].flatMap(([call, { remove = [], first = [], last = [] }]) => {
    const head = call.words[call.head];
    const dashes = call.words.findIndex((word, at) => at > call.head && word.text === '--');
    const end = dashes < 0 ? call.words.at(-1) : call.words[dashes - 1];
    if (head === undefined || end === undefined) return [];
    return [
      { start: head.end, end: head.end, text: argumentText(first) },
      ...remove.map((word) => ({ start: script.slice(0, word.start).trimEnd().length, end: word.end, text: '' })),
      { start: end.end, end: end.end, text: argumentText(last) },
    ];
  });
  return edited(script, edits);
}

function argumentText(words: readonly string[]): string {
  return words.map((word) => ` ${shellQuoted(word)}`).join('');
}
