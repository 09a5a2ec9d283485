import { cut, displayWidth } from './live-width.ts';
import { paint, paintLabel } from './terminal.ts';

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
