import { cut, displayWidth } from './live-width.ts';
import { paint } from './terminal.ts';

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
  style: Parameters<typeof paint>[1] | 'plain';
}

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
    if (visible !== '') row += spaces + (style === 'plain' ? visible : paint(screen, style, visible));
    spaces = visible === '' ? spaces + fitted : fitted.slice(visible.length);
    if (fitted !== text) break;
  }
  return row;
}
