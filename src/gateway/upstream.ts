import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib';
import { systemClock } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { detailOf } from '../models/detail.ts';
import type { VendorAgents } from '../models/vendor-agents.ts';
import type { Headers } from './headers.ts';

export interface UpstreamRequest {
  vendor: VendorName;
  url: URL;
  method: string;
  headers: Headers;
  body: Buffer | null;
  /** Kept out of every error. */
  secret: string;
  signal: AbortSignal;
}

/** One request to a vendor. Every failure is an `AgentosError`, or the signal's reason. */
export interface Flight {
  response: IncomingMessage;
  /** The body, decoded if the vendor compressed it unasked. The idle bound counts only while the reader waits, not while the vendor waits for the reader. */
  chunks(): AsyncGenerator<Buffer, void, undefined>;
  /** Closes the connection if it is still open. */
  stop(): void;
}

export interface Upstream {
  send(request: UpstreamRequest): Promise<Flight>;
  close(): void;
}

export function createUpstream({ idleMs }: { idleMs: number }, agents: VendorAgents): Upstream {
  const open = ({ url, method, headers, body }: UpstreamRequest): ClientRequest => {
    const options = {
      method,
      headers: body === null ? headers : { ...headers, 'content-length': String(body.byteLength) },
    };
    const request =
      url.protocol === 'https:'
        ? https.request(url, { ...options, agent: agents['https:'] })
        : http.request(url, { ...options, agent: agents['http:'] });
    request.setNoDelay(true);
    request.end(body ?? undefined);
    return request;
  };
  return {
    async send(request) {
      try {
        return await fly(request, open(request), idleMs);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        return await fly(request, open(request), idleMs);
      }
    },
    close() {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

/** The vendor closed a kept connection just as it was used again: the request never arrived. */
class StaleConnection extends Error {}

function fly(request: UpstreamRequest, client: ClientRequest, idleMs: number): Promise<Flight> {
  const { vendor, signal } = request;
  let end: { reason: unknown } | null = null;
  let readerBusy = false;

  const stop = (reason: unknown): void => {
    end ??= { reason };
    idle.stop();
    signal.removeEventListener('abort', aborted);
    client.destroy();
  };
  const aborted = (): void => stop(signal.reason);
  const idle = systemClock.timer(idleMs, () => {
    if (readerBusy) idle.refresh();
    else stop(new AgentosError({ code: 'call-idle', what: vendor, afterMs: idleMs }, { retry: 'idle' }));
  });
  const landed = (): void => {
    idle.stop();
    signal.removeEventListener('abort', aborted);
  };

  async function* chunks(response: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const chunk of decoded(response)) {
        readerBusy = true;
        yield chunk;
        readerBusy = false;
        idle.refresh();
      }
    } catch (error) {
      if (end !== null) throw end.reason;
      throw lost(request, error, 'provider-bad-reply', 'the answer broke off');
    } finally {
      landed();
    }
  }

  return new Promise((resolve, reject) => {
    client.on('error', (error) => {
      landed();
      if (end !== null) return reject(end.reason);
      if (client.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(systemCode(error) ?? '')) {
        return reject(new StaleConnection());
      }
      reject(lost(request, error, 'provider-unreachable', request.url.host));
    });
    client.once('close', () => {
      // Destroyed without an error: a caller that waits for the head still has to be rejected.
      landed();
      if (end !== null) reject(end.reason);
    });
    client.once('response', (response) => {
      idle.refresh();
      response.once('end', landed);
      resolve({ response, chunks: () => chunks(response), stop: () => stop(null) });
    });
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  });
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

function decoded(response: IncomingMessage): AsyncIterable<Buffer> {
  const decoder = DECODERS[response.headers['content-encoding']?.trim().toLowerCase() ?? ''];
  // The reader gets the error from the last stream.
  return decoder === undefined ? response : pipeline(response, decoder(), () => {});
}

function lost(
  { vendor, secret }: UpstreamRequest,
  error: unknown,
  code: 'provider-unreachable' | 'provider-bad-reply',
  where: string,
): AgentosError {
  const origin = error instanceof AggregateError && error.errors.length > 0 ? (error.errors[0] as unknown) : error;
  const system = systemCode(origin);
  const message = origin instanceof Error ? origin.message : String(origin);
  const known = system !== null && !message.includes(system) ? [system] : [];
  const detail = detailOf([where, ...known, message].filter(Boolean).join(': '), secret);
  return new AgentosError({ code, provider: vendor, detail }, { retry: 'transient' });
}
