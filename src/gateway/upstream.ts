import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type Duplex, pipeline } from 'node:stream';
import { createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib';
import { systemClock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, systemCode, toErrorRecord } from '../core/errors.ts';
import { definedOnly, parseJson } from '../core/json.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import { createMask } from '../core/mask.ts';
import type { Secret } from '../core/secret.ts';
import { type VendorAgents, vendorBaseUrl } from '../models/settings.ts';
import { connectionLost, vendorFailure } from '../models/vendor-failure.ts';

export interface UpstreamRequest {
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
  response: IncomingMessage;
  /** The body, decompressed. The idle bound counts only while the reader waits for the vendor, not the other way round. */
  chunks(): AsyncGenerator<Buffer, void, undefined>;
  /** Closes the connection if it is still open. */
  stop(): void;
}

export type Upstream = ReturnType<typeof createUpstream>;

export function createUpstream({ idleMs }: { idleMs: number }, agents: VendorAgents) {
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
    async send(request: UpstreamRequest): Promise<VendorResponse> {
      try {
        return await sendOnce(request, open(request), idleMs);
      } catch (error) {
        if (!(error instanceof StaleConnection)) throw error;
        return await sendOnce(request, open(request), idleMs);
      }
    },
    close(): void {
      agents['http:'].destroy();
      agents['https:'].destroy();
    },
  };
}

/** The vendor closed a kept-alive connection just as we used it again: the request never arrived. */
class StaleConnection extends Error {}

function sendOnce(request: UpstreamRequest, client: ClientRequest, idleMs: number): Promise<VendorResponse> {
  const { vendor, secret, signal } = request;
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
  const settled = (): void => {
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
      throw connectionLost({ provider: vendor, secret }, error, 'provider-bad-reply', 'the answer broke off');
    } finally {
      settled();
    }
  }

  return new Promise((resolve, reject) => {
    client.on('error', (error) => {
      settled();
      if (end !== null) return reject(end.reason);
      if (client.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(systemCode(error) ?? '')) {
        return reject(new StaleConnection());
      }
      reject(connectionLost({ provider: vendor, secret }, error, 'provider-unreachable', request.url.host));
    });
    client.once('close', () => {
      // Destroyed without an error: still reject a caller that waits for the response.
      settled();
      if (end !== null) reject(end.reason);
    });
    client.once('response', (response) => {
      idle.refresh();
      response.once('end', settled);
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
  // The reader gets errors from the last stream of the pipeline.
  return decoder === undefined ? response : pipeline(response, decoder(), () => {});
}

const TRY_MS = 15_000;

/** Asks for the list of models, which is free with every vendor. Null: the key works. */
export async function tryKey(
  { vendor, secret: key }: VendorKey,
  { endpoint, agents }: { endpoint: string | undefined; agents: VendorAgents },
): Promise<ErrorRecord | null> {
  const secret = key.reveal();
  const signal = AbortSignal.timeout(TRY_MS);
  try {
    const url = new URL(`${vendorBaseUrl(vendor, endpoint)}/models`);
    const version = vendor === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {};
    const headers = { ...keyHeader(vendor, secret), ...version };
    const request = { vendor, url, method: 'GET', headers, body: null, secret, signal };
    const received = await createUpstream({ idleMs: TRY_MS }, agents).send(request);
    const { response } = received;
    const { statusCode: status = 0 } = response;
    const body = parseJson(await beginningOf(received));
    if (status >= 200 && status < 300) return null;
    const answer = { status, headers: plainHeaders(response.headers), body, fallback: `status ${status}` };
    return toErrorRecord(vendorFailure({ ...answer, provider: vendor, secret, nowMs: Date.now() }));
  } catch (error) {
    return toErrorRecord(
      error instanceof AgentosError
        ? error
        : connectionLost({ provider: vendor, secret }, error, 'provider-unreachable', ''),
    );
  }
}

/** A list of models is shorter, and so is an error. */
const MOST_CHARS = 1_000_000;

async function beginningOf(received: VendorResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of received.chunks()) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MOST_CHARS) break;
  }
  received.stop();
  return text;
}

export type Headers = Record<string, string | string[]>;

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

/** For our own processes only: a vendor that sends one must not speak in our name. */
function isOurs(name: string): boolean {
  return name.startsWith('x-agentos-');
}

/** The caller's headers as the vendor gets them, without the key. */
export function requestHeaders(headers: IncomingHttpHeaders): Headers {
  const dropped = new Set([...HOP_BY_HOP, ...namedByConnection(headers), ...CREDENTIALS, ...REPLACED, ...TRACE]);
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name) && !isOurs(name));
  return { ...definedOnly(Object.fromEntries(kept)), 'accept-encoding': 'identity' };
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

/** The vendor's headers as the caller gets them. Cookies belong to the holder of the key. */
export function responseHeaders(headers: IncomingHttpHeaders, key: Secret): Headers {
  const dropped = new Set([...HOP_BY_HOP, ...namedByConnection(headers), ...REPLACED, 'set-cookie']);
  const kept = definedOnly(
    Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name) && !isOurs(name))),
  );
  const mask = createMask([key]);
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
