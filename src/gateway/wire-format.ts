import { AgentosError, type ErrorCode, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import { type Fields, fieldsOf, parseJson } from '../core/json.ts';
import { isPlausible, type Usage } from '../core/money.ts';
import { wordingOf } from '../core/wording.ts';
import type { Headers } from './upstream.ts';

/** What a request's body says; null: it doesn't. */
export interface RequestFacts {
  model: string | null;
  streaming: boolean;
  maxOutputTokens: number | null;
}

/** What the events of an answer have said so far. */
export interface Tally {
  usage: Usage | null;
  answered: string | null;
  stopReason: string | null;
  /** The format's own end marker was seen. */
  complete: boolean;
  /** An error came inside an answer that started well. */
  failed: boolean;
}

/** A failure of ours, to be sent in a vendor's format. */
export interface Failure {
  status: number;
  message: string;
  retryAfterMs: number | null;
  record: ErrorRecord;
}

/** A vendor's wire format, as far as the gateway has to understand it. */
export interface WireFormat {
  readonly name: 'anthropic' | 'google' | 'openai-chat' | 'openai-responses';
  /** Sent while a caller waits. Every client of the format ignores it. */
  readonly keepAlive: string;
  /** The status that means that the vendor is overloaded, not the key. */
  readonly overloadedStatus: number;
  readRequest(body: Fields): RequestFacts;
  /** Adds what one event of a stream, or a whole body, says. */
  read(event: Fields, tally: Tally): void;
  /** A whole answer as the events of a stream; absent: every server of the format streams. */
  streamOf?(body: Fields): string;
  /** The status that an error event stands for; null: it is not an error. */
  errorStatus(event: Fields): number | null;
  errorBody(failure: Failure): Fields;
  errorEvent(failure: Failure): string;
  /** Sent as a separate chunk before that event, for clients that find errors only there. */
  errorPreface?(failure: Failure): string;
}

export function emptyTally(): Tally {
  return { usage: null, answered: null, stopReason: null, complete: false, failed: false };
}

/** A missing count is 0; one that is not a count makes every sum with it NaN. */
export function countOf(value: unknown): number {
  if (value === undefined || value === null) return 0;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : Number.NaN;
}

/** What an answer used; null if it is unknown or not plausible. */
export function usageOf({ usage }: Tally): Usage | null {
  return usage !== null && isPlausible(usage) ? usage : null;
}

export function limitOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}

/** A longer event is skipped, so that metering can't fill the memory. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** Reads an answer as it passes. */
export function createSseMeter(format: WireFormat) {
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
    /** The first event of the stream; null: it has not arrived yet. */
    get first(): Fields | null {
      return first;
    },
    push: (chunk: Uint8Array) => reader.push(chunk),
  };
}

/** Null: the text is not a JSON object. */
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

/** Calls back with the data of each server-sent event of a stream. */
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

/** Carries our classification of an error to our own clients, whatever the vendor's format does to it. */
export const ERROR_HEADER = 'x-agentos-error';

/** An error as a caller gets it. Clients act on the status: they retry 429 and 5xx, but not other 4xx. */
export function failureOf(error: unknown, format: WireFormat): Failure {
  const record = toErrorRecord(error instanceof AgentosError ? error : hidden(error));
  const { message, hint } = wordingOf(record.problem);
  return {
    status: statusOf(record, format),
    message: hint === null ? message : `${message} ${hint}`,
    retryAfterMs: record.problem.code === 'provider-quota' ? record.problem.retryAfterMs : null,
    record,
  };
}

/** A defect of ours: callers don't get its stack. */
function hidden(error: unknown): AgentosError {
  const detail = error instanceof Error ? error.message : String(error);
  return new AgentosError({ code: 'internal', detail: `the gateway failed: ${detail}` });
}

/** Others are 500. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  usage: 400,
  'provider-rejected-key': 401,
  'key-missing': 401,
  'over-budget': 402,
  'provider-unreachable': 502,
  'provider-bad-reply': 502,
  'reply-empty': 502,
  'reply-too-large': 502,
  'item-timeout': 503,
  'run-timeout': 503,
  interrupted: 503,
  'call-idle': 504,
  'call-ceiling': 504,
};

function statusOf({ problem, retry }: ErrorRecord, format: WireFormat): number {
  switch (problem.code) {
    case 'provider-quota':
      return retry === 'quota' ? 429 : 402;
    case 'provider-overloaded':
      return format.overloadedStatus;
    case 'provider-refused-request':
      return problem.status ?? 400;
    default:
      return STATUSES[problem.code] ?? 500;
  }
}

export function failureHeaders({ retryAfterMs, record }: Failure): Headers {
  return {
    'content-type': 'application/json',
    ...recordHeader(record),
    'x-should-retry': String(record.retry !== 'permanent'),
    ...(retryAfterMs === null ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
  };
}

/** Clients refuse headers of more than a few kilobytes. */
const MAX_DETAIL_CHARS = 1_000;

/** Header values are ASCII. */
export function recordHeader({ problem, retry }: ErrorRecord): Headers {
  const short = 'detail' in problem ? { ...problem, detail: problem.detail.slice(0, MAX_DETAIL_CHARS) } : problem;
  const text = JSON.stringify({ problem: short, retry }).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return { [ERROR_HEADER]: text };
}
