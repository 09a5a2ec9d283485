import { basename } from 'node:path';
import { shellWord } from '../core/lines.ts';
import type { RunnerName } from './port.ts';

/*
 * Enough of the shell's grammar to find the test runner in a script and to change its arguments without touching any other
 * character. It handles quotes, escapes, substitutions and redirections, but not here-documents.
 */

export interface ShellWord {
  /** Without its quotes. */
  text: string;
  start: number;
  end: number;
}

/** A program with its arguments, including assignments in front of it. */
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
  /** The next word is the target of a redirection. */
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

export function isAssignment(text: string): boolean {
  return /^[A-Za-z_]\w*=/.test(text);
}

export interface Edit {
  start: number;
  end: number;
  text: string;
}

/** Edits must not overlap; edits at the same place keep their order. */
export function edited(script: string, edits: readonly Edit[]): string {
  let result = '';
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    result += script.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return result + script.slice(at);
}

/** A command that starts a test runner. */
export interface RunnerCall {
  runner: RunnerName;
  words: ShellCommand;
  /** Index of the last word of the runner's name (`vitest run`, `go test`); its arguments follow. */
  head: number;
}

/** A shell script and those of its commands that start a test runner. */
export interface TestScript {
  text: string;
  calls: readonly RunnerCall[];
}

/**
 * If the word at `at` starts this runner: the index of the last word of its name, else null. `names` are the words of the
 * command as program names: without folders, and with the package's name for a file in node_modules.
 */
export type HeadAt = (names: readonly string[], at: number) => number | null;

export function programNamed(...programs: readonly string[]): HeadAt {
  return (names, at) => (programs.includes(names[at] ?? '') ? at : null);
}

/** Package managers' options, with a value, that select another package or folder. */
export const ELSEWHERE =
  /^(--filter|-F|-C|--dir|--cwd|--prefix|-w|--workspace|--project|-p|--directory|--manifest-path)$/;
/** The same without a separate value. */
export const ELSEWHERE_ALONE =
  /^(--(filter|dir|cwd|prefix|workspace|directory)=|-r$|--recursive$|--workspaces$|--ws$|workspaces?$)/;

/**
 * Whether a call certainly runs in the script's working directory, so that it can be given paths relative to it.
 */
export function runsHere(script: string, { words, head }: RunnerCall): boolean {
  const before = shellCommands(script).filter((command) => (command[0]?.start ?? 0) < (words[0]?.start ?? 0));
  if (before.some(([first]) => /^(cd|pushd|popd)$/.test(first?.text ?? ''))) return false;
  return !words.slice(0, head).some(({ text }) => ELSEWHERE.test(text) || ELSEWHERE_ALONE.test(text));
}

/**
 * Makes a call run even if the commands before it fail, by replacing `&&` with `;`. Unchanged if they are joined otherwise.
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

/** Programs that start another program given in their arguments. */
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

/** Drops the folder; a file in node_modules gets the name of its package. */
function programName(path: string): string {
  const [, owner] = /(?:^|\/)node_modules\/([^.@/][^/]*)\/.+\.[cm]?js$/.exec(path) ?? [];
  return owner ?? basename(path);
}

/**
 * The arguments of a call, up to `--`, that are certainly neither options nor their values. A word after an option that is
 * not in `flags` may be its value and is left out: that way a selection may run too many tests, but never too few.
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

/** The matching options; those that match `valued` include their value if it is a separate word. */
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
  /** Inserted right after the runner's name. */
  first?: readonly string[];
  /** Appended after all other arguments, but before a `--`. */
  last?: readonly string[];
  /** It makes the runner measure coverage. */
  measures?: boolean;
  /** A command that runs if the call fails. The failure then no longer stops the rest of the script. */
  onFailure?: string;
  /** A file that receives a copy of the output if the call is piped into another program. */
  copy?: string;
}

export function withCallsChanged(script: string, changes: ReadonlyMap<RunnerCall, CallChange>): string {
  const edits = [...changes].flatMap(([call, { remove = [], first = [], last = [], onFailure, copy }]) => {
    const head = call.words[call.head];
    const dashes = call.words.findIndex((word, at) => at > call.head && word.text === '--');
    const end = dashes < 0 ? call.words.at(-1) : call.words[dashes - 1];
    if (head === undefined || end === undefined) return [];
    const [start, stop] = [call.words[0]?.start ?? 0, call.words.at(-1)?.end ?? 0];
    const pipe = copy === undefined ? null : pipeAfter(script, stop);
    const isGrouped = onFailure !== undefined && !NO_GROUP.test(script.slice(0, start));
    return [
      ...(isGrouped ? [{ start, end: start, text: '{ ' }] : []),
      { start: head.end, end: head.end, text: argumentText(first) },
      ...remove.map((word) => ({ start: script.slice(0, word.start).trimEnd().length, end: word.end, text: '' })),
      { start: end.end, end: end.end, text: argumentText(last) },
      ...(isGrouped ? [{ start: stop, end: stop, text: ` || ${onFailure}; }` }] : []),
      ...(pipe === null ? [] : [{ start: pipe, end: pipe, text: `| tee ${shellWord(copy ?? '')} ` }]),
    ];
  });
  return edited(script, edits);
}

/** `exec` and `!` can't be followed by a group. */
const NO_GROUP = /(?:^|[\s;&|({])(?:exec|!)\s+$/;

/** Where the pipe after a command starts; null if the command isn't piped. */
function pipeAfter(script: string, end: number): number | null {
  const next = [...script.matchAll(TOKEN)].find(({ index, groups }) => index >= end && groups?.separator !== undefined);
  const isPipe = next !== undefined && /^\|(?!\|)/.test(script.slice(next.index));
  return isPipe ? next.index : null;
}

function argumentText(words: readonly string[]): string {
  return words.map((word) => ` ${shellWord(word)}`).join('');
}
