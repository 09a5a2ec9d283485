import type { ItemStatus } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import { clockTime, shortMoney } from './live-figures.ts';
import type { Part, Screen } from './live-row.ts';
import type { ProgressView } from './progress.ts';

const LEAST = 8;
const MOST = 32;
const GAP: Part = { text: '  ', style: 'plain' };

/** The bar with the count, and as many details as fit beside them. */
export function barRow(view: ProgressView, { columns, unicode }: Screen): Part[] {
  const row: Part[] = [{ text: `${view.done}/${view.total}`, style: 'bold' }];
  let free = columns - `${view.done}/${view.total}`.length;
  const withBar = free >= LEAST + GAP.text.length;
  if (withBar) free -= LEAST + GAP.text.length;
  for (const detail of detailsOf(view)) {
    const width = detail.text.length + GAP.text.length;
    if (width > free) continue;
    free -= width;
    row.push(GAP, detail);
  }
  if (!withBar) return row;
  const width = Math.min(MOST, LEAST + free);
  const full = view.total === 0 ? 0 : Math.floor((width * view.done) / view.total);
  const [done, left] = unicode ? (['━', '─'] as const) : (['#', '-'] as const);
  return [{ text: done.repeat(full), style: 'green' }, { text: left.repeat(width - full), style: 'dim' }, GAP, ...row];
}

/** In the order of their weight: where room is short, the last ones give way. */
function detailsOf(view: ProgressView): Part[] {
  const details: Part[] = [];
  const state = stateOf(view);
  if (state) details.push(state);
  const failed = (Object.entries(view.counts) as [ItemStatus, number][])
    .filter(([status]) => isFailure(status))
    .reduce((sum, [, count]) => sum + count, 0);
  if (failed > 0) details.push({ text: `${failed} failed`, style: 'red' });
  const discuss = view.counts.discuss ?? 0;
  if (discuss > 0) details.push({ text: `${discuss} to discuss`, style: 'yellow' });
  details.push({ text: shortMoney(view.costUsd), style: 'dim' });
  return details;
}

function stateOf({ stopping, workers, etaMs }: ProgressView): Part | null {
  if (stopping) return { text: 'stopping', style: 'yellow' };
  const waitsMs = workers.filter((worker) => worker.state === 'paused').map((worker) => worker.resumesInMs ?? 0);
  if (waitsMs.length > 0 && waitsMs.length === workers.length) {
    return { text: `paused, resumes in ${clockTime(Math.min(...waitsMs))}`, style: 'yellow' };
  }
  return etaMs === null ? null : { text: `ETA ${clockTime(etaMs)}`, style: 'plain' };
}
