import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib';
import { systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, systemCode, toErrorRecord } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { Secret } from '../core/secret.ts';
import { type VendorAgents, vendorBaseUrl } from '../models/settings.ts';
import { connectionLost, vendorFailure } from '../models/vendor-failure.ts';

interface UpstreamRequest {
  vendor: VendorName;
  url: URL;
  method: string;
  headers: Headers;
  body: Buffer | null;
  /** Masked in every error. */
  secret: string;
  signal: AbortSignal;
}

/** A response whose body is read as it arrives. Every failure is an `AgentosError`, or the signal's reason. */
export interface VendorResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body, decompressed. The idle bound counts only while the reader waits for the vendor, not the other way round. */
  chunks(): AsyncGenerator<Buffer, void, undefined>;
  /** The body, or this much of it. */
  read(maxBytes: number): Promise<Buffer>;
  /** Closes the connection if it is still open. */
  stop(): void;
}

export type Upstream = ReturnType<typeof createUpstream>;

export function createUpstream({ idleMs }: { idleMs: number }, agents: VendorAgents) {
  const send = async (request: UpstreamRequest, isAgain = false): Promise<VendorResponse> => {
    const { vendor: provider, url, method, headers, body, secret } = request;
    const idle = new AbortController();
    const signal = AbortSignal.any([request.signal, idle.signal]);
    let isReading = false;
    const timer = systemClock.timer(idleMs, () => {
      if (isReading) timer.refresh();
      else idle.abort(new AgentosError({ code: 'call-idle', what: provider, afterMs: idleMs }, { retry: 'idle' }));
    });
    const length = body === null ? {} : { 'content-length': String(body.byteLength) };
    const options = { method, signal, headers: { ...headers, ...length } };
    const client =
      url.protocol === 'https:'
        ? https.request(url, { ...options, agent: agents['https:'] })
        : http.request(url, { ...options, agent: agents['http:'] });
    // The first one rejects `once`; those after the response are errors of its body too.
    client.on('error', () => undefined);
    client.setNoDelay(true);
    client.end(body ?? undefined);
    const stop = (): void => {
      timer.stop();
      client.destroy();
    };
    const lost = (error: unknown, code: 'provider-unreachable' | 'provider-bad-reply', where: string): unknown =>
      signal.aborted ? signal.reason : connectionLost({ provider, secret }, error, code, where);

    let response: IncomingMessage;
    try {
      [response] = (await once(client, 'response')) as [IncomingMessage];
    } catch (error) {
      stop();
      // The vendor closed a kept-alive connection just as we used it again: the request never arrived.
      const isStale = client.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(systemCode(error) ?? '');
      if (isStale && !isAgain && !signal.aborted) return send(request, true);
      throw lost(error, 'provider-unreachable', url.host);
    }
    timer.refresh();

    async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
      try {
        for await (const chunk of decoded(response) ?? response) {
          isReading = true;
          yield chunk;
          isReading = false;
          timer.refresh();
        }
      } catch (error) {
        throw lost(error, 'provider-bad-reply', 'the answer broke off');
      } finally {
        timer.stop();
      }
    }
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      chunks,
      async read(maxBytes) {
        const pieces: Buffer[] = [];
        let bytes = 0;
        for await (const chunk of chunks()) {
          pieces.push(chunk);
          bytes += chunk.byteLength;
          if (bytes >= maxBytes) break;
        }
        return Buffer.concat(pieces).subarray(0, maxBytes);
      },
      stop,
    };
  };
  return {
    send: (request: UpstreamRequest): Promise<VendorResponse> => send(request),
    close(): void {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

const DECODERS: Readonly<Record<string, () => Duplex>> = {
  gzip: createUnzip,
  'x-gzip': createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** The body of a request or a response, decompressed; null: it is in an encoding that we can't read. */
export function decoded(message: IncomingMessage): AsyncIterable<Buffer> | null {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return message;
  const decoder = DECODERS[encoding];
  // The reader gets errors from the last stream of the pipeline.
  return decoder === undefined ? null : pipeline(message, decoder(), () => {});
}

const TRY_MS = 15_000;
/** A list of models is shorter, and so is an error. */
const MOST_BYTES = 1_000_000;

/** Asks for the list of models, which is free with every vendor. Null: the key works. */
export async function tryKey(
  { vendor, secret: key }: VendorKey,
  { endpoint, agents }: { endpoint: string | undefined; agents: VendorAgents },
): Promise<ErrorRecord | null> {
  const secret = key.reveal();
  try {
    const url = new URL(`${vendorBaseUrl(vendor, endpoint)}/models`);
    const version = vendor === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {};
    const headers = { ...keyHeader(vendor, secret), ...version };
    const signal = AbortSignal.timeout(TRY_MS);
    const request = { vendor, url, method: 'GET', headers, body: null, secret, signal };
    const received = await createUpstream({ idleMs: TRY_MS }, agents).send(request);
    const { status } = received;
    const body = parseJson((await received.read(MOST_BYTES)).toString('utf8'));
    received.stop();
    if (status >= 200 && status < 300) return null;
    const answer = { status, headers: plainHeaders(received.headers), body, fallback: `status ${status}` };
    return toErrorRecord(vendorFailure({ ...answer, provider: vendor, secret, nowMs: Date.now() }));
  } catch (error) {
    return toErrorRecord(
      error instanceof AgentosError
        ? error
        : connectionLost({ provider: vendor, secret }, error, 'provider-unreachable', ''),
    );
  }
}

export type Headers = Record<string, string>;

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

/** Replaced by our own. We ask for uncompressed answers, so that they can be metered as they pass. */
const REPLACED = ['host', 'content-length', 'content-encoding', 'accept-encoding'];

/** Vendors don't get our trace context. */
const TRACE = ['traceparent', 'tracestate', 'baggage'];

/** Node joins repeated headers, except `set-cookie`: cookies belong to the holder of the key, and nobody gets them. */
export function plainHeaders(headers: IncomingHttpHeaders): Headers {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** `x-agentos-…` headers are for our own processes only: a vendor that sends one must not speak in our name. */
function passedOn(headers: IncomingHttpHeaders, more: readonly string[]): [name: string, value: string][] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase());
  const dropped = new Set([...HOP_BY_HOP, ...named, ...REPLACED, ...more]);
  return Object.entries(plainHeaders(headers)).filter(([name]) => !dropped.has(name) && !name.startsWith('x-agentos-'));
}

/** The caller's headers as the vendor gets them, without the key. */
export function requestHeaders(headers: IncomingHttpHeaders): Headers {
  return { ...Object.fromEntries(passedOn(headers, [...CREDENTIALS, ...TRACE])), 'accept-encoding': 'identity' };
}

/** The vendor's headers as the caller gets them. */
export function responseHeaders(headers: IncomingHttpHeaders, key: Secret): Headers {
  const mask = createMask([key]);
  return Object.fromEntries(passedOn(headers, []).map(([name, value]) => [name, mask(value)]));
}

/** A compatible server that needs no key gets no header. */
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
