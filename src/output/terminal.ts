import type { Writable } from 'node:stream';
import { sha256 } from '../core/hash.ts';
import type { Environment } from '../core/keys.ts';
import { UNSEEN, withoutSequences } from '../core/lines.ts';

/** A stream for people. It has colour only on a terminal, or when forced. */
export interface Terminal {
  line(text: string): void;
  readonly colour: boolean;
}

export type TerminalStream = Writable & { isTTY?: boolean; columns?: number; rows?: number };

export function wantsColour(env: Environment, isTerminal: boolean): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined && forced !== '') return forced !== '0' && forced !== 'false';
  if (env['NO_COLOR'] !== undefined && env['NO_COLOR'] !== '') return false;
  return isTerminal && env['TERM'] !== 'dumb';
}

export function createTerminal(
  mask = (text: string): string => text,
  stream: TerminalStream = process.stdout,
  env: Environment = process.env,
): Terminal {
  return {
    colour: wantsColour(env, stream.isTTY === true),
    line: (text) => {
      stream.write(`${mask(shownLine(text))}\n`);
    },
  };
}

/** Only for a person at a terminal: not for files, pipes, CI logs, or `--quiet`. */
export function wantsLiveRegion(stream: TerminalStream, env: Environment, quiet = false): boolean {
  const ci = env['CI'] ?? '';
  const isBuildServer = !['', '0', 'false'].includes(ci);
  return stream.isTTY === true && env['TERM'] !== 'dumb' && !isBuildServer && !quiet;
}

const CODES = { dim: 2, red: 31, green: 32, yellow: 33, bold: 1 } as const;

/** Cyan, magenta, green, blue, yellow, then their bright forms: one for each item at a time. Red is for failures. */
const LABEL_CODES = [36, 35, 32, 34, 33, 96, 95, 92, 94, 93] as const;

/**
 * Every item has its own colour, the same in all workflows and runs: it depends on the id alone. Numeric ids take the colours in
 * turn, so neighbours differ.
 */
export function paintLabel(terminal: { colour: boolean }, label: string, text: string): string {
  if (!terminal.colour) return text;
  const id = label.slice(label.indexOf('-') + 1);
  const number = /^\d{1,15}$/.test(id) ? Number(id) : Number.parseInt(sha256(id).slice(0, 8), 16);
  return `\u001B[${LABEL_CODES[(number + LABEL_CODES.length - 1) % LABEL_CODES.length]}m${text}\u001B[0m`;
}

export function paint(terminal: { colour: boolean }, style: keyof typeof CODES, text: string): string {
  return terminal.colour ? `\u001B[${CODES[style]}m${text}\u001B[0m` : text;
}

/** The cells of a table: in each column but the last one, padded to the longest. */
export function aligned(rows: readonly (readonly string[])[]): string[][] {
  const widthOf = (column: number): number => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
  const widths = (rows[0] ?? []).slice(0, -1).map((_, column) => widthOf(column));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)));
}

const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g;

/** Removes what could move the cursor, rewrite printed text, or change its direction. */
export function printable(text: string): string {
  return withoutSequences(text).replace(CONTROLS, '').replace(UNSEEN, '');
}

/** Colour, bold and so on: the only sequences that can't move the cursor or clear anything. */
const STYLE = /\u001B\[[\d:;]{0,64}m/;

/** Keeps our colours, and makes everything else printable. */
export function shownLine(text: string): string {
  if (!text.includes('\u001B')) return printable(text);
  const pieces = text.split(STYLE);
  const styles = text.match(new RegExp(STYLE, 'g')) ?? [];
  return pieces.map((piece, at) => printable(piece) + (styles[at] ?? '')).join('');
}
