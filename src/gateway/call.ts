import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, zstdDecompress } from 'node:zlib';
import { AgentosError } from '../core/errors.ts';
import { parseJson } from '../core/json.ts';
import { type Fields, fieldsOf } from '../models/json-fields.ts';
import { type Headers, requestHeaders } from './headers.ts';
import type { Route } from './route.ts';
import type { Grant } from './tokens.ts';
import type { RequestFacts } from './vendors/format.ts';

/** One request of a caller, read and accepted. */
export interface Call {
  grant: Grant;
  route: Route;
  facts: RequestFacts;
  method: string;
  /** At the vendor, without any key. */
  url: URL;
  headers: Headers;
  body: Buffer | null;
}

interface Arrival {
  request: IncomingMessage;
  url: URL;
  route: Route;
  grant: Grant;
  /** Of the vendor, with the version. */
  base: string;
  maxBytes: number;
}

const CREDENTIALS = new Set(['key', 'access_token']);

/** The request as it will be sent, once its body is here. */
export async function readCall({ request, url, route, grant, base, maxBytes }: Arrival): Promise<Call> {
  const target = new URL(base + route.path);
  for (const [name, value] of url.searchParams) {
    if (!CREDENTIALS.has(name)) target.searchParams.append(name, value);
  }
  const method = request.method ?? 'GET';
  const call = { grant, route, method, url: target, headers: requestHeaders(request.headers) };
  if (method === 'GET') {
    return { ...call, body: null, facts: { model: route.model, streaming: false, maxOutputTokens: null } };
  }
  const body = await readBody(request, route.vendor, maxBytes);
  const facts = route.format.readRequest(parseObject(body, route.vendor));
  return {
    ...call,
    body,
    facts: { ...facts, model: route.model ?? facts.model, streaming: route.streaming || facts.streaming },
  };
}

function parseObject(body: Buffer, provider: string): Fields {
  const value = parseJson(body.toString('utf8'));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return fieldsOf(value);
  const detail = 'the body of the request is not a JSON object';
  throw new AgentosError({ code: 'provider-refused-request', provider, status: 400, detail });
}

const DECODERS: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** The whole body, decoded. Fails with the status that the caller gets. */
async function readBody(request: IncomingMessage, vendor: string, maxBytes: number): Promise<Buffer> {
  const refuse = (status: number, detail: string): AgentosError =>
    new AgentosError({ code: 'provider-refused-request', provider: vendor, status, detail });
  const tooLarge = (): AgentosError => refuse(413, `the request is larger than ${Math.round(maxBytes / 1_048_576)} MB`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  const encoding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '') return body;
  const decode = DECODERS[encoding];
  if (decode === undefined) throw refuse(415, `the request is encoded with ${encoding}, which the gateway can't read`);
  return decode(body, { maxOutputLength: maxBytes }).catch((error: unknown) => {
    throw error instanceof RangeError ? tooLarge() : refuse(400, `the request is not ${encoding}`);
  });
}
