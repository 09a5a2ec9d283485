import { type Fields, fieldsOf } from '../models/json-fields.ts';
import { createSseReader } from './sse-reader.ts';
import { emptyTally, type Tally, type WireFormat } from './vendors/format.ts';

/** Of a stream that is one JSON array: what is longer is passed on unread. */
const MAX_ARRAY_BYTES = 16 * 1024 * 1024;

/** Reads what an answer used while it passes by. */
export interface Meter {
  readonly tally: Tally;
  /** The first event of the stream once it is there. */
  readonly first: Fields | null;
  push(chunk: Uint8Array): void;
  end(): void;
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
    end: () => {},
  };
}

/** Gemini without `alt=sse` streams the elements of an array; they are read at the end. */
export function createArrayMeter(format: WireFormat): Meter {
  const tally = emptyTally();
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  return {
    tally,
    first: {},
    push(chunk) {
      bytes += chunk.byteLength;
      if (bytes > MAX_ARRAY_BYTES) chunks = [];
      else chunks.push(chunk);
    },
    end() {
      const whole = parseJson(Buffer.concat(chunks).toString('utf8'));
      for (const event of Array.isArray(whole) ? whole : []) format.read(fieldsOf(event), tally);
    },
  };
}

/** A whole body; null where it is no JSON object. */
export function meterWhole(format: WireFormat, text: string): { body: Fields; tally: Tally } | null {
  const body = parseObject(text);
  if (body === null) return null;
  const tally = emptyTally();
  format.read(body, tally);
  return { body, tally };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function parseObject(text: string): Fields | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? fieldsOf(value) : null;
}
