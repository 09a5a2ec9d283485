import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib';
import { systemClock } from '../core/clock.ts';
import { AgentosError, systemCode } from '../core/errors.ts';
import { definedOnly } from '../core/json.ts';
import type { VendorName } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import { Secret } from '../core/secret.ts';
import { detailOf } from '../models/detail.ts';
import type { VendorAgents } from '../models/vendor-agents.ts';

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

export type Headers = Record<string, string | string[]>;

/** They speak of one connection, and there are two. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
];

const CREDENTIALS = ['authorization', 'proxy-authorization', 'x-api-key', 'x-goog-api-key', 'api-key', 'cookie'];

/** Set for what is really sent; compressed answers could not be metered as they pass. */
const REPLACED = ['host', 'content-length', 'content-encoding', 'accept-encoding'];

/** Between the caller and us; whose trace it is, is nothing to the vendor. */
const TRACE = ['traceparent', 'tracestate', 'baggage'];

/** Between our own processes and us: a vendor that sends one would speak in our name. */
function isOurs(name: string): boolean {
  return name.startsWith('x-agentos-');
}

/** The caller's headers as the vendor gets them, but for the key. */
export function requestHeaders(headers: IncomingHttpHeaders): Headers {
  const dropped = new Set([...HOP_BY_HOP, ...namedByConnection(headers), ...CREDENTIALS, ...REPLACED, ...TRACE]);
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name) && !isOurs(name));
  return { ...definedOnly(Object.fromEntries(kept)), 'accept-encoding': 'identity' };
}

/** A compatible server that wants no key gets no header. */
export function keyHeader(vendor: VendorName, key: string): Headers {
  switch (vendor) {
    case 'anthropic':
      return { 'x-api-key': key };
    case 'google':
      return { 'x-goog-api-key': key };
    case 'openai':
    case 'openai-compatible':
      return key === '' ? {} : { authorization: `Bearer ${key}` };
  }
}

/** The vendor's headers as the caller gets them: those of the bytes that are passed on. Cookies belong to the holder of the key. */
export function responseHeaders(headers: IncomingHttpHeaders, key: string): Headers {
  const dropped = new Set([...HOP_BY_HOP, ...namedByConnection(headers), ...REPLACED, 'set-cookie']);
  const kept = definedOnly(
    Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name) && !isOurs(name))),
  );
  if (key === '') return kept;
  const mask = createMask([new Secret(key)]);
  return Object.fromEntries(
    Object.entries(kept).map(([name, value]) => [name, Array.isArray(value) ? value.map(mask) : mask(value)]),
  );
}

/** For the pool, which reads limits from them. */
export function plainHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}

function namedByConnection(headers: IncomingHttpHeaders): string[] {
  return (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
}
