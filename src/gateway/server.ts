import { randomBytes } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Bounds } from '../core/config.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { createVendorAgents, vendorBaseUrl } from '../models/settings.ts';
import type { RunTrace } from '../telemetry/run-trace.ts';
import { UNTRACED } from '../telemetry/tracer.ts';
import { type AnswerSink, createAnswers, createCaller } from './answer.ts';
import { type Grant, type Route, readCall, routeOf } from './call.ts';
import { type ExchangeSettings, exchange } from './exchange.ts';
import { ACCOUNT_PATH, createLedger } from './ledger.ts';
import { createUpstream } from './upstream.ts';
import { openaiChat } from './vendor-formats.ts';
import { failureHeaders, failureOf, type WireFormat } from './wire-format.ts';

/** Durations of the transport are on the system's clock, like the clients. Waits for a key are on `clock`. */
export interface GatewayBounds extends Pick<ExchangeSettings, 'maxWaitMs' | 'maxSilentWaitMs'> {
  /** A streaming caller that waits longer gets headers and keep-alives. */
  earlyHeadersMs: number;
  keepAliveMs: number;
  /** A call without a byte from the vendor for this long is dead. */
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
};

/** For the bounds of a run: headers and keep-alives come well before the callers' own idle timeout. */
export function gatewayBounds({ idleTimeoutMs, maxQuotaWaitMs }: Bounds): Partial<GatewayBounds> {
  const silenceMs = Math.max(50, Math.min(BOUNDS.keepAliveMs, idleTimeoutMs / 3));
  return { earlyHeadersMs: silenceMs, keepAliveMs: silenceMs, idleMs: idleTimeoutMs, maxWaitMs: maxQuotaWaitMs };
}

export interface GatewayOptions extends Pick<ExchangeSettings, 'pool' | 'prices' | 'budget' | 'clock'> {
  /** Base URLs that differ from the vendors' official ones. A compatible server has no official one. */
  upstreams: Partial<Record<VendorName, string | undefined>>;
  /** For the proxy variables; absent: no proxy. */
  env?: Readonly<Record<string, string | undefined>>;
  onEvent?: ExchangeSettings['onEvent'];
  /** Puts a request into the trace; absent: nothing is traced. */
  traceRequest?: RunTrace['request'];
  bounds?: Partial<GatewayBounds>;
}

type FindGrant = (tokens: readonly string[]) => Grant | undefined;

/** A gateway without its own server. */
export type GatewayCore = ReturnType<typeof createGateway>;
export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Set by a relay, which sends keep-alives itself. */
export const RELAY_HEADER = 'x-agentos-relay';
/** Longer than any call may take. */
const NEVER_MS = 24 * 3_600_000;

/** Speaks the vendors' formats and puts a key of the pool into each request. */
export function createGateway(options: GatewayOptions) {
  const { pool, clock, prices, budget, onEvent = () => {}, traceRequest = UNTRACED.request } = options;
  const bounds = { ...BOUNDS, ...options.bounds };
  const answers = createAnswers();
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

  const serveCall = async (
    request: IncomingMessage,
    url: URL,
    route: Route,
    grant: Grant,
    response: ServerResponse,
  ) => {
    const base = vendorBaseUrl(route.vendor, options.upstreams[route.vendor]);
    const call = await readCall({ request, url, route, grant, base, prices, maxBytes: bounds.maxRequestBytes });
    const isRelayed = request.headers[RELAY_HEADER] !== undefined;
    const caller = createCaller(response, {
      ...bounds,
      ...(isRelayed ? { earlyHeadersMs: NEVER_MS, keepAliveMs: NEVER_MS } : {}),
      vendor: route.vendor,
      format: route.format,
      streaming: call.facts.streaming,
    });
    const operation = route.kind === 'generate' ? 'chat' : route.kind;
    const traceparent = String(request.headers['traceparent'] ?? '');
    const asked = { item: grant.item, traceparent, operation, vendor: route.vendor, model: call.facts.model };
    const answerTo = (sink: AnswerSink, signal: AbortSignal): Promise<boolean> =>
      traceRequest(asked, (span) => exchange(call, sink, signal, settings, span));
    const step = request.headers['x-agentos-step'];
    if (typeof step !== 'string' || step === '' || route.kind !== 'generate' || call.body === null) {
      await answerTo(caller, AbortSignal.any([caller.gone, closing.signal]));
      return;
    }
    const question = { item: grant.item, step, vendor: route.vendor, path: call.url.pathname, body: call.body };
    const { recording, reused } = answers.join(question, (sink, unwanted) =>
      tracked(answerTo(sink, AbortSignal.any([unwanted, closing.signal]))),
    );
    if (reused) onEvent(grant.item, { type: 'answer-reused', step });
    await recording.deliverTo(caller);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse, grantOf: FindGrant): Promise<void> => {
    const url = URL.parse(request.url ?? '/', 'http://127.0.0.1');
    const route = url === null ? null : routeOf(request.method ?? 'GET', url);
    const asksForAccount = request.method === 'GET' && url?.pathname === ACCOUNT_PATH;
    try {
      if (url === null || (route === null && !asksForAccount)) {
        const detail = `the gateway has no ${request.method} ${(request.url ?? '').replace(/\?.*$/, '')}`;
        throw new AgentosError({ code: 'provider-refused-request', provider: 'gateway', status: 404, detail });
      }
      const grant = grantOf(tokensOf(request.headers, url));
      if (grant === undefined) {
        const detail = 'the gateway does not know this token';
        throw new AgentosError({
          code: 'provider-rejected-key',
          provider: route?.vendor ?? 'gateway',
          status: 401,
          detail,
        });
      }
      if (route !== null) return await serveCall(request, url, route, grant, response);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(ledger.accountOf(grant.item)));
    } catch (error) {
      refuse(response, route?.format ?? openaiChat, error);
    }
  };

  return {
    /** `grantOf`: the grant for the tokens that a request carries. Never rejects. */
    async handle(request: IncomingMessage, response: ServerResponse, grantOf: FindGrant): Promise<void> {
      response.on('error', () => {});
      await tracked(serve(request, response, grantOf));
    },
    /**
     * Drops the item's recorded answer: it has stored it, or its attempt ended in an orderly way and the next one asks again.
     * Don't call it for a worker that crashed: its successor comes back for what was paid.
     */
    forget: (item: string): void => answers.forget(item),
    spentBefore: ledger.spentBefore,
    spentByRun: ledger.spentByRun,
    spentUsd: ledger.spentUsd,
    /** Ends all calls in flight. */
    async close(): Promise<void> {
      closing.abort(new AgentosError({ code: 'interrupted', signal: 'the end of the run' }));
      await Promise.all(running);
      upstream.close();
    },
  };
}

/** The gateway of one run, as an HTTP server on 127.0.0.1. */
export async function startGateway(options: GatewayOptions) {
  const core = createGateway(options);
  const tokens = createTokens();
  const server = createServer((request, response) => {
    void core.handle(request, response, tokens.find);
  });
  // Longer than clients keep an idle connection: closing it as a request arrives would look like a fault.
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
    /** The base URL for clients of this vendor, without the version, as the variables of agents want it. */
    endpointOf: (vendor: VendorName): string => `${url}/${vendor}`,
    issueToken: tokens.issue,
    revoke: tokens.revoke,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function refuse(response: ServerResponse, format: WireFormat, error: unknown): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const failure = failureOf(error, format);
  // The unread rest of a body would be taken for the next request.
  response.writeHead(failure.status, { ...failureHeaders(failure), connection: 'close' });
  response.end(JSON.stringify(format.errorBody(failure)));
}

export function createTokens() {
  const grants = new Map<string, Grant>();
  return {
    issue: (grant: Grant): string => {
      const token = `agentos-${randomBytes(24).toString('base64url')}`;
      grants.set(token, grant);
      return token;
    },
    revoke: (token: string): void => void grants.delete(token),
    /** The grant of the first known token. */
    find: (tokens: readonly string[]) => tokens.map((token) => grants.get(token)).find((grant) => grant !== undefined),
  };
}

/** The tokens in all places where clients put their key. */
export function tokensOf(headers: IncomingHttpHeaders, url: URL): string[] {
  const bearer = /^Bearer\s+(.+)$/i.exec(headers.authorization ?? '')?.[1];
  return [headers['x-api-key'], bearer, headers['x-goog-api-key'], ...url.searchParams.getAll('key')]
    .flatMap((value) => value ?? [])
    .map((value) => value.trim());
}
