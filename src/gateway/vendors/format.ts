import type { ErrorRecord } from '../../core/errors.ts';
import { parseJson } from '../../core/json.ts';
import { isPlausible, type Usage } from '../../core/money.ts';
import { type Fields, fieldsOf } from '../../models/json-fields.ts';

/** What a request's body says of its cost; null where it doesn't. */
export interface RequestFacts {
  model: string | null;
  streaming: boolean;
  maxOutputTokens: number | null;
}

/** What an answer has said so far. It fills up as events pass. */
export interface Tally {
  usage: Usage | null;
  answered: string | null;
  stopReason: string | null;
  /** The format's own sign of the end was seen. */
  complete: boolean;
  /** An error came inside an answer that began well. */
  failed: boolean;
}

/** A failure of ours, to be said in a vendor's shape. */
export interface Failure {
  status: number;
  message: string;
  retryAfterMs: number | null;
  record: ErrorRecord;
}

/** A vendor's wire format, as far as the gateway has to understand it. */
export interface WireFormat {
  readonly name: 'anthropic' | 'google' | 'openai-chat' | 'openai-responses';
  /** Sent while a caller waits; every client of the format skips it. */
  readonly keepAlive: string;
  /** The status that means "the vendor, not the key, has too much to do". */
  readonly overloadedStatus: number;
  readRequest(body: Fields): RequestFacts;
  /** Takes over what one event of a stream, or a whole body, says. */
  read(event: Fields, tally: Tally): void;
  /** The status that an error inside a stream stands for; null: the event is no error. */
  errorStatus(event: Fields): number | null;
  errorBody(failure: Failure): Fields;
  errorEvent(failure: Failure): string;
  /** What has to arrive by itself before that event, for clients that look for errors in no event. */
  errorPreface?(failure: Failure): string;
}

export function emptyTally(): Tally {
  return { usage: null, answered: null, stopReason: null, complete: false, failed: false };
}

/** What a vendor leaves out is nothing; what is no count makes every sum with it none. */
export function countOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : Number.NaN;
}

/** What an answer used, if it can be believed. */
export function usageOf({ usage }: Tally): Usage | null {
  return usage !== null && isPlausible(usage) ? usage : null;
}

export function limitOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}

/** An event longer than this is skipped: reading along must not fill the memory. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Reads what an answer used while it passes by. */
interface Meter {
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
