import type { Writable } from 'node:stream';
import { wantsLiveRegion } from './live-region.ts';
import { createTerminal, printable } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const ERASE = '\r\u001B[K';

/** Says in one line what a program waits for: rewritten on a terminal, otherwise printed when it changes. */
export function createIdleLine(
  stream: Writable & { isTTY?: boolean; columns?: number },
  { env, quiet, mask }: { env: Environment; quiet: boolean; mask: (text: string) => string },
) {
  const terminal = createTerminal(stream, env, mask);
  const isLive = wantsLiveRegion(stream, env, quiet);
  let shown = '';
  /** Prints a line that stays. */
  const keep = (text: string): void => {
    if (!quiet) terminal.line(`[COORDINATOR] ${printable(text)}`);
  };
  return {
    keep,
    /** `now`: the part that changes all the time; only shown on a terminal. */
    show(text: string, now: string): void {
      if (isLive) {
        // A line that wraps can't be rewritten.
        const room = Math.max(10, (stream.columns ?? 80) - 1);
        const line = mask(printable(`${text} · ${now}`));
        stream.write(`${ERASE}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`);
      } else if (text !== shown) keep(text);
      shown = text;
    },
    /** To be called before anything else is printed. */
    clear(): void {
      if (!isLive) return;
      if (shown !== '') stream.write(ERASE);
      shown = '';
    },
  };
}
