import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { type Answer, estimateTokens } from './answer.ts';
import { type Call, createCallLog } from './calls.ts';
import { type Counters, createCounters } from './counters.ts';
import { createDilatedClock } from './dilated-clock.ts';
import { createExchange } from './exchange.ts';
import { createKeyRing, type KeyRing } from './keys.ts';
import { modelsBody } from './models.ts';
import type { VendorOptions } from './options.ts';
import { readBody } from './request-body.ts';
import { keyOf, type Route, route } from './route.ts';

interface OtherRequest {
  method: string;
  path: string;
  status: number;
}

export interface Vendor {
  url: string;
  /** Requests for replies, in the order of arrival. */
  calls: readonly Call[];
  /** All other requests: lists of models, token counts, unknown paths, probes. */
  others: readonly OtherRequest[];
  counters: Counters;
  clock: Clock;
  /** Resolves when n requests have arrived. This and the next two reject when the vendor is closed first. */
  waitForCalls: (n: number) => Promise<void>;
  /** Resolves when n responses were written to their end. */
  waitForFinished: (n: number) => Promise<void>;
  /** Looks again whenever a call arrives or ends. */
  waitFor: (enough: (calls: readonly Call[]) => boolean) => Promise<void>;
  /** From now on the key is refused. */
  killKey: (key: string, death?: Answer) => void;
  /** Ends all connections at once. */
  close: () => Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const DEFAULT_MODELS = ['claude-sonnet-4-5', 'gemini-2.5-pro', 'gpt-5'];

/** A model vendor on 127.0.0.1 that speaks four wire formats, obeys a script, enforces limits, and counts. */
export async function startVendor(options: VendorOptions = {}): Promise<Vendor> {
  const dilation = options.dilation ?? 1;
  const clock = options.clock ?? (dilation === 1 ? systemClock : createDilatedClock(dilation));
  const startMs = clock.now();
  const log = createCallLog(options.logFile);
  const counters = createCounters();
  const keys = createKeyRing(options.keys);
  const exchange = createExchange({ options, clock, keys, log, counters });
  const others: OtherRequest[] = [];
  const running = new Set<Promise<void>>();

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const to = route(request.method ?? 'GET', url, request.headers);
    const handled =
      to?.kind === 'generate'
        ? exchange(request, response, url, to)
        : answerOther(request, response, url, to, {
            others,
            keys,
            elapsedMs: clock.now() - startMs,
            models: options.models ?? DEFAULT_MODELS,
          });
    // Only the caller's leaving in the middle of its own body comes here.
    const ended = handled.catch(() => void response.destroy()).finally(() => running.delete(ended));
    running.add(ended);
  });
  server.requestTimeout = 0;
  // Longer than clients keep an idle connection: a close that crosses a request would look like a fault.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port ?? 0, host: '127.0.0.1', backlog: 1024 }, resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;

  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
    await Promise.all(running);
    log.close();
  };
  return {
    url: `http://127.0.0.1:${port}`,
    calls: log.calls,
    others,
    counters,
    clock,
    waitForCalls: (n) => log.waitFor(() => log.calls.length >= n),
    waitForFinished: (n) => log.waitFor(() => log.calls.filter((call) => call.finished).length >= n),
    waitFor: (enough) => log.waitFor(() => enough(log.calls)),
    killKey: (key, death) => keys.kill(key, death),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function answerOther(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  to: Route | null,
  facts: { others: OtherRequest[]; keys: KeyRing; elapsedMs: number; models: string[] },
): Promise<void> {
  const body = await readBody(request);
  const method = request.method ?? '';
  const send = (status: number, json: unknown): void => {
    facts.others.push({ method, path: url.pathname, status });
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(method === 'HEAD' ? '' : JSON.stringify(json));
  };
  if (method === 'HEAD') return send(200, {});
  if (to === null) return send(404, { error: { message: `no such path: ${url.pathname}`, type: 'not_found_error' } });
  const refused = facts.keys.refusal(keyOf(url, request.headers), to.dialect, facts.elapsedMs);
  if (refused !== null) {
    const status = refused.status ?? 401;
    return send(status, to.dialect.fault({ ...refused, status, model: to.model ?? '' }));
  }
  if (to.kind === 'models') return send(200, modelsBody(to.dialect.vendor, facts.models, to.model));
  const prompt = to.dialect.read(body ?? {}, to);
  const tokens = estimateTokens(prompt.system, JSON.stringify(prompt.messages));
  return send(200, to.dialect.vendor === 'google' ? { totalTokens: tokens } : { input_tokens: tokens });
}
