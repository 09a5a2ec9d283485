/** An event longer than this is skipped: reading along must not fill the memory. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

export interface SseReader {
  push(bytes: Uint8Array): void;
}

/** Cuts server-sent events out of a stream that passes by, and gives the data of each. The stream itself is not held up. */
export function createSseReader(onData: (data: string) => void): SseReader {
  let line: Uint8Array[] = [];
  let data: string[] = [];
  let bytes = 0;

  const endLine = (): void => {
    const text = Buffer.concat(line).toString('utf8').replace(/\r$/, '');
    line = [];
    if (text === '') {
      if (data.length > 0 && bytes <= MAX_EVENT_BYTES) onData(data.join('\n'));
      data = [];
      bytes = 0;
    } else if (text.startsWith('data:')) {
      data.push(text.slice(text.startsWith('data: ') ? 6 : 5));
    }
  };
  const keep = (piece: Uint8Array): void => {
    bytes += piece.byteLength;
    if (bytes > MAX_EVENT_BYTES) {
      line = [];
      data = [];
    } else if (piece.byteLength > 0) {
      line.push(piece);
    }
  };
  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, from)) {
        keep(chunk.subarray(from, at));
        endLine();
        from = at + 1;
      }
      keep(chunk.subarray(from));
    },
  };
}
