import type { GateCounts, GateEvidence } from '../../core/gate.ts';
import { asCode, asText, tableOf } from './markdown-text.ts';

const MOST_MESSAGE = 500;
const MOST_LINES = 200;

/** One row for each gate: what was seen, and by which command. */
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

/** Plain text as a list; what is more than anybody reads is counted. */
export function bulletsOf(lines: readonly string[]): string {
  const shown = lines.slice(0, MOST_LINES).map((line) => `- ${asText(line, MOST_MESSAGE)}`);
  if (lines.length > MOST_LINES) shown.push(`- … and ${lines.length - MOST_LINES} more`);
  return shown.join('\n');
}
