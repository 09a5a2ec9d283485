import type { ServerResponse } from 'node:http';
import { systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, type Problem, toErrorRecord } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { wordingOf } from '../core/wording.ts';
import { gatewayErrorIn } from '../models/vendor-failure.ts';
import type { Headers } from './upstream.ts';
import type { Failure, WireFormat } from './vendors/format.ts';

/** Where an answer goes: to a caller as it comes, or into a recording that callers follow. */
export interface Sink {
  /** Queued: nothing is paid yet. Sent: the vendor has it. */
  phase(phase: 'queued' | 'sent'): void;
  /** A stream begins. */
  head(status: number, headers: Headers): void;
  /** A promise where the receiver is behind: the next piece waits for it. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** An answer in one piece, an error of the vendor's too. */
  whole(status: number, headers: Headers, body: Buffer): void;
  /** At any time: instead of an answer, or in the middle of it. */
  fail(error: unknown): void;
}

export interface CallerOptions {
  vendor: VendorName;
  format: WireFormat;
  /** It asked for a stream: only then can a wait be filled with keep-alives. */
  streaming: boolean;
  earlyHeadersMs: number;
  keepAliveMs: number;
  /** A caller that takes nothing for this long is taken for gone. */
  idleMs: number;
}

export interface Caller extends Sink {
  /** Fires when the connection closes before the answer was written to its end. */
  readonly gone: AbortSignal;
}

const EARLY_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };

/** Pieces that are written with this in between are read one by one. */
const APART_MS = 50;

/**
 * The caller's side of one request.
 *
 * silent    nothing written; early headers are due after a while if it asked for a stream
 * early     our own headers and keep-alives are written; whatever comes must be written inside the stream
 * streaming the vendor's bytes are written as they come
 * ended     nothing more may be written
 *
 * silent → early → streaming → ended; any state may be skipped.
 */
export function createCaller(response: ServerResponse, options: CallerOptions): Caller {
  const { vendor, format, streaming, earlyHeadersMs, keepAliveMs, idleMs } = options;
  const gone = new AbortController();
  let state: 'silent' | 'early' | 'streaming' | 'ended' = 'silent';
  let lastByte = '\n';
  let timer: NodeJS.Timeout | undefined;

  const keepAlive = (): void => {
    if (state === 'silent') {
      response.writeHead(200, EARLY_HEADERS);
      state = 'early';
    }
    response.write(format.keepAlive);
    timer = setTimeout(keepAlive, keepAliveMs);
  };
  if (streaming) timer = setTimeout(keepAlive, earlyHeadersMs);

  response.once('close', () => {
    clearTimeout(timer);
    if (!response.writableFinished) {
      state = 'ended';
      gone.abort();
    }
  });

  const finish = (data?: string | Buffer): void => {
    clearTimeout(timer);
    state = 'ended';
    response.end(data);
  };

  const drained = (): Promise<void> =>
    new Promise((resolve) => {
      const stuck = systemClock.timer(idleMs, () => response.destroy());
      const done = (): void => {
        stuck.stop();
        response.off('drain', done).off('close', done);
        resolve();
      };
      response.once('drain', done).once('close', done);
    });

  const caller: Caller = {
    gone: gone.signal,
    phase: () => {},
    head(status, headers) {
      if (state === 'early' && !isEventStream(headers)) {
        return caller.fail(unexpected(vendor, 'something else than the stream that was asked for'));
      }
      if (state === 'silent') response.writeHead(status, headers);
      if (state !== 'ended') state = 'streaming';
    },
    write(chunk) {
      if (state !== 'streaming' || chunk.byteLength === 0) return undefined;
      clearTimeout(timer);
      lastByte = String.fromCharCode(chunk.at(-1) ?? 0);
      return response.write(chunk) ? undefined : drained();
    },
    end() {
      if (state === 'streaming') finish();
    },
    whole(status, headers, body) {
      if (state === 'early') {
        if (status < 400) return caller.fail(unexpected(vendor, 'a whole answer instead of a stream'));
        const refusal = gatewayErrorIn(String(headers[ERROR_HEADER] ?? ''));
        return caller.fail(refusal ?? unexpected(vendor, `status ${status}`));
      }
      if (state !== 'silent') return;
      response.writeHead(status, { ...headers, 'content-length': String(body.byteLength) });
      finish(body);
    },
    fail(error) {
      if (state === 'ended') return;
      const failure = failureOf(error, format);
      if (state === 'silent') {
        response.writeHead(failure.status, failureHeaders(failure));
        finish(JSON.stringify(format.errorBody(failure)));
      } else if (streaming) {
        // An event that was torn apart is ended first, or it would swallow this one.
        const event = `${lastByte === '\n' ? '' : '\n\n'}${format.errorEvent(failure)}`;
        const preface = format.errorPreface?.(failure);
        if (preface === undefined) return finish(event);
        clearTimeout(timer);
        state = 'ended';
        response.write(preface);
        timer = setTimeout(() => response.end(event), APART_MS);
      } else {
        clearTimeout(timer);
        response.destroy();
      }
    },
  };
  return caller;
}

function isEventStream(headers: Headers): boolean {
  return String(headers['content-type'] ?? '').startsWith('text/event-stream');
}

function unexpected(provider: VendorName, what: string): AgentosError {
  return new AgentosError(
    { code: 'provider-bad-reply', provider, detail: `the vendor sent ${what}` },
    { retry: 'transient' },
  );
}

/** Where our own clients find an error as it was classified here, whatever the vendor's shape made of it. */
const ERROR_HEADER = 'x-agentos-error';

/** What a caller gets, in the status that its client acts on: it retries 429 and 5xx by itself, 402 and 4xx not. */
export function failureOf(error: unknown, format: WireFormat): Failure {
  const record = shortened(toErrorRecord(error instanceof AgentosError ? error : hidden(error)));
  const { message, hint } = wordingOf(record.problem);
  return {
    status: statusOf(record.problem, record.retry === 'quota', format),
    message: hint === null ? message : `${message} ${hint}`,
    retryAfterMs: record.problem.code === 'provider-quota' ? record.problem.retryAfterMs : null,
    record,
  };
}

/** A defect of ours: its stack is for our own records, not for callers. */
function hidden(error: unknown): AgentosError {
  const detail = error instanceof Error ? error.message : String(error);
  return new AgentosError({ code: 'internal', detail: `the gateway failed: ${detail}` });
}

/** Clients refuse headers of more than some kilobytes. */
const MAX_DETAIL_CHARS = 1_000;

function shortened({ problem, retry }: ErrorRecord): ErrorRecord {
  if (!('detail' in problem)) return { problem, retry };
  return { problem: { ...problem, detail: problem.detail.slice(0, MAX_DETAIL_CHARS) }, retry };
}

function statusOf(problem: Problem, comesBack: boolean, format: WireFormat): number {
  switch (problem.code) {
    case 'provider-quota':
      return comesBack ? 429 : 402;
    case 'over-budget':
      return 402;
    case 'provider-rejected-key':
      return 401;
    case 'provider-overloaded':
      return format.overloadedStatus;
    case 'provider-refused-request':
      return problem.status ?? 400;
    case 'provider-unreachable':
    case 'provider-bad-reply':
    case 'reply-empty':
    case 'reply-too-large':
      return 502;
    case 'call-idle':
    case 'call-ceiling':
      return 504;
    case 'key-missing':
      return 401;
    case 'usage':
      return 400;
    case 'item-timeout':
    case 'run-timeout':
    case 'interrupted':
      return 503;
    default:
      return 500;
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

/** Header values are ASCII. */
export function recordHeader(record: ErrorRecord): Headers {
  const text = JSON.stringify(shortened(record)).replaceAll(
    /[^\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return { [ERROR_HEADER]: text };
}
