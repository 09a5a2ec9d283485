import type { Command, CommanderError } from 'commander';
import type { Problem } from '../core/errors.ts';
import { shownJson } from '../core/json.ts';
import { readKeys } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import { nearest } from '../core/nearest.ts';
import { wordingOf } from '../core/wording.ts';
import { createTerminal, paint } from '../output/terminal.ts';
import { ownEnvironment } from '../process/own-process.ts';

const unmasked = (text: string): string => text;

/** Prints a value as JSON on stdout, for a command whose output it is. */
export function printJson(value: unknown, mask = unmasked): void {
  process.stdout.write(`${mask(shownJson(value, 2))}\n`);
}

/** The same on one line. */
export function printJsonLine(value: unknown, mask = unmasked): void {
  process.stdout.write(`${mask(shownJson(value))}\n`);
}

/** One clear line that says what is wrong, and one that says what to do. */
export function printProblem(problem: Problem): void {
  const mask = createMask(readKeys(ownEnvironment(), {}).map((key) => key.secret));
  const terminal = createTerminal(mask, process.stderr);
  const { message, hint } = wordingOf(problem);
  terminal.line(`${paint(terminal, 'red', 'error:')} ${message}`);
  if (hint) terminal.line(hint);
}

/** What the parser of the command line found wrong, in our form; null: help or version was asked for and shown. */
export function usageProblem(error: CommanderError, program: Command): Problem | null {
  if (error.exitCode === 0 || error.code === 'commander.help') return null;
  const text = error.message.replace(/^error: /, '');
  const command = program.commands.find((candidate) => candidate.name() === program.args[0]);
  const help = `See: ${[program.name(), ...(command ? [command.name()] : []), '--help'].join(' ')}`;
  const [, one, other] = /^option '(--[\w-]+).*' cannot be used with option '(--[\w-]+)/.exec(text) ?? [];
  if (one !== undefined)
    return { code: 'usage', reason: `${one} and ${other} exclude each other.`, hint: `Remove one of them. ${help}` };
  const advice = /^(.* is invalid(?: for argument '[^']*')?)\. (.+)$/s.exec(text);
  const [, reason = text, told = guess(text, command ?? program)] = advice ?? [];
  const sentence = `${reason.charAt(0).toUpperCase()}${reason.slice(1)}`;
  return { code: 'usage', reason: sentence.replace(/\.?$/, '.'), hint: told ? `${told} ${help}` : help };
}

/** Our own: that of the parser takes `plan` for `clean`. */
function guess(text: string, command: Command): string | null {
  const [, kind, word = ''] = /^unknown (command|option) '(.*)'$/s.exec(text) ?? [];
  if (kind === undefined) return null;
  const known =
    kind === 'command' ? command.commands.map((one) => one.name()) : command.options.flatMap(({ long }) => long ?? []);
  return suggestion(word, known);
}

/** The nearest names, else those that start with the word (`impl`); null if no name is like it. */
export function suggestion(word: string, known: readonly string[]): string | null {
  const near = nearest(word, known);
  const meant = near.length > 0 || word.length < 3 ? near : known.filter((name) => name.startsWith(word)).slice(0, 3);
  return meant.length === 0 ? null : `Did you mean ${meant.join(' or ')}?`;
}
