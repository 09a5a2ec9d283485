import type { Clock } from '../core/clock.ts';
import { AgentosError, type ErrorRecord, toErrorRecord } from '../core/errors.ts';
import type { ItemEvent } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import { type BudgetLimits, costUsd, dearestPrice, type Price, type Prices, priceOf } from '../core/money.ts';
import type { CredentialPool, ExpectedWait, Lease, LeaseRequest } from '../pool/pool.ts';
import { answerAttributes } from '../telemetry/traced.ts';
import { type Span, traced } from '../telemetry/tracer.ts';
import type { AnswerSink } from './answer.ts';
import { type AttemptState, attempt, newAttemptState } from './attempt.ts';
import type { Call } from './call.ts';
import { expectedCostUsd, type Ledger } from './ledger.ts';
import type { Upstream } from './upstream.ts';
import { failureOf, usageOf } from './wire-format.ts';

const CHARS_PER_TOKEN = 4;

/** Shorter waits are not reported. */
const SHORT_WAIT_MS = 1_000;
/** Shorter waits get no span. */
const TRACED_WAIT_MS = 50;

export type OnItemEvent = (item: string, event: ItemEvent) => void;

export interface ExchangeSettings {
  pool: Pick<CredentialPool, 'acquire' | 'expectedWait'>;
  upstream: Upstream;
  ledger: Ledger;
  budget: BudgetLimits;
  prices: Prices;
  clock: Clock;
  onEvent: OnItemEvent;
  /** For a caller that gets keep-alives while it waits. */
  maxWaitMs: number;
  /** For a caller that gets nothing while it waits, and would give up. */
  maxSilentWaitMs: number;
}

/**
 * One request from the queue to the end of its answer: keys are tried until one serves it or none can. Never rejects: failures go
 * to the sink. Resolves to whether the answer is complete and good. `span`: of an agent's request, if the run is traced.
 */
export async function exchange(
  call: Call,
  sink: AnswerSink,
  signal: AbortSignal,
  settings: ExchangeSettings,
  span: Span | null,
): Promise<boolean> {
  const { clock, onEvent, budget, upstream } = settings;
  const { grant, route, facts } = call;
  const { vendor } = route;
  const { item } = grant;
  const generates = route.kind === 'generate';
  const startedMs = clock.now();
  const inputTokens = generates ? Math.ceil((call.body?.byteLength ?? 0) / CHARS_PER_TOKEN) : 0;
  const price = generates ? boundOf(settings, vendor, facts.model) : null;
  const { maxOutputTokens } = facts;
  const reservedUsd = price === null ? 0 : expectedCostUsd(price, { inputTokens, maxOutputTokens }, budget);
  const boundMs = facts.streaming ? settings.maxWaitMs : settings.maxSilentWaitMs;
  const deadlineMs = Math.min(startedMs + boundMs, grant.deadlineMs ?? Number.POSITIVE_INFINITY);
  // A request for the list of models names no model.
  const model = facts.model ?? '';
  const asked = { item, vendor, model, estimatedInputTokens: inputTokens, deadlineMs, signal };
  let state = newAttemptState();
  let keyId: string | null = null;
  let attempts = 0;
  let waitedMs = 0;
  let failure: { error: unknown } | null = null;

  const entry = settings.ledger.open(item);
  try {
    if (generates && price === null && budget.hasChosenCostLimit === true) throw unpriced(vendor, model);
    await entry.reserve(reservedUsd, signal);
    for (let outcome = 'retry'; outcome === 'retry'; ) {
      sink.phase('queued');
      const queuedMs = clock.now();
      const request = { ...asked, isRetry: attempts > 0 };
      const lease = await leaseFor(request, settings).finally(() => {
        waitedMs += clock.now() - queuedMs;
      });
      attempts += 1;
      keyId = lease.keyId;
      state = newAttemptState();
      outcome = await attempt({ call, lease, number: attempts, sink, upstream, state, signal });
    }
  } catch (error) {
    failure = { error };
    sink.fail(error);
  }

  const left = signal.aborted;
  const { tally, begun } = state;
  const { answered } = tally;
  const usage = usageOf(tally);
  const paidUsd = priced(settings, call, state);
  const mostUsd = price === null || usage === null ? reservedUsd : costUsd(usage, price);
  const error: ErrorRecord | null = failure === null || left ? null : toErrorRecord(failure.error);
  const refusal = error ?? (left ? null : state.refusal);
  const isGood = failure === null && tally.complete && !tally.failed && begun;
  const used = { model: `${vendor}:${answered ?? model}`, usage, costUsd: paidUsd, answered };
  entry.close(paidUsd ?? mostUsd, generates ? { ...used, begun, good: isGood && refusal === null, refusal } : null);
  span?.set(answerAttributes({ ...used, finish: tally.stopReason }));
  if (error !== null || left) span?.fail(error?.problem.code ?? 'caller-left');
  // The vendor's last status, or what the caller got without one; null: the caller left.
  const status = state.status ?? (failure === null || left ? null : failureOf(failure.error, route.format).status);
  const spent = { attempts, waitedMs, durationMs: clock.now() - startedMs, costUsd: paidUsd, usage };
  onEvent(item, { type: 'gateway-call', vendor, model, keyId, status, ...spent });
  return isGood;
}

/** Waits for a key. A long wait is reported. */
async function leaseFor(request: LeaseRequest, { pool, clock, onEvent }: ExchangeSettings): Promise<Lease> {
  const { item, vendor, deadlineMs } = request;
  const fromMs = clock.now();
  let expected: ExpectedWait | null = null;
  const notice = clock.timer(Math.max(0, Math.min(SHORT_WAIT_MS, deadlineMs - fromMs)), () => {
    expected = pool.expectedWait(request);
    const { reason, untilMs } = expected;
    const forMs = untilMs === null ? null : Math.max(0, untilMs - clock.now());
    onEvent(item, { type: 'quota-waiting', vendor, reason, forMs });
  });
  const attributes = { 'agentos.vendor': vendor };
  try {
    return await traced('wait for quota', { attributes, fromMs: TRACED_WAIT_MS }, () => pool.acquire(request));
  } finally {
    notice.stop();
    const known = expected as ExpectedWait | null;
    const waitedMs = clock.now() - fromMs;
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

function unpriced(vendor: VendorName, model: string): AgentosError {
  const detail = `no price of ${vendor} is known, so ${model} can't be kept within a cost limit; add its price under prices in agentos.yaml`;
  return new AgentosError({ code: 'provider-refused-request', provider: vendor, status: 402, detail });
}
