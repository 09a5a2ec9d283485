import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { AgentosError } from '../core/errors.ts';
import { ANSWER_HEADER, type Caller, createCaller, sendWhole } from '../gateway/answer.ts';
import { type Call, type Route, readCall, routeOf } from '../gateway/call.ts';
import { RELAY_HEADER, tokensOf } from '../gateway/server.ts';
import { HubAway, type HubLink } from './hub-link.ts';

export interface Relay {
  /** On 127.0.0.1. */
  url: string;
  /** Required for git. Agents know their item's token, which is for model calls only: without this header they could read other items' refs. */
  gitHeader: string;
  /** Whether a request with this token waits for the hub or a vendor. */
  isWaiting(token: string): boolean;
  close(): Promise<void>;
}

const BOUNDS = { earlyHeadersMs: 5_000, keepAliveMs: 5_000, idleMs: 300_000 };
const MOST_BYTES = 32 * 1024 * 1024;
const PAUSE_MS = 300;

const GIT_HEADER = 'x-agentos-git';

/** Headers that are not forwarded: hop-by-hop headers, those of a decoded body, and our own. */
const OWN_HEADERS = new Set([
  GIT_HEADER,
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'content-encoding',
  'upgrade',
  'expect',
]);

/**
 * A plain server on loopback through which workers, agents and git on this machine reach the hub. While the hub is away, callers wait and the
 * relay asks again; the answer of a durable step continues where it was cut off.
 */
export async function startRelay(link: HubLink): Promise<Relay> {
  const waiting = new Map<string, number>();
  const closing = new AbortController();
  const gitKey = randomBytes(24).toString('base64url');

  const count = (token: string, change: number): void => {
    const left = (waiting.get(token) ?? 0) + change;
    if (left > 0) waiting.set(token, left);
    else waiting.delete(token);
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    if (url === null) return fail(response, 400);
    const route = routeOf(request.method ?? 'GET', url);
    if (route === null && request.headers[GIT_HEADER] !== gitKey) return fail(response, 403);
    if (route === null) return passThrough(link, request, response);
    // The relay only reads what the caller asks for; the hub checks the permission.
    const hub = { grant: { item: '' }, base: 'http://hub', prices: {}, maxBytes: MOST_BYTES };
    const call = await readCall({ request, url, route, ...hub });
    const caller = createCaller(response, {
      ...BOUNDS,
      vendor: route.vendor,
      format: route.format,
      streaming: call.facts.streaming,
    });
    const token = tokensOf(request.headers, url)[0] ?? '';
    count(token, 1);
    try {
      await relay(link, { request, call, caller, route, signal: AbortSignal.any([caller.gone, closing.signal]) });
    } finally {
      count(token, -1);
    }
  };

  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    serve(request, response).catch(() => fail(response, 502));
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
    gitHeader: `${GIT_HEADER}: ${gitKey}`,
    isWaiting: (token) => waiting.has(token),
    async close() {
      closing.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the machine' }));
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Relayed {
  request: IncomingMessage;
  call: Call;
  caller: Caller;
  route: Route;
  signal: AbortSignal;
}

/** Relays one model call, over as many connections as it takes. */
async function relay(link: HubLink, { request, call, caller, route, signal }: Relayed): Promise<void> {
  const isStep = request.headers['x-agentos-step'] !== undefined;
  const headers = { ...forwarded(request.headers), [RELAY_HEADER]: '1' };
  const asking = { method: request.method ?? 'GET', path: request.url ?? '/', headers, body: call.body, signal };
  let answer: string | null = null;
  let delivered = 0;
  while (!signal.aborted) {
    const response = await link.ask(asking).catch((error: unknown) => {
      if (error instanceof HubAway) return null;
      throw error;
    });
    if (response === null) {
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      continue;
    }
    const status = response.statusCode ?? 502;
    const isStream = String(response.headers['content-type'] ?? '').startsWith('text/event-stream');
    if (!isStream || status >= 400) {
      const body = await buffer(response).catch(() => null);
      if (body !== null) return sendWhole(caller, status, forwarded(response.headers), body);
      continue;
    }
    const id = String(response.headers[ANSWER_HEADER] ?? '');
    if (delivered > 0 && id !== answer) return caller.fail(cutOff(route));
    if (answer === null) caller.head(status, forwarded(response.headers));
    answer = id;
    const end = await deliver(response, caller, delivered);
    delivered = Math.max(delivered, end.bytes);
    if (end.isWhole) return caller.end();
    if (!isStep) return caller.fail(cutOff(route));
  }
}

/** Writes the part of the answer that the caller does not have yet. */
async function deliver(
  response: IncomingMessage,
  caller: Caller,
  from: number,
): Promise<{ bytes: number; isWhole: boolean }> {
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const fresh = chunk.subarray(Math.max(0, from - bytes));
      bytes += chunk.byteLength;
      if (fresh.byteLength > 0) await caller.write(fresh);
    }
    return { bytes, isWhole: response.complete };
  } catch {
    return { bytes, isWhole: false };
  }
}

function cutOff({ vendor }: Route): AgentosError {
  const detail = 'the connection to the hub broke in the middle of an answer';
  return new AgentosError({ code: 'provider-unreachable', provider: vendor, detail }, { retry: 'transient' });
}

/** Forwards git's requests unchanged, once. */
async function passThrough(link: HubLink, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { 'content-encoding': encoding, 'content-length': length } = request.headers;
  const body = request.method === 'GET' ? null : request;
  const headers = {
    ...forwarded(request.headers),
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
    ...(length === undefined ? {} : { 'content-length': length }),
  };
  const answer = await link.ask({ method: request.method ?? 'GET', path: request.url ?? '/', headers, body });
  response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers));
  answer.on('error', () => response.destroy());
  answer.on('aborted', () => response.destroy());
  answer.pipe(response);
}

function forwarded(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OWN_HEADERS.has(name) ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}

function fail(response: ServerResponse, status: number): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { connection: 'close' });
  response.end();
}
