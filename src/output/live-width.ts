import { printable } from './terminal.ts';

/** Two columns: East Asian wide and full-width characters, and what is shown as an emoji. */
const WIDE =
  /[\u1100-\u115F\u2329\u232A\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE10-\uFE19\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18DFF}\u{1AFF0}-\u{1B2FF}\u{1D300}-\u{1D37F}\u{1F000}-\u{1FAFF}\u{20000}-\u{3FFFD}\p{Emoji_Presentation}]/u;
const COMBINING = /[\p{Mn}\p{Me}]/u;
const ASCII = /^[ -~]*$/;

/**
 * Columns that a text without control characters takes in a terminal. Where terminals differ (a flag of two letters, a
 * skin tone) it is the larger number: a row that is too short does no harm, one that is too long does.
 */
export function displayWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

function widthOf(character: string): number {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** At most so many columns; what is left out shows as the ellipsis, if there is room for it. */
export function cut(text: string, columns: number, ellipsis: string): string {
  if (displayWidth(text) <= columns) return text;
  const mark = ellipsis.length <= columns ? ellipsis : '';
  const room = columns - mark.length;
  let kept = '';
  let width = 0;
  for (const character of text) {
    width += widthOf(character);
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
