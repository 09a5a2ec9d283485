import { formatDuration } from '../core/duration.ts';
import { isFailure } from '../core/exit-code.ts';
import type { ItemSummary, Summary } from '../core/summary.ts';
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
  const implementations = waiting.flatMap((item) => {
    const folder = reviewsOf(item);
    return folder === null ? [] : [{ id: item.id, folder }];
  });
  const [one] = implementations;
  const anyReviews = one?.folder.replace(`implement-${one.id}`, 'implement-<id>') ?? '';
  printWaiting(terminal, implementations, 'the last review', anyReviews);
  const designs = waiting.filter((item) => reviewsOf(item) === null);
  printWaiting(
    terminal,
    designs.map((item) => ({ id: item.id, folder: lineageOf(item) })),
    'the last verdict',
    'docs/lineage/<id>',
  );
  const resumable = items
    .filter((item) => item.status === 'cancelled' || item.status === 'paused')
    .map((item) => item.id);
  if (resumable.length > 0) terminal.line(`Not finished: ${resumable.join(', ')}. Go on with: agentos resume`);
  if (summary.retryCommand !== null) {
    const failed = items.filter((item) => isFailure(item.status)).map((item) => item.id);
    terminal.line(`Failed: ${failed.join(', ')}. Retry with: ${summary.retryCommand}`);
  }
}

/** One line for all of them, with a placeholder where it is not about one alone. */
function printWaiting(
  terminal: Terminal,
  waiting: readonly { id: string; folder: string }[],
  what: string,
  anyFolder: string,
): void {
  const [first, ...more] = waiting;
  if (first === undefined) return;
  const { id, folder } = more.length === 0 ? first : { id: '<id>', folder: anyFolder };
  const ids = waiting.map((item) => item.id).join(', ');
  terminal.line(
    `Waiting for a person: ${ids}. Read ${what} in ${folder}/, then: agentos decide ${id} --approve | --revise "…" | --drop`,
  );
}

/** An implementation's reviews are not in the lineage: they are what it puts first. */
function reviewsOf({ id, outputs }: ItemSummary): string | null {
  return outputs.find((path) => path.replaceAll('\\', '/').endsWith(`/homes/implement-${id}/reviews`)) ?? null;
}

/** A brief that is called like an issue has its versions elsewhere. */
function lineageOf({ id, outputs }: ItemSummary): string {
  return outputs.find((path) => /^docs\/lineage\/[^/]+$/.test(path)) ?? `docs/lineage/${id}`;
}
