const MAX_LINE_CHARS = 10_000;

export interface LineReader {
  push(piece: Uint8Array): void;
  end(): void;
}

/** Cuts a stream of bytes into lines. A line that does not end is passed on in pieces, so that it can't fill the memory. */
export function createLineReader(onLine: (line: string) => void): LineReader {
  const decoder = new TextDecoder();
  let rest = '';
  const take = (text: string): void => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) onLine(line.replace(/\r$/, ''));
    while (rest.length > MAX_LINE_CHARS) {
      onLine(rest.slice(0, MAX_LINE_CHARS));
      rest = rest.slice(MAX_LINE_CHARS);
    }
  };
  return {
    push: (piece) => take(decoder.decode(piece, { stream: true })),
    end() {
      take(decoder.decode());
      if (rest !== '') onLine(rest);
      rest = '';
    },
  };
}
