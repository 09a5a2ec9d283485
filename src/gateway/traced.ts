import type { IncomingHttpHeaders } from 'node:http';
import { answerAttributes, providerName } from '../telemetry/gen-ai.ts';
import type { GatewayRequest } from '../telemetry/run-trace.ts';
import { currentSpan, traced } from '../telemetry/tracer.ts';
import type { Outcome, Progress } from './attempt.ts';
import type { Call } from './call.ts';
import type { GatewayCall } from './events.ts';

/** Does the work of a request at its place in the trace of the run. */
export type TraceRequest = <T>(request: GatewayRequest, work: () => Promise<T>) => Promise<T>;

/** A lease is there at once unless there is something to wait for. */
const WAIT_FROM_MS = 50;

/**
 * A request of a worker belongs to the span that its header names, which is the call of the model. An agent's has none of
 * ours: then the call is a span that begins here.
 */
export function tracedExchange<T>(
  trace: TraceRequest | undefined,
  { grant, route, facts }: Call,
  { traceparent }: IncomingHttpHeaders,
  work: () => Promise<T>,
): Promise<T> {
  if (trace === undefined) return work();
  const provider = providerName(route.vendor);
  const operation = route.kind === 'generate' ? 'chat' : route.kind;
  const request: GatewayRequest = {
    item: grant.item,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    name: `${operation} ${facts.model ?? route.vendor}`,
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': provider,
      'gen_ai.system': provider,
      'gen_ai.request.model': facts.model,
    },
  };
  return trace(request, work);
}

/** What a call used, on the span that began here; called where the call ends. */
export function noteCall({ answered, usage, costUsd, stopReason, error, callerLeft }: GatewayCall): void {
  const span = currentSpan();
  span.set(answerAttributes({ answered, usage, costUsd, finish: stopReason }));
  if (error !== null) span.fail(error.problem.code);
  else if (callerLeft) span.fail('caller-left');
}

export function tracedWait<T>({ route }: Call, work: () => Promise<T>): Promise<T> {
  const attributes = { 'agentos.vendor': route.vendor };
  return traced('wait for quota', { attributes, fromMs: WAIT_FROM_MS }, work);
}

interface AttemptFacts {
  call: Call;
  keyId: string;
  /** Counted from 1. */
  number: number;
  progress: Progress;
}

/** One request to the vendor with one key; that it is tried again shows in the next one. */
export function tracedAttempt(
  { call, keyId, number, progress }: AttemptFacts,
  work: () => Promise<Outcome>,
): Promise<Outcome> {
  const attributes = {
    'agentos.vendor': call.route.vendor,
    'agentos.key.id': keyId,
    'agentos.gateway.attempt': number,
    'http.request.method': call.method,
    'server.address': call.url.hostname,
    'url.path': call.url.pathname,
  };
  return traced('gateway attempt', { kind: 'client', attributes }, async (span) => {
    try {
      const outcome = await work();
      span.set({ 'agentos.gateway.outcome': outcome });
      const { refusal, status } = progress;
      if (refusal !== null || outcome !== 'done') span.fail(refusal?.problem.code ?? `status-${status}`);
      return outcome;
    } finally {
      span.set({ 'http.response.status_code': progress.status });
    }
  });
}
