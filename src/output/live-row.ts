import stringWidth from 'string-width';
import { localClock } from '../core/duration.ts';
import type { WaitReason } from '../core/events.ts';
import type { Wait } from '../core/run-state.ts';
import { paint, paintLabel, printable } from './terminal.ts';

/** What the terminal can show. */
export interface Screen {
  columns: number;
  rows: number;
  colour: boolean;
  unicode: boolean;
}

/** A piece of a row. It is painted last, so that whatever is measured or cut is plain text. */
export interface Part {
  text: string;
  /** With a label it has that item's colour. */
  style: Parameters<typeof paint>[1] | 'plain' | { label: string };
}

/** Room for words, and for gaps between columns. */
export const isRoomy = ({ columns }: Screen): boolean => columns >= 60;

export const ellipsis = ({ unicode }: Screen): string => (unicode ? '…' : '..');

/** The parts as one row that is never wider than the screen. */
export function paintRow(parts: readonly Part[], screen: Screen): string {
  let free = screen.columns;
  let row = '';
  let spaces = '';
  for (const { text, style } of parts) {
    const fitted = cut(text, free, ellipsis(screen));
    free -= displayWidth(fitted);
    // Spaces are held back until something follows: at the end of a row they would only be there to wrap.
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

/** Columns that a text without control characters takes in a terminal. Nearly all are ASCII; the others load a library. */
export function displayWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** At most so many columns; an ellipsis stands for the rest, if there is room for it. */
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
 * Outside text for a row: one line, without what is invisible. Joiners and variation selectors go too: terminals
 * disagree on the width of what they make.
 */
export function plainText(text: string): string {
  return printable(text.toWellFormed())
    .replace(/\s+/g, ' ')
    .replace(/[\p{Cf}\p{Zl}\p{Zp}\uFE00-\uFE0F]/gu, '')
    .trim();
}

/** `0:42`, `4:05`, `1:02:03`: of a width that changes seldom, unlike words for a duration. */
export function clockTime(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value % 60).padStart(2, '0');
  return minutes < 60 ? `${minutes}:${two(seconds)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(seconds)}`;
}

/** `950`, `12.3k`, `1.23M` */
export function shortCount(count: number): string {
  if (count < 1_000) return String(count);
  return count < 999_950 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`;
}

export function shortMoney(usd: number | null): string {
  if (usd === null) return '$?';
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Up to here a wait counts down; beyond, the time of day says more. */
const COUNTDOWN_MS = 600_000;

const LONG: Record<WaitReason, string> = {
  quota: 'waits for quota',
  pace: 'paced',
  key: 'paced, waits for a key',
  retry: 'waits to retry',
};

/** `waits for quota, 0:42 left`, `waits for quota until 14:32`; where room is short `quota 0:42`, `quota 14:32`. */
export function waitWords({ reason, untilMs }: Wait, nowMs: number, roomy: boolean): string {
  const name = roomy ? LONG[reason] : reason;
  const leftMs = untilMs === null ? 0 : untilMs - nowMs;
  // A time that has passed was too early; there is no other.
  if (untilMs === null || leftMs <= 0) return name;
  if (leftMs < COUNTDOWN_MS) return roomy ? `${name}, ${clockTime(leftMs)} left` : `${name} ${clockTime(leftMs)}`;
  return `${name} ${roomy ? 'until ' : ''}${localClock(untilMs, nowMs)}`;
}
