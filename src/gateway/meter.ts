import { parseJson } from '../core/json.ts';
import { type Fields, fieldsOf } from '../models/json-fields.ts';
import { emptyTally, type Tally, type WireFormat } from './vendors/format.ts';

/** An event longer than this is skipped: reading along must not fill the memory. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Reads what an answer used while it passes by. */
export interface Meter {
  readonly tally: Tally;
  /** The first event of the stream once it is there. */
  readonly first: Fields | null;
  push(chunk: Uint8Array): void;
}

export function createSseMeter(format: WireFormat): Meter {
  const tally = emptyTally();
  let first: Fields | null = null;
  const reader = createSseReader((data) => {
    const event = parseObject(data);
    if (event === null) return;
    first ??= event;
    format.read(event, tally);
  });
  return {
    tally,
    get first() {
      return first;
    },
    push: (chunk) => reader.push(chunk),
  };
}

/** A whole body; null where it is not a JSON object. */
export function meterWhole(format: WireFormat, text: string): { body: Fields; tally: Tally } | null {
  const body = parseObject(text);
  if (body === null) return null;
  const tally = emptyTally();
  format.read(body, tally);
  return { body, tally };
}

function parseObject(text: string): Fields | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? fieldsOf(value) : null;
}

/** Cuts server-sent events out of a stream that passes by, and gives the data of each. The stream itself is not held up. */
export function createSseReader(onData: (data: string) => void): { push(bytes: Uint8Array): void } {
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
