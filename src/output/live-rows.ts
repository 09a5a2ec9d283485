import { barRow } from './live-bar.ts';
import { keysRow } from './live-keys.ts';
import { type Part, paintRow, type Screen } from './live-row.ts';
import { workerRows } from './live-workers.ts';
import type { ProgressView } from './progress.ts';

/**
 * The live region: a bar, a row per worker, and the keys. It fits any terminal: no row is wider than the screen, and all
 * of them take a third of its height at most, if only the bar. Nothing while there is nothing to show.
 */
export function renderRows(view: ProgressView, screen: Screen): string[] {
  const { workers } = view;
  if (view.total === 0 && workers.length === 0) return [];
  const places = Math.max(1, Math.floor(screen.rows / 3)) - 1;
  const keys = places > workers.length ? keysRow(view) : null;
  const shown = workers.length <= places ? workers : workers.slice(0, Math.max(0, places - 1));
  const rows = [barRow(view, screen), ...workerRows(shown, view.nowMs, screen)];
  const hidden = workers.length - shown.length;
  if (hidden > 0 && places > 0) rows.push([rest(hidden, shown.length)]);
  if (keys !== null) rows.push(keys);
  return rows.map((row) => paintRow(row, screen));
}

function rest(hidden: number, shown: number): Part {
  return { text: shown > 0 ? `+${hidden} more` : `${hidden} at work`, style: 'dim' };
}
