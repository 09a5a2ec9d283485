import type { IncomingHttpHeaders } from 'node:http';
import { definedOnly } from '../core/json.ts';
import type { VendorName } from '../core/keys.ts';
import { MASK } from '../core/mask.ts';

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

/** The caller's headers as the vendor gets them, but for the key. */
export function requestHeaders(headers: IncomingHttpHeaders): Headers {
  const dropped = new Set([...HOP_BY_HOP, ...namedByConnection(headers), ...CREDENTIALS, ...REPLACED, ...TRACE]);
  const kept = Object.entries(headers).filter(([name]) => !dropped.has(name) && !name.startsWith('x-agentos-'));
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
  const kept = definedOnly(Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name))));
  if (key === '') return kept;
  const mask = (value: string): string => value.replaceAll(key, MASK);
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
