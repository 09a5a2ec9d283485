import type { ServerResponse } from 'node:http';
import { systemClock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { vendorFailure } from '../models/vendor-failure.ts';
import { failureHeaders, failureOf } from './failure.ts';
import type { Headers } from './headers.ts';
import { parseJson } from './meter.ts';
import type { Sink } from './sink.ts';
import type { WireFormat } from './vendors/format.ts';

export interface CallerOptions {
  vendor: VendorName;
  format: WireFormat;
  /** It asked for a stream of events: only then can a wait be filled with keep-alives. */
  sse: boolean;
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
 * early     our own headers and keep-alives are written; whatever comes must be told inside the stream
 * streaming the vendor's bytes are written as they come
 * ended     nothing more may be written
 *
 * silent → early → streaming → ended; any state may be left out.
 */
export function createCaller(response: ServerResponse, options: CallerOptions): Caller {
  const { vendor, format, sse, earlyHeadersMs, keepAliveMs, idleMs } = options;
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
  if (sse) timer = setTimeout(keepAlive, earlyHeadersMs);

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
      if (state !== 'streaming') return undefined;
      if (chunk.byteLength === 0) return undefined;
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
        const plain = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
        const text = body.toString('utf8');
        return caller.fail(
          vendorFailure({
            provider: vendor,
            status,
            headers: plain,
            body: parseJson(text),
            fallback: `status ${status}`,
            secret: '',
            nowMs: Date.now(),
          }),
        );
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
      } else if (sse) {
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
