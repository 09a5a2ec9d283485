import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Clock } from '../core/clock.ts';
import { AgentosError } from '../core/errors.ts';
import { VENDORS, type VendorName } from '../core/keys.ts';
import type { BudgetLimits, PriceSetting } from '../core/money.ts';
import { vendorBaseUrl } from '../models/base-url.ts';
import { createVendorAgents } from '../models/vendor-agents.ts';
import type { Pool } from '../pool/port.ts';
import { type Call, type Grant, readCall, routeOf } from './call.ts';
import { createCaller, failureHeaders, failureOf, type Sink } from './caller.ts';
import { type ExchangeBounds, exchange, type GatewayEvent, type TraceRequest, tracedExchange } from './exchange.ts';
import { ACCOUNT_PATH, createLedger } from './ledger.ts';
import { type AnswerBounds, createAnswers } from './recording.ts';
import { createUpstream } from './upstream.ts';
import { openaiChat } from './vendors/openai.ts';

/** Every duration of the transport is on the system's clock: clients live there. Waits for a key are on `clock`. */
export interface GatewayBounds extends AnswerBounds, ExchangeBounds {
  /** A streaming caller that waits longer than this gets headers and keep-alives. */
  earlyHeadersMs: number;
  keepAliveMs: number;
  /** Without a byte from the vendor for this long, a call is taken for dead. */
  idleMs: number;
  maxRequestBytes: number;
}

const BOUNDS: GatewayBounds = {
  earlyHeadersMs: 10_000,
  keepAliveMs: 10_000,
  idleMs: 300_000,
  maxWaitMs: 3_600_000,
  // Gemini CLI gives up after 60 s of silence.
  maxSilentWaitMs: 50_000,
  maxRequestBytes: 32 * 1024 * 1024,
  maxAnswers: 500,
  maxBytes: 128 * 1024 * 1024,
};

export interface GatewayOptions {
  pool: Pick<Pool, 'acquire' | 'outlook'>;
  /** The vendors' base URLs where they are not their own; a compatible server has none of its own. */
  upstreams: Partial<Record<VendorName, string | undefined>>;
  /** Where proxies are named; absent: none. */
  env?: Readonly<Record<string, string | undefined>>;
  prices: Readonly<Record<string, PriceSetting>>;
  budget: BudgetLimits;
  clock: Clock;
  onEvent?: (event: GatewayEvent) => void;
  /** Where in a trace a request belongs; absent: nothing is traced. */
  traceRequest?: TraceRequest | undefined;
  bounds?: Partial<GatewayBounds>;
}

/** A gateway without a server of its own. */
export interface GatewayCore {
  /** `grantOf`: what the tokens that the request carries stand for; null: nothing. Never rejects. */
  handle(request: IncomingMessage, response: ServerResponse, grantOf: FindGrant): Promise<void>;
  /**
   * The item's answers are stored, or its attempt ended in an orderly way and the next one asks again. Not to be called
   * for a worker that crashed: its successor comes back for what was paid.
   */
  forget(item: string): void;
  /** What an item spent before this run and takes over; it counts for the item, not for the run. */
  addSpent(item: string, costUsd: number): void;
  /** What the run spent before the program was started again. */
  addSpentByRun(costUsd: number): void;
  spentUsd(item?: string): number;
  /** Ends what is under way. */
  close(): Promise<void>;
}

type FindGrant = (tokens: readonly string[]) => Grant | null;

export interface Gateway extends Omit<GatewayCore, 'handle'> {
  url: string;
  /** What a client of this vendor takes for the vendor's base URL; without the version, as the agents' variables want it. */
  endpointOf(vendor: VendorName): string;
  issueToken(grant: Grant): string;
  revoke(token: string): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Set by a relay: it fills waits with keep-alives itself. */
export const RELAY_HEADER = 'x-agentos-relay';
/** Longer than any call may take. */
const NEVER_MS = 24 * 3_600_000;

/** Speaks the vendors' formats and puts a key of the pool in for each request. */
export function createGateway(options: GatewayOptions): GatewayCore {
  const { pool, clock, prices, budget, onEvent = () => {} } = options;
  const bounds = { ...BOUNDS, ...options.bounds };
  const bases = baseUrls(options.upstreams);
  const answers = createAnswers(bounds);
  const ledger = createLedger(budget);
  const upstream = createUpstream(bounds, createVendorAgents(options.env ?? {}));
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const tracked = <T>(work: Promise<T>): Promise<T> => {
    running.add(work);
    void work.finally(() => running.delete(work)).catch(() => undefined);
    return work;
  };
  const settings = { ...bounds, pool, upstream, ledger, budget, prices, clock, onEvent };

  const serve = async (request: IncomingMessage, response: ServerResponse, grantOf: FindGrant): Promise<void> => {
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    const route = url === null ? null : routeOf(request.method ?? 'GET', url);
    const asksForAccount = request.method === 'GET' && url?.pathname === ACCOUNT_PATH;
    if (url === null || (route === null && !asksForAccount)) return refuse(response, openaiChat, notFound(request));
    const grant = grantOf(tokensOf(request.headers, url));
    if (route === null) {
      if (grant === null) return refuse(response, openaiChat, unknownToken('gateway'));
      return sendJson(response, ledger.accountOf(grant.item));
    }
    if (grant === null) return refuse(response, route.format, unknownToken(route.vendor));
    const base = bases[route.vendor];
    if (base instanceof AgentosError) return refuse(response, route.format, base);
    const call = await readCall({ request, url, route, grant, base, maxBytes: bounds.maxRequestBytes }).catch(
      (error: unknown) => refuse(response, route.format, error),
    );
    if (call === undefined) return;
    const isRelayed = request.headers[RELAY_HEADER] !== undefined;
    const caller = createCaller(response, {
      ...bounds,
      ...(isRelayed ? { earlyHeadersMs: NEVER_MS, keepAliveMs: NEVER_MS } : {}),
      vendor: route.vendor,
      format: route.format,
      streaming: call.facts.streaming,
    });
    const traceable = (asked: Call, sink: Sink, signal: AbortSignal): Promise<boolean> =>
      tracedExchange(options.traceRequest, asked, request.headers, () => exchange(asked, sink, signal, settings));
    const step = request.headers['x-agentos-step'];
    if (typeof step !== 'string' || step === '' || route.kind !== 'generate' || call.body === null) {
      await traceable(call, caller, AbortSignal.any([caller.gone, closing.signal]));
      return;
    }
    const question = { item: grant.item, step, vendor: route.vendor, path: call.url.pathname, body: call.body };
    const { recording, reused } = answers.join(question, (sink) =>
      tracked(traceable(call, sink, AbortSignal.any([sink.unwanted, closing.signal]))),
    );
    if (reused !== 'no') {
      const who = { item: grant.item, vendor: route.vendor, model: call.facts.model ?? '' };
      onEvent({ type: 'gateway-answer-reused', ...who, step, finished: reused === 'finished' });
    }
    await recording.deliverTo(caller);
  };

  return {
    async handle(request, response, grantOf) {
      response.on('error', () => {});
      await tracked(serve(request, response, grantOf).catch((error: unknown) => refuse(response, openaiChat, error)));
    },
    forget: (item) => answers.forget(item),
    addSpent: (item, costUsd) => ledger.addToItem(item, costUsd),
    addSpentByRun: (costUsd) => ledger.addToRun(costUsd),
    spentUsd: (item) => ledger.spentUsd(item),
    async close() {
      closing.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the run' }));
      await Promise.all(running);
      upstream.close();
    },
  };
}

/** An HTTP server on 127.0.0.1 with the gateway of one run. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const core = createGateway(options);
  const tokens = createTokenBook();
  const server = createServer((request, response) => {
    const known: FindGrant = (given) => (isLoopback(request) ? tokens.find(given) : null);
    void core.handle(request, response, known);
  });
  // Longer than clients keep an idle connection: a close that crosses a request would look like a fault.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, resolve);
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;

  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const ended = core.close();
    server.closeAllConnections();
    await closed;
    await ended;
  };
  return {
    ...core,
    url,
    endpointOf: (vendor) => `${url}/${vendor}`,
    issueToken: (grant) => tokens.issue(grant),
    revoke: (token) => tokens.revoke(token),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function baseUrls(given: GatewayOptions['upstreams']): Record<VendorName, string | AgentosError> {
  const read = (vendor: VendorName): string | AgentosError => {
    try {
      return vendorBaseUrl(vendor, given[vendor]);
    } catch (error) {
      // Only a request for this vendor needs it.
      if (error instanceof AgentosError) return error;
      throw error;
    }
  };
  return Object.fromEntries(VENDORS.map((vendor) => [vendor, read(vendor)])) as Record<
    VendorName,
    string | AgentosError
  >;
}

function refuse(response: ServerResponse, format: Parameters<typeof failureOf>[1], error: unknown): undefined {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const failure = failureOf(error, format);
  // The rest of a body that was not read would be taken for the next request.
  response.writeHead(failure.status, { ...failureHeaders(failure), connection: 'close' });
  response.end(JSON.stringify(format.errorBody(failure)));
}

function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function isLoopback({ socket }: IncomingMessage): boolean {
  return /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
}

function notFound({ method, url }: IncomingMessage): AgentosError {
  const path = (url ?? '').replace(/\?.*$/, '');
  const detail = `the gateway has no ${method} ${path}`;
  return new AgentosError({ code: 'provider-refused-request', provider: 'gateway', status: 404, detail });
}

function unknownToken(provider: string): AgentosError {
  const detail = 'the gateway does not know this token';
  return new AgentosError({ code: 'provider-rejected-key', provider, status: 401, detail });
}

interface TokenBook {
  issue(grant: Grant): string;
  revoke(token: string): void;
  /** The grant of the first known token among those that the request carries. */
  find(tokens: readonly string[]): Grant | null;
}

export function createTokenBook(): TokenBook {
  const grants = new Map<string, Grant>();
  return {
    issue(grant) {
      const token = `agentos-${randomBytes(24).toString('base64url')}`;
      grants.set(token, grant);
      return token;
    },
    revoke: (token) => void grants.delete(token),
    find: (tokens) => tokens.map((token) => grants.get(token)).find((grant) => grant !== undefined) ?? null,
  };
}

/** Where the clients of each vendor put their key. */
export function tokensOf(headers: IncomingHttpHeaders, url: URL): string[] {
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  return [headers['x-api-key'], bearer, headers['x-goog-api-key'], ...url.searchParams.getAll('key')]
    .flatMap((value) => value ?? [])
    .map((value) => value.trim());
}
