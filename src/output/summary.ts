import { formatDuration } from '../core/duration.ts';
import { isFailure } from '../core/exit-code.ts';
import type { Summary } from '../core/summary.ts';
import { paint, type Terminal } from './terminal.ts';

/** The end of a run for people: one row an item, then the line to copy if anything failed. */
export function printSummary(terminal: Terminal, summary: Summary): void {
  const { items } = summary;
  const rows = items.map((item) => [
    item.id,
    item.status,
    item.costUsd === null ? 'cost unknown' : `$${item.costUsd.toFixed(4)}`,
    formatDuration(item.durationMs),
    item.error?.code ?? item.outputs[0] ?? '',
  ]);
  const widths = [0, 1, 2, 3].map((column) => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  terminal.line('');
  for (const [index, row] of rows.entries()) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    const status = items[index]?.status ?? 'failed';
    const style = status === 'succeeded' || status === 'skipped' ? 'green' : isFailure(status) ? 'red' : 'yellow';
    terminal.line(`${cells[0]}  ${paint(terminal, style, cells[1] ?? '')}  ${cells.slice(2).join('  ')}`.trimEnd());
  }
  for (const { id, kept } of items) {
    if (kept === null) continue;
    terminal.line(`${id} is kept. Look at it: ${kept.look}`);
    terminal.line(`${' '.repeat(id.length)} Throw it away: ${kept.discard}`);
  }
  const waiting = items.filter((item) => item.status === 'discuss');
  if (waiting.length > 0) {
    const ids = waiting.map(({ id }) => id);
    const one = waiting.length === 1 ? waiting[0] : undefined;
    // A brief that is called like an issue has its versions elsewhere.
    const folder =
      one?.outputs.find((path) => /^docs\/lineage\/[^/]+$/.test(path)) ?? `docs/lineage/${one?.id ?? '<id>'}`;
    terminal.line(
      `Waiting for a person: ${ids.join(', ')}. Read the last verdict in ${folder}/, then: agentos decide ${one?.id ?? '<id>'} --approve | --revise "…" | --drop`,
    );
  }
  const resumable = items
    .filter((item) => item.status === 'cancelled' || item.status === 'paused')
    .map((item) => item.id);
  if (resumable.length > 0) terminal.line(`Not finished: ${resumable.join(', ')}. Go on with: agentos resume`);
  if (summary.retryCommand !== null) {
    const failed = items.filter((item) => isFailure(item.status)).map((item) => item.id);
    terminal.line(`Failed: ${failed.join(', ')}. Retry with: ${summary.retryCommand}`);
  }
}
