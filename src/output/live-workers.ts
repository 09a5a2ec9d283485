import { clockTime, shortCount, shortMoney, waitWords } from './live-figures.ts';
import { ellipsis, isRoomy, type Part, type Screen } from './live-row.ts';
import { cut, displayWidth, plainText } from './live-width.ts';
import type { WorkerView } from './progress.ts';

interface Column {
  cell: (worker: WorkerView) => Part;
  width: number;
  align: 'left' | 'right';
}

const LABEL_MOST = 24;
const STEP_LEAST = 8;
/** A wait says why and until when: tokens and cost give way to it. */
const WAIT_LEAST = 16;
const TITLE_LEAST = 12;

/**
 * A row per worker, in columns that stand below each other. As the terminal gets narrow they leave one by one: the title
 * first, then tokens, cost, the step and the time. Figures get the width of large ones from the start, so that rows don't
 * move as they grow.
 */
export function workerRows(workers: readonly WorkerView[], nowMs: number, screen: Screen): Part[][] {
  const roomy = isRoomy(screen);
  const gap = roomy ? 2 : 1;
  const column = (align: Column['align'], least: number, cell: Column['cell']): Column => ({
    cell,
    align,
    width: Math.max(least, ...workers.map((worker) => displayWidth(cell(worker).text))),
  });
  const unit = roomy ? ' tok' : '';
  const label = column('left', 0, (worker) => ({ text: worker.label, style: { label: worker.label } }));
  const step = column('left', roomy ? 14 : STEP_LEAST, (worker) => stepOf(worker, nowMs, roomy));
  const elapsed = column('right', 5, (worker) => ({ text: clockTime(worker.elapsedMs), style: 'plain' }));
  const tokens = column('right', 5 + unit.length, (worker) => ({
    text: shortCount(worker.tokens) + unit,
    style: 'dim',
  }));
  const cost = column('right', 7, (worker) => ({ text: shortMoney(worker.costUsd), style: 'dim' }));

  label.width = Math.min(label.width, LABEL_MOST, screen.columns);
  const stepWanted = step.width;
  const waits = workers.flatMap(({ wait }) => (wait === null ? [] : waitWords(wait, nowMs, roomy).length));
  step.width = Math.max(STEP_LEAST, Math.min(WAIT_LEAST, Math.max(0, ...waits)));
  let free = screen.columns - label.width;
  const taken = new Set([label]);
  for (const next of [elapsed, step, cost, tokens]) {
    if (next.width + gap > free) break;
    free -= next.width + gap;
    taken.add(next);
  }
  if (taken.has(step)) {
    const wider = Math.min(stepWanted - step.width, free);
    step.width += Math.max(0, wider);
    free -= Math.max(0, wider);
  }
  const columns = [label, step, elapsed, tokens, cost].filter((one) => taken.has(one));
  if (free - gap >= TITLE_LEAST) {
    const cell: Column['cell'] = (worker) => ({ text: plainText(worker.title), style: 'dim' });
    columns.push({ cell, align: 'left', width: free - gap });
  }
  return workers.map((worker) =>
    columns.flatMap((one, index) => cellParts(one, worker, index === 0 ? 0 : gap, screen)),
  );
}

function cellParts({ cell, width, align }: Column, worker: WorkerView, gap: number, screen: Screen): Part[] {
  const { text, style } = cell(worker);
  const fitted = cut(screen.unicode ? text : text.replace(/[^ -~]/gu, '?'), width, ellipsis(screen));
  const padding = ' '.repeat(Math.max(0, width - displayWidth(fitted)));
  const [before, after] = align === 'right' ? [padding, ''] : ['', padding];
  return [
    { text: ' '.repeat(gap) + before, style: 'plain' },
    { text: fitted, style },
    { text: after, style: 'plain' },
  ];
}

function stepOf({ step, wait }: WorkerView, nowMs: number, roomy: boolean): Part {
  if (wait === null) return { text: plainText(step ?? 'starting'), style: 'plain' };
  return { text: waitWords(wait, nowMs, roomy), style: 'yellow' };
}
