import type { ServerResponse } from 'node:http';
import { systemClock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { gatewayErrorIn } from '../models/vendor-failure.ts';
import { ERROR_HEADER, failureHeaders, failureOf } from './failure.ts';
import type { Headers } from './headers.ts';
import type { WireFormat } from './vendors/format.ts';

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
