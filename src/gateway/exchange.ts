import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../core/clock.ts';
import { formatDuration } from '../core/duration.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import { type BudgetLimits, costUsd, dearestPrice, type Price, type Prices, priceOf } from '../core/money.ts';
import type { ExpectedWait, Lease, LeaseRequest, Pool } from '../pool/port.ts';
import type { GatewayRequest } from '../telemetry/run-trace.ts';
import { answerAttributes, requestAttributes } from '../telemetry/span.ts';
import { currentSpan, traced } from '../telemetry/tracer.ts';
import { type AttemptState, attempt, newAttemptState, tracedAttempt } from './attempt.ts';
import type { Call } from './call.ts';
import { type AnswerSink, failureOf } from './caller.ts';
import { expectedCostUsd, type Ledger } from './ledger.ts';
import type { Upstream } from './upstream.ts';
import { usageOf } from './vendors/format.ts';

const CHARS_PER_TOKEN = 4;

/** The pool decides whether to try another key; this bound is a safeguard only. */
const MAX_ATTEMPTS = 50;

/** Shorter waits are not reported. */
const SHORT_WAIT_MS = 1_000;

export type OnItemEvent = (item: string, event: ItemEvent) => void;

export interface ExchangeBounds {
  /** For a caller that gets keep-alives while it waits. */
  maxWaitMs: number;
  /** For a caller that gets nothing while it waits, and would give up. */
  maxSilentWaitMs: number;
}

export interface ExchangeSettings extends ExchangeBounds {
  pool: Pick<Pool, 'acquire' | 'expectedWait'>;
  upstream: Upstream;
  ledger: Ledger;
  budget: BudgetLimits;
  prices: Prices;
  clock: Clock;
  onEvent: OnItemEvent;
}

/** What is known about a request so far. */
interface ExchangeState {
  state: AttemptState;
  keyId: string | null;
  attempts: number;
  waitedMs: number;
}

/**
 * One request from the queue to the end of its answer. Never rejects: failures go to the sink. Resolves to whether the answer is
 * complete and good.
 */
export async function exchange(
  call: Call,
  sink: AnswerSink,
  signal: AbortSignal,
  settings: ExchangeSettings,
): Promise<boolean> {
  const { clock, onEvent } = settings;
  const { grant, route, facts } = call;
  const generates = route.kind === 'generate';
  const startedMs = clock.now();
  const estimatedInputTokens = generates ? Math.ceil((call.body?.byteLength ?? 0) / CHARS_PER_TOKEN) : 0;
  const price = generates ? boundOf(settings, route.vendor, facts.model) : null;
  const size = { inputTokens: estimatedInputTokens, maxOutputTokens: facts.maxOutputTokens };
  const reservedUsd = price === null ? 0 : expectedCostUsd(price, size, settings.budget);
  const boundMs = facts.streaming ? settings.maxWaitMs : settings.maxSilentWaitMs;
  const deadlineMs = Math.min(startedMs + boundMs, grant.deadlineMs ?? Number.POSITIVE_INFINITY);
  // A request for the list of models names no model.
  const asked = { item: grant.item, vendor: route.vendor, model: facts.model ?? '', estimatedInputTokens, deadlineMs };
  const soFar: ExchangeState = { state: newAttemptState(), keyId: null, attempts: 0, waitedMs: 0 };
  const entry = settings.ledger.open(grant.item);
  let failure: unknown = null;
  try {
    if (generates && price === null && settings.budget.hasChosenCostLimit === true) throw unpriced(asked);
    await entry.reserve(reservedUsd, signal);
    await serve(call, sink, { ...asked, signal }, boundMs, settings, soFar);
  } catch (error) {
    failure = error;
    sink.fail(error);
  }
  const { state, keyId, attempts, waitedMs } = soFar;
  const { begun, tally } = state;
  const { answered } = tally;
  const usage = usageOf(tally);
  const left = signal.aborted;
  const paidUsd = priced(settings, call, state);
  const mostUsd = price === null || usage === null ? reservedUsd : costUsd(usage, price);
  const error = failure === null || left ? null : toErrorRecord(failure);
  const refusal = error ?? (left ? null : state.refusal);
  const good = failure === null && tally.complete && !tally.failed && begun;
  const model = `${route.vendor}:${answered ?? asked.model}`;
  const end = { model, usage, costUsd: paidUsd, answered, begun, good: good && refusal === null, refusal };
  entry.close(paidUsd ?? mostUsd, generates ? end : null);
  const span = currentSpan();
  span.set(answerAttributes({ answered, usage, costUsd: paidUsd, finish: tally.stopReason }));
  if (error !== null || left) span.fail(error?.problem.code ?? 'caller-left');
  // The vendor's last status, or what the caller got without one; null: the caller left.
  const status = state.status ?? (left || failure === null ? null : failureOf(failure, route.format).status);
  const { vendor } = route;
  const spent = { attempts, waitedMs, durationMs: clock.now() - startedMs, costUsd: paidUsd, usage };
  onEvent(grant.item, { type: 'gateway-call', vendor, model: asked.model, keyId, status, ...spent });
  return good;
}

/** Tries keys until one serves the request or none can. */
async function serve(
  call: Call,
  sink: AnswerSink,
  { signal, ...asked }: LeaseRequest,
  boundMs: number,
  settings: ExchangeSettings,
  soFar: ExchangeState,
): Promise<void> {
  const { upstream } = settings;
  const tooLong = new AbortController();
  // The same object for every attempt: the pool recognises a retry by it, and serves it first.
  const request: LeaseRequest = { ...asked, signal: AbortSignal.any([signal, tooLong.signal]) };
  for (;;) {
    sink.phase('queued');
    const lease = await tracedWait(call, () => leaseWithin(boundMs, request, tooLong, settings, soFar));
    const state = newAttemptState();
    Object.assign(soFar, { keyId: lease.keyId, state });
    soFar.attempts += 1;
    const outcome = await tracedAttempt({ call, keyId: lease.keyId, number: soFar.attempts, state }, () =>
      attempt({ call, lease, sink, upstream, state, signal }),
    );
    if (outcome === 'done') return;
    if (soFar.attempts >= MAX_ATTEMPTS) throw neverServed(call.route.vendor, state.status);
  }
}

/** Waits for a key. The sum of all waits of one request is bounded; long ones are reported. */
async function leaseWithin(
  boundMs: number,
  request: LeaseRequest,
  tooLong: AbortController,
  { pool, clock, onEvent }: ExchangeSettings,
  soFar: ExchangeState,
): Promise<Lease> {
  const { item, vendor } = request;
  const fromMs = clock.now();
  const leftMs = boundMs - soFar.waitedMs;
  const granted = new AbortController();
  let expected: ExpectedWait | null = null;
  const watch = async (): Promise<void> => {
    await clock.sleep(Math.max(0, Math.min(SHORT_WAIT_MS, leftMs)), granted.signal);
    if (granted.signal.aborted) return;
    expected = pool.expectedWait(request);
    const { reason, untilMs } = expected;
    const forMs = untilMs === null ? null : Math.max(0, untilMs - clock.now());
    onEvent(item, { type: 'quota-waiting', vendor, reason, forMs });
    await clock.sleep(Math.max(0, leftMs - SHORT_WAIT_MS), granted.signal);
    if (!granted.signal.aborted) tooLong.abort(waitedTooLong(vendor, boundMs));
  };
  void watch();
  try {
    return await pool.acquire(request);
  } finally {
    granted.abort();
    const waitedMs = clock.now() - fromMs;
    soFar.waitedMs += waitedMs;
    const known = expected as ExpectedWait | null;
    if (known !== null) onEvent(item, { type: 'quota-resumed', vendor, reason: known.reason, waitedMs });
  }
}

/** The cost; null if the price or the usage is unknown. Refused requests cost nothing. */
function priced(settings: ExchangeSettings, { route, facts }: Call, { begun, tally }: AttemptState): number | null {
  if (!begun || route.kind !== 'generate') return 0;
  const price = priceFor(settings, route.vendor, tally.answered) ?? priceFor(settings, route.vendor, facts.model);
  const usage = usageOf(tally);
  return price === null || usage === null ? null : costUsd(usage, price);
}

function priceFor({ prices }: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  if (model === null || /^-|\s|\p{Cc}/u.test(model) || model === '') return null;
  return priceOf(`${vendor}:${model}`, prices);
}

/** The highest price that the model may have; null if no price of its vendor is known. */
function boundOf(settings: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  return priceFor(settings, vendor, model) ?? dearestPrice(vendor, settings.prices);
}

function unpriced({ vendor, model }: Pick<LeaseRequest, 'vendor' | 'model'>): AgentosError {
  const detail = `no price of ${vendor} is known, so ${model} can't be kept within a cost limit; add its price under prices in agentos.yaml`;
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

/** Runs the work of a request at its place in the trace of the run. */
export type TraceRequest = <T>(request: GatewayRequest, work: () => Promise<T>) => Promise<T>;

/** Shorter waits for a lease get no span. */
const WAIT_FROM_MS = 50;

/**
 * The request of a worker belongs to the span in its header: the model call. The request of an agent has no such header, so its
 * span starts here.
 */
export function tracedExchange<T>(
  trace: TraceRequest | undefined,
  { grant, route, facts }: Call,
  { traceparent }: IncomingHttpHeaders,
  work: () => Promise<T>,
): Promise<T> {
  if (trace === undefined) return work();
  const operation = route.kind === 'generate' ? 'chat' : route.kind;
  const request: GatewayRequest = {
    item: grant.item,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    name: `${operation} ${facts.model ?? route.vendor}`,
    attributes: requestAttributes(operation, route.vendor, facts.model),
  };
  return trace(request, work);
}

function tracedWait<T>({ route }: Call, work: () => Promise<T>): Promise<T> {
  const attributes = { 'agentos.vendor': route.vendor };
  return traced('wait for quota', { attributes, fromMs: WAIT_FROM_MS }, work);
}
