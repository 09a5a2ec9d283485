import type { IncomingMessage } from 'node:http';
import { AgentosError } from '../core/errors.ts';
import { type Fields, fieldsOf, parseJson } from '../core/json.ts';
import type { VendorName } from '../core/keys.ts';
import { isAgent, parseModelSpec, sameModel, vendorOf } from '../core/model-spec.ts';
import { isDearer, type Prices } from '../core/money.ts';
import { decoded, type Headers, requestHeaders } from './upstream.ts';
import { anthropic, google, openaiChat, openaiResponses } from './vendor-formats.ts';
import type { RequestFacts, WireFormat } from './wire-format.ts';

/** What a token allows: the calls of one attempt at one item. */
export interface Grant {
  item: string;
  /**
   * Specs of the allowed models. An agent's spec also allows its vendor's other models, because it uses small helper models, but none
   * that is known to cost more. Absent: all.
   */
  models?: readonly string[] | undefined;
  /** On the gateway's clock: no wait exceeds it. */
  deadlineMs?: number | null | undefined;
}

/** One accepted request of a caller. */
export interface Call {
  grant: Grant;
  route: Route;
  facts: RequestFacts;
  method: string;
  /** At the vendor, without a key. */
  url: URL;
  headers: Headers;
  body: Buffer | null;
}

interface Arrival {
  request: IncomingMessage;
  url: URL;
  route: Route;
  grant: Grant;
  /** The vendor's base URL, with the version. */
  base: string;
  prices: Prices;
  maxBytes: number;
}

const CREDENTIALS = new Set(['key', 'access_token']);

/** Reads the body, and returns the request as it will be sent. */
export async function readCall({ request, url, route, grant, base, prices, maxBytes }: Arrival): Promise<Call> {
  const target = new URL(base + route.path);
  for (const [name, value] of url.searchParams) {
    if (!CREDENTIALS.has(name)) target.searchParams.append(name, value);
  }
  const method = request.method ?? 'GET';
  const call = { grant, route, method, url: target, headers: requestHeaders(request.headers) };
  if (method === 'GET') {
    requireGranted(grant, route, null, prices);
    return { ...call, body: null, facts: { model: route.model, streaming: false, maxOutputTokens: null } };
  }
  const asked = parseObject(await readBody(request, route.vendor, maxBytes), route.vendor);
  const facts = route.format.readRequest(asked);
  // Sent as it was read: if the body names two models, the vendor could take the other one.
  const body = Buffer.from(JSON.stringify(asked));
  const model = route.model ?? facts.model;
  requireGranted(grant, route, model, prices);
  return { ...call, body, facts: { ...facts, model, streaming: route.streaming || facts.streaming } };
}

/** Throws if the token does not allow this vendor or model. */
function requireGranted({ models }: Grant, { kind, vendor }: Route, model: string | null, prices: Prices): void {
  const isGood = (text: string): boolean => {
    const spec = parseModelSpec(text);
    // We don't know which API such an agent uses: it may use every key of the run.
    if (isAgent(spec) && spec.vendor === null) return true;
    if (vendorOf(spec) !== vendor) return false;
    if (kind === 'models' || !('model' in spec)) return kind === 'models';
    if (!isAgent(spec)) return sameModel(spec.model, model ?? '');
    return spec.model === null || !isDearer(`${vendor}:${model ?? ''}`, `${vendor}:${spec.model}`, prices);
  };
  if (models === undefined || models.some(isGood)) return;
  const what = kind === 'models' ? `the models of ${vendor}` : `${vendor}:${model ?? ''}`;
  const detail = `${what} is not allowed for this item: its token allows only ${models.join(', ')}`;
  throw new AgentosError({ code: 'provider-refused-request', provider: vendor, status: 403, detail });
}

function parseObject(body: Buffer, provider: string): Fields {
  const value = parseJson(body.toString('utf8'));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return fieldsOf(value);
  const detail = 'the body of the request is not a JSON object';
  throw new AgentosError({ code: 'provider-refused-request', provider, status: 400, detail });
}

/** The whole body, decompressed. Throws with the status that the caller gets. */
async function readBody(request: IncomingMessage, provider: string, maxBytes: number): Promise<Buffer> {
  const refuse = (status: number, detail: string): AgentosError =>
    new AgentosError({ code: 'provider-refused-request', provider, status, detail });
  const encoding = request.headers['content-encoding'] ?? '';
  const body = decoded(request);
  if (body === null) throw refuse(415, `the request is encoded with ${encoding}, which the gateway can't read`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw refuse(400, `the request could not be read, or is not ${encoding || 'whole'}`);
  }
  if (bytes > maxBytes) throw refuse(413, `the request is larger than ${Math.round(maxBytes / 1_048_576)} MB`);
  return Buffer.concat(chunks);
}

export interface Route {
  vendor: VendorName;
  format: WireFormat;
  /** Only `generate` costs money; the others need a key too. */
  kind: 'generate' | 'count' | 'models';
  /** Relative to the vendor's base URL, which ends with the version: `/messages`. */
  path: string;
  /** If the path names it. */
  model: string | null;
  /** If the path says so; other formats say it in the body. */
  streaming: boolean;
}

const OPENAI: readonly VendorName[] = ['openai', 'openai-compatible'];

/** Without the version. `name`: of a model. */
const ENDPOINTS: readonly [vendors: readonly VendorName[], request: RegExp, format: WireFormat, kind: Route['kind']][] =
  [
    [['anthropic'], /^POST \/messages$/, anthropic, 'generate'],
    [['anthropic'], /^POST \/messages\/count_tokens$/, anthropic, 'count'],
    [['anthropic'], /^GET \/models(?:\/(?<name>[^:]+))?$/, anthropic, 'models'],
    [['google'], /^POST \/models\/(?<name>[^/:]+):(?:g|streamG)enerateContent$/, google, 'generate'],
    [['google'], /^POST \/models\/(?<name>[^/:]+):countTokens$/, google, 'count'],
    [['google'], /^GET \/models(?:\/(?<name>[^:]+))?$/, google, 'models'],
    [OPENAI, /^POST \/chat\/completions$/, openaiChat, 'generate'],
    [OPENAI, /^POST \/responses(?:\/compact)?$/, openaiResponses, 'generate'],
    [OPENAI, /^POST \/responses\/input_tokens$/, openaiResponses, 'count'],
    [OPENAI, /^GET \/models(?:\/(?<name>[^:]+))?$/, openaiChat, 'models'],
  ];

const VERSION = /^\/v\d+[a-z]*\d*(?=\/)/;

/** Checked after decoding. A vendor that decodes twice, or resolves `..`, could otherwise be led to another path. */
const MODEL_NAME = /^[a-z0-9][\w.@:+~-]*(?:\/[a-z0-9][\w.@:+~-]*)*$/i;

/** The first part of the path is the vendor's name. Null: the gateway has no such path. */
export function routeOf(method: string, url: URL): Route | null {
  const [, prefix = '', rest = ''] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
  const path = rest.replace(/\/+$/, '').replace(VERSION, '');
  for (const [vendors, request, format, kind] of ENDPOINTS) {
    const vendor = vendors.find((name) => name === prefix);
    const found = vendor === undefined ? null : request.exec(`${method} ${path}`);
    if (vendor === undefined || found === null) continue;
    const name = found.groups?.['name'];
    const model = name === undefined ? null : unescaped(name);
    if (model !== null && !MODEL_NAME.test(model)) return null;
    const streaming = path.endsWith(':streamGenerateContent');
    // Without it the stream is one JSON array, which no client asks for.
    if (streaming && url.searchParams.get('alt') !== 'sse') return null;
    return { vendor, format, kind, path, model: kind === 'models' ? null : model, streaming };
  }
  return null;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
