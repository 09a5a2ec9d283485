import { basename } from 'node:path';
import type { RunnerName } from './port.ts';
import { edited, isAssignment, type ShellCommand, type ShellWord, shellCommands, shellQuoted } from './shell-script.ts';

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
 * the command without folders and Windows' endings.
 */
export type HeadAt = (names: readonly string[], at: number) => number | null;

/** Programs that start another one, which is named in their arguments. */
const WRAPPERS =
  /^(npx|pnpx|bunx|npm|pnpm|yarn|bun|cross-env|cross-env-shell|env|dotenv|dotenvx|c8|nyc|nice|timeout|xvfb-run|uv|poetry|pipenv|pdm|hatch|rye|coverage|node|nodejs|tsx|python[\d.]*|py)$/;

export function runnerCalls(script: string, runners: readonly { name: RunnerName; headAt?: HeadAt }[]): RunnerCall[] {
  return shellCommands(script).flatMap((words) => {
    const first = words.findIndex((word) => !isAssignment(word.text));
    const names = words.map(({ text }) => basename(text).replace(/\.(cmd|exe)$/, ''));
    for (let at = Math.max(first, 0); at < words.length; at += 1) {
      for (const { name, headAt } of runners) {
        const head = headAt?.(names, at) ?? null;
        if (head !== null) return [{ runner: name, words, head }];
      }
      if (at === first && !WRAPPERS.test(names[at] ?? '')) return [];
    }
    return [];
  });
}

/** The arguments of a call that are neither options nor their values, up to `--`. */
export function plainArguments(call: RunnerCall, takesValue: ReadonlySet<string>): ShellWord[] {
  const found: ShellWord[] = [];
  for (let at = call.head + 1; at < call.words.length; at += 1) {
    const word = call.words[at];
    if (word === undefined || word.text === '--') break;
    if (!word.text.startsWith('-')) found.push(word);
    else if (takesValue.has(word.text)) at += 1;
  }
  return found;
}

/** Those arguments that match, each with its value where that is a word of its own. */
export function optionsMatching(call: RunnerCall, pattern: RegExp, takesValue: ReadonlySet<string>): ShellWord[] {
  return call.words.flatMap((word, at) => {
    if (at <= call.head || !pattern.test(word.text)) return [];
    const value = takesValue.has(word.text) ? call.words[at + 1] : undefined;
    return value === undefined ? [word] : [word, value];
  });
}

export function hasOption(call: RunnerCall, pattern: RegExp): boolean {
  return call.words.some(({ text }, at) => at > call.head && pattern.test(text));
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
      ...(first.length === 0 ? [] : [{ start: head.end, end: head.end, text: argumentText(first) }]),
      ...remove.map((word) => ({ start: script.slice(0, word.start).trimEnd().length, end: word.end, text: '' })),
      ...(last.length === 0 ? [] : [{ start: end.end, end: end.end, text: argumentText(last) }]),
    ];
  });
  return edited(script, edits);
}

function argumentText(words: readonly string[]): string {
  return words.map((word) => ` ${shellQuoted(word)}`).join('');
}
