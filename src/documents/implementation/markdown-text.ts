import type { GateCounts, GateEvidence } from '../../core/gate.ts';
import { tableOf } from '../tables.ts';

/** Escapes plain text (a test's name, a message, a path) for one line of a table or a list, cut to `most` characters. */
export function asText(text: string, most = Number.POSITIVE_INFINITY): string {
  return (
    oneLine(text, most)
      .replace(/[\\`*~[<|]/g, '\\$&')
      // An underscore inside a word is not markup.
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
  // A code span in a table can't show a backslash before a pipe.
  if (/\\(?:\||$)/.test(line)) return asText(line);
  const longest = Math.max(0, ...(line.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  const inner = line.replace(/\|/g, '\\|');
  return /^`|`$/.test(line) ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
}

export function oneLine(text: string, most = Number.POSITIVE_INFINITY): string {
  const line = text
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > most ? `${line.slice(0, most - 1).trimEnd()}…` : line;
}

const MOST_MESSAGE = 500;
const MOST_LINES = 200;

/** One row for each gate: its result and command. */
export function gateTable(gates: readonly GateEvidence[]): string {
  return tableOf(
    ['Gate', 'Result', 'Command', 'Counts', 'Hash'],
    gates.map((gate) => [
      gate.gate,
      resultOf(gate),
      asCode(gate.command ?? '', MOST_MESSAGE),
      gate.counts === null ? '' : countsOf(gate.counts),
      gate.hash === null ? '' : `\`${gate.hash}\``,
    ]),
  );
}

function resultOf({ passed, skipped }: GateEvidence): string {
  if (skipped !== null) return `not checked: ${asText(skipped, MOST_MESSAGE)}`;
  return passed ? 'holds' : '**fails**';
}

function countsOf({ passed, failed, skipped, notLoaded }: GateCounts): string {
  const parts = [`${passed} passed`, `${failed} failed`];
  if (skipped > 0) parts.push(`${skipped} skipped`);
  if (notLoaded > 0) parts.push(`${notLoaded} could not load`);
  return parts.join(', ');
}

/** Plain text as a list. Beyond the limit, entries are only counted. */
export function bulletsOf(lines: readonly string[]): string {
  const shown = lines.slice(0, MOST_LINES).map((line) => `- ${asText(line, MOST_MESSAGE)}`);
  if (lines.length > MOST_LINES) shown.push(`- … and ${lines.length - MOST_LINES} more`);
  return shown.join('\n');
}
