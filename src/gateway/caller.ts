import type { ServerResponse } from 'node:http';
import { systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorCode, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { wordingOf } from '../core/wording.ts';
import { badReply, gatewayErrorIn } from '../models/vendor-failure.ts';
import type { Headers } from './upstream.ts';
import type { Failure, WireFormat } from './vendors/format.ts';

/** Where an answer goes: to a caller as it arrives, or into a recording that callers follow. */
export interface AnswerSink {
  /** Queued: nothing is paid yet. Sent: the vendor has the request. */
  phase(phase: 'queued' | 'sent'): void;
  /** An answer starts, or an error of the vendor. */
  head(status: number, headers: Headers): void;
  /** Returns a promise if the receiver is slow: wait for it before the next chunk. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  end(): void;
  /** Instead of an answer, or in the middle of one. */
  fail(error: unknown): void;
}

export function sendWhole(sink: AnswerSink, status: number, headers: Headers, body: Buffer): void {
  sink.head(status, { ...headers, 'content-length': String(body.byteLength) });
  void sink.write(body);
  sink.end();
}

interface CallerOptions {
  vendor: VendorName;
  format: WireFormat;
  /** It asked for a stream: only then can we send keep-alives while it waits. */
  streaming: boolean;
  earlyHeadersMs: number;
  keepAliveMs: number;
  /** A caller that reads nothing for this long is considered gone. */
  idleMs: number;
}

export interface Caller extends AnswerSink {
  /** Aborted when the connection closes before the whole answer was written. */
  readonly gone: AbortSignal;
}

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';
const EARLY_HEADERS = { 'content-type': EVENT_STREAM, 'cache-control': 'no-cache' };

/** Chunks written this far apart are read one by one. */
const APART_MS = 50;

/**
 * The caller's side of one request.
 *
 * silent    nothing written yet; a caller that asked for a stream gets early headers after a while
 * early     our own headers and keep-alives are written; whatever follows must be written inside the stream
 * streaming the vendor's bytes are written as they arrive
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
      if (state === 'early' && !headers['content-type']?.startsWith('text/event-stream')) {
        const refusal = gatewayErrorIn(headers[ERROR_HEADER] ?? null);
        return caller.fail(refusal ?? badReply(vendor, `the vendor sent no stream, but status ${status}`));
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
    fail(error) {
      if (state === 'ended') return;
      const failure = failureOf(error, format);
      if (state === 'silent') {
        response.writeHead(failure.status, failureHeaders(failure));
        finish(JSON.stringify(format.errorBody(failure)));
      } else if (streaming) {
        // An incomplete event is ended first, or it would swallow this one.
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

/** Carries our classification of an error to our own clients, whatever the vendor's format does to it. */
const ERROR_HEADER = 'x-agentos-error';

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
