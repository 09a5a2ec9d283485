import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../core/clock.ts';
import { formatDuration } from '../core/duration.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import {
  type BudgetLimits,
  costUsd,
  dearestPrice,
  type Price,
  type PriceSetting,
  priceOf,
  type Usage,
} from '../core/money.ts';
import type { Lease, LeaseRequest, Outlook, Pool } from '../pool/port.ts';
import { answerAttributes, providerName } from '../telemetry/gen-ai.ts';
import type { GatewayRequest } from '../telemetry/run-trace.ts';
import { currentSpan, traced } from '../telemetry/tracer.ts';
import { attempt, newProgress, type Progress, tracedAttempt } from './attempt.ts';
import type { Call } from './call.ts';
import { failureOf, type Sink } from './caller.ts';
import { expectedCostUsd, type Ledger } from './ledger.ts';
import type { Upstream } from './upstream.ts';
import { usageOf } from './vendors/format.ts';

interface Who {
  item: string;
  vendor: VendorName;
  /** As asked for; empty where a request names none, such as for a list of models. */
  model: string;
}

/** What happens in the gateway. */
export type GatewayEvent =
  | GatewayCall
  /** A request has been without a key for a while; `gateway-call`, `gateway-resumed` or the caller's end follows. */
  | (Who & { type: 'gateway-waiting'; reason: WaitReason; forMs: number | null })
  | (Who & { type: 'gateway-resumed'; reason: WaitReason; waitedMs: number })
  /** A finished answer, or one in flight, was given to a caller that asked for it again: nothing was paid. */
  | (Who & { type: 'gateway-answer-reused'; step: string; finished: boolean });

export interface GatewayCall extends Who {
  type: 'gateway-call';
  kind: 'generate' | 'count' | 'models';
  answered: string | null;
  stopReason: string | null;
  /** Of the last attempt; null where no key was ever had. */
  keyId: string | null;
  /** What the vendor answered last, or what the caller got where the vendor never answered; null: the caller left. */
  status: number | null;
  /** Requests that went out to the vendor. */
  attempts: number;
  waitedMs: number;
  /** Null: the vendor did not say. */
  usage: Usage | null;
  /** Null: the price or the usage is not known. */
  costUsd: number | null;
  durationMs: number;
  /** The caller left before the end. */
  callerLeft: boolean;
  error: ErrorRecord | null;
}

const CHARS_PER_TOKEN = 4;

/** The pool decides about trying other keys; this is only against one that never ends. */
const MAX_ATTEMPTS = 50;

/** Waits shorter than this are not worth an event. */
const MOMENT_MS = 1_000;

export interface ExchangeBounds {
  /** For a caller that gets keep-alives meanwhile. */
  maxWaitMs: number;
  /** For one that gets nothing and would give up. */
  maxSilentWaitMs: number;
}

export interface ExchangeSettings extends ExchangeBounds {
  pool: Pick<Pool, 'acquire' | 'outlook'>;
  upstream: Upstream;
  ledger: Ledger;
  budget: BudgetLimits;
  prices: Readonly<Record<string, PriceSetting>>;
  clock: Clock;
  onEvent: (event: GatewayEvent) => void;
}

/** What is known of a request while it is served. */
interface Served {
  progress: Progress;
  keyId: string | null;
  attempts: number;
  waitedMs: number;
}

/**
 * One request from the queue to the end of its answer. Never rejects: failures go to the sink. True: the answer was whole
 * and good.
 */
export async function exchange(
  call: Call,
  sink: Sink,
  signal: AbortSignal,
  settings: ExchangeSettings,
): Promise<boolean> {
  const { clock, onEvent } = settings;
  const { grant, route, facts } = call;
  const generates = route.kind === 'generate';
  const who = { item: grant.item, vendor: route.vendor, model: facts.model ?? '' };
  const startedMs = clock.now();
  const estimatedInputTokens = generates ? Math.ceil((call.body?.byteLength ?? 0) / CHARS_PER_TOKEN) : 0;
  const price = generates ? boundOf(settings, route.vendor, facts.model) : null;
  const asked = { inputTokens: estimatedInputTokens, maxOutputTokens: facts.maxOutputTokens };
  const reservedUsd = price === null ? 0 : expectedCostUsd(price, asked, settings.budget);
  const boundMs = facts.streaming ? settings.maxWaitMs : settings.maxSilentWaitMs;
  const deadlineMs = Math.min(startedMs + boundMs, grant.deadlineMs ?? Number.POSITIVE_INFINITY);
  const served: Served = { progress: newProgress(), keyId: null, attempts: 0, waitedMs: 0 };
  const entry = settings.ledger.open(grant.item);
  let failure: unknown = null;
  try {
    if (generates && price === null && settings.budget.hasChosenCostLimit === true) throw unpriced(who);
    await entry.reserve(reservedUsd, signal);
    await serve(call, sink, { ...who, estimatedInputTokens, deadlineMs, signal }, boundMs, settings, served);
  } catch (error) {
    failure = error;
    sink.fail(error);
  }
  const { progress, keyId, attempts, waitedMs } = served;
  const { answered, stopReason, complete, failed } = progress.tally;
  const usage = usageOf(progress.tally);
  const left = signal.aborted;
  const paidUsd = priced(settings, call, progress);
  const mostUsd = price === null || usage === null ? reservedUsd : costUsd(usage, price);
  const error = failure === null || left ? null : toErrorRecord(failure);
  const refusal = error ?? (left ? null : progress.refusal);
  const good = failure === null && complete && !failed && progress.begun;
  const model = `${who.vendor}:${answered ?? who.model}`;
  const { begun } = progress;
  const end = { model, usage, costUsd: paidUsd, answered, begun, good: good && refusal === null, refusal };
  entry.close(paidUsd ?? mostUsd, generates ? end : null);
  onEvent({
    type: 'gateway-call',
    ...who,
    kind: route.kind,
    answered,
    stopReason,
    keyId,
    status: progress.status ?? (left || failure === null ? null : failureOf(failure, route.format).status),
    attempts,
    waitedMs,
    usage,
    costUsd: paidUsd,
    durationMs: clock.now() - startedMs,
    callerLeft: left,
    error,
  });
  return good;
}

/** Tries keys until one serves the request, or none can. */
async function serve(
  call: Call,
  sink: Sink,
  { signal, ...asked }: LeaseRequest,
  boundMs: number,
  settings: ExchangeSettings,
  served: Served,
): Promise<void> {
  const { upstream } = settings;
  const tooLong = new AbortController();
  // The same object for every attempt: the pool knows a retry by it, and serves it first.
  const request: LeaseRequest = { ...asked, signal: AbortSignal.any([signal, tooLong.signal]) };
  for (;;) {
    sink.phase('queued');
    const lease = await tracedWait(call, () => leaseWithin(boundMs, request, tooLong, settings, served));
    const progress = newProgress();
    Object.assign(served, { keyId: lease.keyId, progress });
    served.attempts += 1;
    const outcome = await tracedAttempt({ call, keyId: lease.keyId, number: served.attempts, progress }, () =>
      attempt({ call, lease, sink, upstream, progress, signal }),
    );
    if (outcome === 'done') return;
    if (served.attempts >= MAX_ATTEMPTS) throw neverServed(call.route.vendor, progress.status);
  }
}

/** Waits for a key. All waits of one request together are bounded, whatever the pool thinks; long ones are events. */
async function leaseWithin(
  boundMs: number,
  request: LeaseRequest,
  tooLong: AbortController,
  { pool, clock, onEvent }: ExchangeSettings,
  served: Served,
): Promise<Lease> {
  const { item, vendor, model } = request;
  const fromMs = clock.now();
  const leftMs = boundMs - served.waitedMs;
  const granted = new AbortController();
  let outlook: Outlook | null = null;
  const watch = async (): Promise<void> => {
    await clock.sleep(Math.max(0, Math.min(MOMENT_MS, leftMs)), granted.signal);
    if (granted.signal.aborted) return;
    outlook = pool.outlook(request);
    const { reason, untilMs } = outlook;
    const forMs = untilMs === null ? null : Math.max(0, untilMs - clock.now());
    onEvent({ type: 'gateway-waiting', item, vendor, model, reason, forMs });
    await clock.sleep(Math.max(0, leftMs - MOMENT_MS), granted.signal);
    if (!granted.signal.aborted) tooLong.abort(waitedTooLong(vendor, boundMs));
  };
  void watch();
  try {
    return await pool.acquire(request);
  } finally {
    granted.abort();
    const waitedMs = clock.now() - fromMs;
    served.waitedMs += waitedMs;
    const known = outlook as Outlook | null;
    if (known !== null) onEvent({ type: 'gateway-resumed', item, vendor, model, reason: known.reason, waitedMs });
  }
}

/** What it cost by what is known; null where the price or the usage is not. Refused requests cost nothing. */
function priced(settings: ExchangeSettings, { route, facts }: Call, { begun, tally }: Progress): number | null {
  if (!begun || route.kind !== 'generate') return 0;
  const price = priceFor(settings, route.vendor, tally.answered) ?? priceFor(settings, route.vendor, facts.model);
  const usage = usageOf(tally);
  return price === null || usage === null ? null : costUsd(usage, price);
}

function priceFor({ prices }: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  if (model === null || /\s|\p{Cc}/u.test(model) || model === '') return null;
  return priceOf(`${vendor}:${model}`, prices);
}

/** What no model of this name can exceed, as far as anything is known; null where nothing is. */
function boundOf(settings: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  return priceFor(settings, vendor, model) ?? dearestPrice(vendor, settings.prices);
}

function unpriced({ vendor, model }: Who): AgentosError {
  const detail = `no price of ${vendor} is known, so a cost limit could not be kept for ${model}; add it under prices in agentos.yaml`;
  return new AgentosError({ code: 'provider-refused-request', provider: vendor, status: 402, detail });
}

function neverServed(provider: VendorName, status: number | null): AgentosError {
  const detail = `no key served the request in ${MAX_ATTEMPTS} attempts`;
  return new AgentosError({ code: 'provider-overloaded', provider, status, detail }, { retry: 'transient' });
}

function waitedTooLong(provider: VendorName, boundMs: number): AgentosError {
  const detail = `no key came free within ${formatDuration(boundMs)}`;
  const problem = { code: 'provider-quota', provider, detail, retryAfterMs: null, status: null } as const;
  return new AgentosError(problem, { retry: 'quota' });
}

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

function tracedWait<T>({ route }: Call, work: () => Promise<T>): Promise<T> {
  const attributes = { 'agentos.vendor': route.vendor };
  return traced('wait for quota', { attributes, fromMs: WAIT_FROM_MS }, work);
}
