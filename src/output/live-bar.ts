import { isFailure } from '../core/exit-code.ts';
import type { ItemStatus } from '../core/item.ts';
import { clockTime, shortMoney, waitWords } from './live-figures.ts';
import { isRoomy, type Part, type Screen } from './live-row.ts';
import type { ProgressView } from './progress.ts';

const LEAST = 8;
const MOST = 32;
const GAP: Part = { text: '  ', style: 'plain' };

/** The bar with the count of what is done, and as many details as fit beside them. */
export function barRow(view: ProgressView, screen: Screen): Part[] {
  const { columns, unicode } = screen;
  const count = `${view.done}/${view.total}`;
  const row: Part[] = [{ text: count, style: 'bold' }];
  let free = columns - count.length;
  const withBar = free >= LEAST + GAP.text.length;
  if (withBar) free -= LEAST + GAP.text.length;
  const failed = failuresOf(view);
  for (const detail of detailsOf(view, failed, isRoomy(screen))) {
    const width = detail.text.length + GAP.text.length;
    if (width > free) continue;
    free -= width;
    row.push(GAP, detail);
  }
  if (!withBar) return row;
  const width = Math.min(MOST, LEAST + free);
  const upTo = (items: number): number => Math.floor((width * Math.max(0, items)) / Math.max(1, view.total));
  const [done, left] = unicode ? (['━', '─'] as const) : (['#', '-'] as const);
  const discuss = view.counts.discuss ?? 0;
  // What went well, what waits for a person, what failed, what is left.
  const ends = [upTo(view.done - discuss - failed), upTo(view.done - failed), upTo(view.done)] as const;
  return [
    { text: done.repeat(ends[0]), style: 'green' },
    { text: done.repeat(ends[1] - ends[0]), style: 'yellow' },
    { text: done.repeat(ends[2] - ends[1]), style: 'red' },
    { text: left.repeat(width - ends[2]), style: 'dim' },
    GAP,
    ...row,
  ];
}

function failuresOf({ counts }: ProgressView): number {
  return (Object.entries(counts) as [ItemStatus, number][])
    .filter(([status]) => isFailure(status))
    .reduce((sum, [, count]) => sum + count, 0);
}

/** In the order of their weight: where room is short, the last ones give way. */
function detailsOf(view: ProgressView, failed: number, roomy: boolean): Part[] {
  const details: Part[] = [];
  const state = stateOf(view, roomy);
  if (state) details.push(state);
  if (failed > 0) details.push({ text: `${failed} failed`, style: 'red' });
  const discuss = view.counts.discuss ?? 0;
  if (discuss > 0) details.push({ text: `${discuss} to discuss`, style: 'yellow' });
  details.push({ text: shortMoney(view.costUsd), style: 'dim' });
  return details;
}

function stateOf({ stopping, pause, etaMs, nowMs }: ProgressView, roomy: boolean): Part | null {
  if (stopping) return { text: 'stopping', style: 'yellow' };
  if (pause !== null) return { text: waitWords(pause, nowMs, roomy), style: 'yellow' };
  return etaMs === null ? null : { text: `ETA ${clockTime(etaMs)}`, style: 'plain' };
}
