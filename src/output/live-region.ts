import { systemCode } from '../core/errors.ts';
import type { Subscriber } from '../core/events.ts';
import type { Environment } from '../core/keys.ts';
import { progressOf } from '../core/progress.ts';
import { foldEvent, newRunState } from '../core/run-state.ts';
import { renderRows } from './live-rows.ts';
import { shownLine, type Terminal, type TerminalStream, wantsColour } from './terminal.ts';

/** A terminal whose lines scroll above a region that is redrawn as things change. */
export interface LiveRegion extends Terminal {
  subscriber: Subscriber;
  /** Removes the region and shows the cursor. Lines can still be printed afterwards. */
  close(): void;
}

interface LiveRegionOptions {
  stream: TerminalStream;
  env: Environment;
  now: () => number;
  mask: (text: string) => string;
}

const FRAME_MS = 100;
const TICK_MS = 1_000;
/** Lines wait for the next frame, unless they are longer than this. */
const PENDING_CHARS = 65_536;
/** A terminal with fewer rows has no empty row above the region. */
const SPACIOUS_ROWS = 10;

const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const WRAP_OFF = '\u001B[?7l';
const WRAP_ON = '\u001B[?7h';
const ERASE_RIGHT = '\u001B[K';
const ERASE_BELOW = '\u001B[J';
/** Erases everything from the start of this row. It starts at the second column, because tmux saves what is erased from the first. */
const ERASE = `\r${ERASE_RIGHT}\u001B[C${ERASE_BELOW}\r`;
const PLAIN = '\u001B[0m';
/** Terminals that know these show everything between them at once; others ignore them. */
const FRAME_START = '\u001B[?2026h';
const FRAME_END = '\u001B[?2026l';

/**
 * Between frames the cursor is parked, hidden, at the start of the region. So to remove the region, everything from the cursor on is
 * erased, and we need not know how many rows it has: after a resize the terminal may have wrapped them, but the cursor stays with its
 * text. If there is room, the first row is empty, for the echo of keys. Log lines may wrap, since rows are never counted.
 */
export function createLiveRegion({ stream, env, now, mask }: LiveRegionOptions): LiveRegion {
  const colour = wantsColour(env, stream.isTTY === true);
  const unicode = showsUnicode(env);
  const run = newRunState();
  let state: 'open' | 'closed' | 'gone' = 'open';
  let pending = '';
  let drawn: string[] = [];
  let resized = false;
  let framedAtMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | null = null;

  const rowsNow = (): string[] => {
    const columns = stream.columns || 80;
    const rows = stream.rows || 24;
    // The last column stays free: terminals disagree where the cursor is after a character there.
    const region = renderRows(progressOf(run, now(), mask), {
      columns: Math.max(1, columns - 1),
      rows,
      colour,
      unicode,
    });
    return region.length > 0 && rows >= SPACIOUS_ROWS ? ['', ...region] : region;
  };

  const cancelTimer = (): void => {
    if (timer) clearTimeout(timer);
    timer = null;
  };

  /** Writes pending log lines and the given rows, in place of those on the screen, at once. */
  const show = (rows: string[]): void => {
    cancelTimer();
    if (pending === '' && !resized && rows.join('\n') === drawn.join('\n')) return;
    framedAtMs = now();
    const isPlain = rows.length === 0 && drawn.length === 0;
    const text = isPlain ? pending : frame(rows);
    pending = '';
    drawn = rows;
    resized = false;
    stream.write(text);
  };

  const frame = (rows: string[]): string => {
    // Without log lines, rows are overwritten in place, so nothing flickers.
    const start = pending !== '' || resized || rows.length === 0 ? `${ERASE}${pending}${PLAIN}` : '\r';
    if (rows.length === 0) return `${FRAME_START}${start}${SHOW_CURSOR}${FRAME_END}`;
    const body = rows.map((row) => `${row}${ERASE_RIGHT}`).join('\r\n');
    const park = rows.length > 1 ? `\u001B[${rows.length - 1}A\r` : '\r';
    return `${FRAME_START}${HIDE_CURSOR}${start}${WRAP_OFF}${body}${ERASE_BELOW}${WRAP_ON}${park}${FRAME_END}`;
  };

  const schedule = (): void => {
    if (timer || state !== 'open') return;
    const waitMs = Math.min(FRAME_MS, Math.max(0, framedAtMs + FRAME_MS - now()));
    timer = setTimeout(() => show(rowsNow()), waitMs).unref();
  };
  const onResize = (): void => {
    resized = drawn.length > 0;
    schedule();
  };

  /** Ctrl+Z and Ctrl+\ do what they always do, after the region is removed. */
  const passOn = (signal: NodeJS.Signals): void => {
    show([]);
    process.off(signal, passOn);
    process.kill(process.pid, signal);
    schedule();
  };
  const onContinue = (): void => {
    process.off('SIGTSTP', passOn).on('SIGTSTP', passOn);
    schedule();
  };

  const tick = setInterval(schedule, TICK_MS).unref();
  const dispose = (): void => {
    cancelTimer();
    clearInterval(tick);
    stream.off('resize', onResize);
    process.off('SIGTSTP', passOn).off('SIGQUIT', passOn).off('SIGCONT', onContinue).off('exit', close);
  };
  const close = (): void => {
    if (state !== 'open') return;
    state = 'closed';
    dispose();
    show([]);
  };

  stream.on('resize', onResize);
  process.on('SIGTSTP', passOn).on('SIGQUIT', passOn).on('SIGCONT', onContinue).on('exit', close);
  // Stays after the region is closed: the error of the last write may come later.
  stream.on('error', (error) => {
    if (systemCode(error) !== 'EPIPE' && systemCode(error) !== 'EIO') throw error;
    state = 'gone';
    dispose();
  });

  return {
    colour,
    line(text) {
      if (state === 'gone') return;
      pending += `${mask(shownLine(text))}\n`;
      if (state === 'closed' || pending.length > PENDING_CHARS) show(state === 'closed' ? [] : rowsNow());
      else schedule();
    },
    subscriber(event) {
      foldEvent(run, event);
      schedule();
    },
    close,
  };
}

/** By the locale, as the C library reads it. */
function showsUnicode(env: Environment): boolean {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'];
  return locale ? /utf-?8/i.test(locale) : Boolean(env['WT_SESSION']);
}
