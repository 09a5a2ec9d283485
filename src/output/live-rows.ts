import stringWidth from 'string-width';
import { localClock } from '../core/duration.ts';
import type { WaitReason } from '../core/events.ts';
import { isFailure } from '../core/exit-code.ts';
import type { ItemStatus } from '../core/item.ts';
import type { ProgressView, WorkerView } from '../core/progress.ts';
import type { Wait } from '../core/run-state.ts';
import { paint, paintLabel, printable } from './terminal.ts';

/**
 * The rows of the live region: a bar, a row per worker, and the keys. No row is wider than the screen, and together they take at
 * most a third of its height, but always one row. Empty while there is nothing to show.
 */
export function renderRows(view: ProgressView, screen: Screen): string[] {
  const { workers } = view;
  if (view.total === 0 && workers.length === 0) return [];
  const places = Math.max(1, Math.floor(screen.rows / 3)) - 1;
  const keys = places > workers.length ? keysRow(view) : null;
  const shown = workers.length <= places ? workers : workers.slice(0, Math.max(0, places - 1));
  const rows = [barRow(view, screen), ...workerRows(shown, view.nowMs, screen)];
  const hidden = workers.length - shown.length;
  const rest = shown.length > 0 ? `+${hidden} more` : `${hidden} at work`;
  if (hidden > 0 && places > 0) rows.push([{ text: rest, style: 'dim' }]);
  if (keys !== null) rows.push(keys);
  return rows.map((row) => paintRow(row, screen));
}

const BAR_LEAST = 8;
const BAR_MOST = 32;

/** The bar, the count of finished items, and as many details as fit. */
function barRow(view: ProgressView, screen: Screen): Part[] {
  const { done, total, counts, costUsd } = view;
  const { discuss = 0 } = counts;
  const statuses = Object.entries(counts) as [ItemStatus, number][];
  const failed = statuses.reduce((sum, [status, count]) => sum + (isFailure(status) ? count : 0), 0);
  // The most important first: if there is little room, the last ones are dropped.
  const details = [
    stateOf(view, isRoomy(screen)),
    failed > 0 ? part(`${failed} failed`, 'red') : null,
    discuss > 0 ? part(`${discuss} to discuss`, 'yellow') : null,
    part(shortMoney(costUsd), 'dim'),
  ];
  const row = [part(`${done}/${total}`, 'bold')];
  let free = screen.columns - `${done}/${total}`.length;
  const withBar = free >= BAR_LEAST + GAP.text.length;
  if (withBar) free -= BAR_LEAST + GAP.text.length;
  for (const detail of details) {
    const width = (detail?.text.length ?? 0) + GAP.text.length;
    if (detail === null || width > free) continue;
    free -= width;
    row.push(GAP, detail);
  }
  if (!withBar) return row;
  const width = Math.min(BAR_MOST, BAR_LEAST + free);
  const upTo = (items: number): number => Math.floor((width * Math.max(0, items)) / Math.max(1, total));
  const [full, left] = screen.unicode ? (['━', '─'] as const) : (['#', '-'] as const);
  // Succeeded, waiting for a person, failed; the rest is left.
  const [green, yellow, red] = [upTo(done - discuss - failed), upTo(done - failed), upTo(done)] as const;
  return [
    part(full.repeat(green), 'green'),
    part(full.repeat(yellow - green), 'yellow'),
    part(full.repeat(red - yellow), 'red'),
    part(left.repeat(width - red), 'dim'),
    GAP,
    ...row,
  ];
}

function stateOf({ stopping, pause, etaMs, nowMs }: ProgressView, roomy: boolean): Part | null {
  if (stopping) return part('stopping', 'yellow');
  if (pause !== null) return part(waitWords(pause, nowMs, roomy), 'yellow');
  return etaMs === null ? null : part(`ETA ${clockTime(etaMs)}`);
}

interface Column {
  cell: (worker: WorkerView) => Part;
  width: number;
  align: 'left' | 'right';
}

const LABEL_MOST = 24;
const STEP_LEAST = 8;
/** A wait says why and until when, so it is more important than tokens and cost. */
const WAIT_LEAST = 16;
const TITLE_LEAST = 12;

/**
 * A row per worker, in aligned columns. As the terminal gets narrow, columns are dropped: first the title, then tokens, cost, the
 * step and the time. Figures get the width of large ones from the start, so that columns don't move as they grow.
 */
function workerRows(workers: readonly WorkerView[], nowMs: number, screen: Screen): Part[][] {
  const roomy = isRoomy(screen);
  const gap = roomy ? 2 : 1;
  const column = (align: Column['align'], least: number, cell: Column['cell']): Column => ({
    cell,
    align,
    width: Math.max(least, ...workers.map((worker) => displayWidth(cell(worker).text))),
  });
  const unit = roomy ? ' tok' : '';
  const label = column('left', 0, (worker) => part(worker.label, { label: worker.label }));
  const step = column('left', roomy ? 14 : STEP_LEAST, (worker) => stepOf(worker, nowMs, roomy));
  const elapsed = column('right', 5, (worker) => part(clockTime(worker.elapsedMs)));
  const tokens = column('right', 5 + unit.length, (worker) => part(shortCount(worker.tokens) + unit, 'dim'));
  const cost = column('right', 7, (worker) => part(shortMoney(worker.costUsd), 'dim'));

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
    const wider = Math.max(0, Math.min(stepWanted - step.width, free));
    step.width += wider;
    free -= wider;
  }
  const columns = [label, step, elapsed, tokens, cost].filter((one) => taken.has(one));
  if (free - gap >= TITLE_LEAST) {
    columns.push({ cell: (worker) => part(plainText(worker.title), 'dim'), align: 'left', width: free - gap });
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
  return [part(' '.repeat(gap) + before), part(fitted, style), part(after)];
}

function stepOf({ step, wait }: WorkerView, nowMs: number, roomy: boolean): Part {
  return wait === null ? part(plainText(step ?? 'starting')) : part(waitWords(wait, nowMs, roomy), 'yellow');
}

/** The keys in one row: how many are ready, and why the others are not. Null: no vendor is used. */
function keysRow({ keys, nowMs }: ProgressView): Part[] | null {
  if (keys.length === 0) return null;
  const named = (state: (typeof keys)[number]['state']): string[] =>
    keys
      .filter((key) => key.state === state)
      .map(({ id, untilMs }) => plainText(untilMs === null ? id : `${id} ${clockTime(untilMs - nowMs)}`));
  const [ready, cooling, rejected] = [named('ready'), named('cooling'), named('rejected')];
  const row = [part(`keys  ${ready.length} ready`, 'dim')];
  if (cooling.length > 0) row.push(part(`  ${cooling.length} cooling (${cooling.join(', ')})`, 'yellow'));
  if (rejected.length > 0) row.push(part(`  ${rejected.length} rejected (${rejected.join(', ')})`, 'red'));
  return row;
}

/** What the terminal can show. */
interface Screen {
  columns: number;
  rows: number;
  colour: boolean;
  unicode: boolean;
}

/** A part of a row. Colour is added last, so that only plain text is measured and cut. */
interface Part {
  text: string;
  /** With a label it has that item's colour. */
  style: Parameters<typeof paint>[1] | 'plain' | { label: string };
}

function part(text: string, style: Part['style'] = 'plain'): Part {
  return { text, style };
}

const GAP = part('  ');

/** There is room for words and for wide gaps. */
const isRoomy = ({ columns }: Screen): boolean => columns >= 60;

const ellipsis = ({ unicode }: Screen): string => (unicode ? '…' : '..');

/** One row, never wider than the screen. */
function paintRow(parts: readonly Part[], screen: Screen): string {
  let free = screen.columns;
  let row = '';
  let spaces = '';
  for (const { text, style } of parts) {
    const fitted = cut(text, free, ellipsis(screen));
    free -= displayWidth(fitted);
    // Spaces are added only before text: at the end of a row they could only make it wrap.
    const visible = fitted.trimEnd();
    if (visible !== '') row += spaces + painted(visible, style, screen);
    spaces = visible === '' ? spaces + fitted : fitted.slice(visible.length);
    if (fitted !== text) break;
  }
  return row;
}

function painted(text: string, style: Part['style'], screen: Screen): string {
  if (style === 'plain') return text;
  return typeof style === 'object' ? paintLabel(screen, style.label, text) : paint(screen, style, text);
}

const ASCII = /^[ -~]*$/;

/** The width in a terminal of a text without control characters. */
export function displayWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** Cuts a text to this many columns, with an ellipsis if there is room for it. */
export function cut(text: string, columns: number, ellipsis: string): string {
  if (displayWidth(text) <= columns) return text;
  const mark = ellipsis.length <= columns ? ellipsis : '';
  const room = columns - mark.length;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += displayWidth(character);
    if (width > room) break;
    kept += character;
  }
  return `${kept.trimEnd()}${mark}`;
}

/**
 * Text from outside for a row: one line without invisible characters. Joiners and variation selectors are removed too, because
 * terminals disagree on their width.
 */
export function plainText(text: string): string {
  return printable(text.toWellFormed())
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cf}\p{Zl}\p{Zp}\uFE00-\uFE0F]/gu, '')
    .trim();
}

/** `0:42`, `4:05`, `1:02:03` */
function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value % 60).padStart(2, '0');
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

/** `950`, `12.3k`, `1.23M` */
function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

function shortMoney(usd: number | null): string {
  if (usd === null) return '$?';
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Shorter waits count down; for longer ones the time of day is shown. */
const COUNTDOWN_MS = 600_000;

const LONG: Record<WaitReason, string> = {
  quota: 'waits for quota',
  pace: 'paced',
  key: 'paced, waits for a key',
  retry: 'waits to retry',
};

/** `waits for quota, 0:42 left`, `waits for quota until 14:32`; with little room `quota 0:42`, `quota 14:32`. */
function waitWords({ reason, untilMs }: Wait, nowMs: number, roomy: boolean): string {
  const name = roomy ? LONG[reason] : reason;
  const leftMs = untilMs === null ? 0 : untilMs - nowMs;
  // A time in the past was a wrong estimate.
  if (untilMs === null || leftMs <= 0) return name;
  if (leftMs < COUNTDOWN_MS) return roomy ? `${name}, ${clockTime(leftMs)} left` : `${name} ${clockTime(leftMs)}`;
  return `${name} ${roomy ? 'until ' : ''}${localClock(untilMs, nowMs)}`;
}
