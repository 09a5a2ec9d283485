import type { IncomingMessage } from 'node:http';
import { AgentosError } from '../core/errors.ts';
import { type Fields, fieldsOf } from '../models/json-fields.ts';
import type { Call } from './call.ts';
import { requestHeaders } from './headers.ts';
import { parseJson } from './meter.ts';
import { readRequestBody } from './request-body.ts';
import type { Route } from './route.ts';
import type { Grant } from './token.ts';
import { withUsageAsked } from './vendors/openai-chat.ts';

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
  const headers = requestHeaders(request.headers);
  const call = { grant, route, method, url: target, headers, hidesUsage: false };
  if (method === 'GET') {
    return { ...call, body: null, facts: { model: route.model, streaming: false, maxOutputTokens: null } };
  }
  const body = await readRequestBody(request, route.vendor, maxBytes);
  const fields = parseObject(body, route.vendor);
  const facts = route.format.readRequest(fields);
  const withUsage = route.format.name === 'openai-chat' ? withUsageAsked(fields) : null;
  return {
    ...call,
    body: withUsage === null ? body : Buffer.from(JSON.stringify(withUsage)),
    hidesUsage: withUsage !== null,
    facts: { ...facts, model: route.model ?? facts.model, streaming: route.streaming || facts.streaming },
  };
}

function parseObject(body: Buffer, provider: string): Fields {
  const value = parseJson(body.toString('utf8'));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return fieldsOf(value);
  const detail = 'the body of the request is not a JSON object';
  throw new AgentosError({ code: 'provider-refused-request', provider, status: 400, detail });
}
