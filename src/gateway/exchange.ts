import type { Clock } from '../core/clock.ts';
import type { PriceSetting } from '../core/config.ts';
import { AgentosError, toErrorRecord } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import type { BudgetLimits } from '../core/money.ts';
import { costUsd, dearestPrice, type Price, priceOf } from '../core/prices.ts';
import { nextAttemptDelayMs } from '../core/retry-policy.ts';
import type { Pool } from '../pool/port.ts';
import type { Accounts } from './accounts.ts';
import { attempt, newProgress, type Progress } from './attempt.ts';
import type { Call } from './call.ts';
import type { GatewayEvent } from './events.ts';
import { failureOf } from './failure.ts';
import { createLeaseWait, type LeaseWait } from './lease-wait.ts';
import type { Sink } from './sink.ts';
import { expectedCostUsd, type Spending } from './spending.ts';
import { tracedAttempt, tracedWait } from './traced-call.ts';
import type { Upstream } from './upstream.ts';

const CHARS_PER_TOKEN = 4;

/** The pool decides about trying other keys; this is only against one that never ends. */
const MAX_ATTEMPTS = 50;

export interface ExchangeBounds {
  /** For a caller that hears keep-alives meanwhile. */
  maxWaitMs: number;
  /** For one that hears nothing and would give up. */
  maxSilentWaitMs: number;
  /** How often an overloaded vendor is asked again before the caller is told. */
  maxOverloadRetries: number;
}

export interface ExchangeSettings extends ExchangeBounds {
  pool: Pick<Pool, 'acquire' | 'outlook'>;
  upstream: Upstream;
  spending: Spending;
  budget: BudgetLimits;
  accounts: Accounts;
  prices: Readonly<Record<string, PriceSetting>>;
  clock: Clock;
  /** 0 ≤ random < 1. */
  random: () => number;
  onEvent: (event: GatewayEvent) => void;
}

/** What is known of a request while it goes its way. */
interface Course {
  progress: Progress;
  keyId: string | null;
  attempts: number;
}

/**
 * One request from the queue to the end of its answer. Never rejects: what goes wrong is told to the sink. True: the
 * answer was whole and good.
 */
export async function exchange(
  call: Call,
  sink: Sink,
  signal: AbortSignal,
  settings: ExchangeSettings,
): Promise<boolean> {
  const { clock, spending, accounts, onEvent } = settings;
  const { grant, route, facts } = call;
  const who = { workflow: grant.workflow, item: grant.item, vendor: route.vendor, model: facts.model ?? '' };
  const startedMs = clock.now();
  const inputTokens = route.kind === 'generate' ? Math.ceil((call.body?.byteLength ?? 0) / CHARS_PER_TOKEN) : 0;
  const price = route.kind === 'generate' ? boundOf(settings, route.vendor, facts.model) : null;
  const { maxOutputTokens } = facts;
  const reservedUsd = price === null ? 0 : expectedCostUsd(price, { inputTokens, maxOutputTokens }, settings.budget);
  const boundMs = route.sse && facts.streaming ? settings.maxWaitMs : settings.maxSilentWaitMs;
  const deadlineMs = Math.min(startedMs + boundMs, grant.deadlineMs ?? Number.POSITIVE_INFINITY);
  const wait = createLeaseWait(
    {
      pool: settings.pool,
      clock,
      boundMs,
      onWaiting: ({ reason, untilMs }) => {
        const forMs = untilMs === null ? null : Math.max(0, untilMs - clock.now());
        onEvent({ type: 'gateway-waiting', ...who, reason, forMs });
      },
      onResumed: (waitedMs, { reason }) => onEvent({ type: 'gateway-resumed', ...who, reason, waitedMs }),
    },
    { ...who, estimatedInputTokens: inputTokens, deadlineMs, signal },
  );
  const course: Course = { progress: newProgress(), keyId: null, attempts: 0 };
  let failure: unknown = null;
  accounts.begin(grant.item);
  try {
    const reservation = await spending.reserve(grant.item, reservedUsd, signal);
    try {
      await pursue(call, sink, signal, settings, wait, course);
    } finally {
      const { usage } = course.progress.tally;
      const mostUsd = price === null || usage === null ? reservedUsd : costUsd(usage, price);
      reservation.settle(priced(settings, call, course.progress) ?? mostUsd);
    }
  } catch (error) {
    failure = error;
    sink.fail(error);
  }
  const { progress, keyId, attempts } = course;
  const { usage, answered, stopReason, complete, failed } = progress.tally;
  const left = signal.aborted;
  const paidUsd = priced(settings, call, progress);
  const error = failure === null || left ? null : toErrorRecord(failure);
  const refusal = error ?? (left ? null : progress.refusal);
  const good = failure === null && complete && !failed && progress.begun;
  const end = { usage, costUsd: paidUsd, answered, begun: progress.begun, good: good && refusal === null, refusal };
  accounts.end(grant.item, route.kind === 'generate' ? end : null);
  onEvent({
    type: 'gateway-call',
    ...who,
    kind: route.kind,
    answered,
    stopReason,
    keyId,
    status: progress.status ?? (left || failure === null ? null : failureOf(failure, route.format).status),
    attempts,
    waitedMs: wait.waitedMs,
    usage,
    costUsd: paidUsd,
    durationMs: clock.now() - startedMs,
    callerLeft: left,
    error,
  });
  return good;
}

/** Tries keys until one serves the request, or none can. */
async function pursue(
  call: Call,
  sink: Sink,
  signal: AbortSignal,
  settings: ExchangeSettings,
  wait: LeaseWait,
  course: Course,
): Promise<void> {
  const { clock, random, upstream, maxOverloadRetries } = settings;
  let overloads = 0;
  for (;;) {
    sink.phase('queued');
    const lease = await tracedWait(call, () => wait.next());
    const progress = newProgress();
    Object.assign(course, { keyId: lease.keyId, progress });
    course.attempts += 1;
    const isLast = overloads >= maxOverloadRetries;
    const outcome = await tracedAttempt({ call, keyId: lease.keyId, number: course.attempts, progress }, () =>
      attempt({ call, lease, sink, upstream, progress, isLast, signal }),
    );
    if (outcome.is === 'done') return;
    if (course.attempts >= MAX_ATTEMPTS) throw neverServed(call.route.vendor, progress.status);
    if (outcome.is === 'again') continue;
    overloads += 1;
    sink.phase('queued');
    await clock.sleep(overloadDelayMs(overloads, outcome.retryAfterMs, settings, random), signal);
    signal.throwIfAborted();
  }
}

function overloadDelayMs(
  attempts: number,
  retryAfterMs: number | null,
  { maxOverloadRetries: maxRetries, maxSilentWaitMs }: ExchangeSettings,
  random: () => number,
): number {
  const delayMs = nextAttemptDelayMs({ retry: 'transient', attempts, maxRetries, retryAfterMs, random: random() });
  return Math.min(delayMs ?? 0, maxSilentWaitMs);
}

/** What it cost by what is known; null where the price or the usage is not. Refused requests cost nothing. */
function priced(settings: ExchangeSettings, { route, facts }: Call, { begun, tally }: Progress): number | null {
  if (!begun || route.kind !== 'generate') return 0;
  const price = priceFor(settings, route.vendor, tally.answered) ?? priceFor(settings, route.vendor, facts.model);
  return price === null || tally.usage === null ? null : costUsd(tally.usage, price);
}

function priceFor({ prices }: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  if (model === null || /\s|\p{Cc}/u.test(model) || model === '') return null;
  return priceOf(`${vendor}:${model}`, prices);
}

/** What no model of this name can exceed, as far as anything is known; null where nothing is. */
function boundOf(settings: ExchangeSettings, vendor: VendorName, model: string | null): Price | null {
  return priceFor(settings, vendor, model) ?? dearestPrice(vendor, settings.prices);
}

function neverServed(provider: VendorName, status: number | null): AgentosError {
  const detail = `no key served the request in ${MAX_ATTEMPTS} attempts`;
  return new AgentosError({ code: 'provider-overloaded', provider, status, detail }, { retry: 'transient' });
}
