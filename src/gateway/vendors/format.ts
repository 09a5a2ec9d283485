import type { ErrorRecord } from '../../core/errors.ts';
import type { Usage } from '../../core/money.ts';
import type { Fields } from '../../models/json-fields.ts';

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

export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}

export function limitOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
}
