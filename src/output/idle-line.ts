import type { Writable } from 'node:stream';
import { wantsLiveRegion } from './live-region.ts';
import { createTerminal, printable } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What a program waits for, in one line: rewritten on a terminal, and elsewhere printed when it says something new. */
export interface IdleLine {
  /** `now`: what changes at every look, such as the time of the next one; left out where lines are kept. */
  show(text: string, now: string): void;
  /** The same as a line that stays. */
  keep(text: string): void;
  /** Before anything else is printed. */
  clear(): void;
}

const ERASE = '\r\u001B[K';

export function createIdleLine(
  stream: Writable & { isTTY?: boolean; columns?: number },
  { env, quiet, mask }: { env: Environment; quiet: boolean; mask: (text: string) => string },
): IdleLine {
  const terminal = createTerminal(stream, env, mask);
  const keep = (text: string): void => {
    if (!quiet) terminal.line(`[COORDINATOR] ${printable(text)}`);
  };
  if (!wantsLiveRegion(stream, env, quiet)) {
    let last = '';
    return {
      keep,
      show(text) {
        if (text !== last) keep(text);
        last = text;
      },
      clear: () => undefined,
    };
  }
  let isShown = false;
  return {
    keep,
    show(text, now) {
      // A line that wraps could not be rewritten.
      const room = Math.max(10, (stream.columns ?? 80) - 1);
      const line = mask(printable(`${text} · ${now}`));
      stream.write(`${ERASE}${line.length > room ? `${line.slice(0, room - 1)}…` : line}`);
      isShown = true;
    },
    clear() {
      if (isShown) stream.write(ERASE);
      isShown = false;
    },
  };
}
