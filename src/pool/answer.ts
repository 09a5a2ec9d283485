import type { AgentosError } from '../core/errors.ts';
import { readRetryHintMs } from '../models/retry-after.ts';
import { vendorFailure } from '../models/vendor-failure.ts';
import type { PoolKey, PoolKeys } from './key.ts';
import { type AnswerLimits, DIMENSIONS, type Dimension, errorMessage, readLimits } from './limits.ts';
import type { LeaseRequest, PoolEvent, Ruling, VendorAnswer } from './port.ts';
import type { Charges, QuotaGroup } from './quota.ts';

/** A request that has been given a key. */
export interface SentRequest {
  request: LeaseRequest;
  key: PoolKey;
  charges: Charges;
  /** Including itself. */
  inFlightAtSending: number;
  turnCost: number;
}

interface Learned {
  ruling: Ruling;
  /** Still in flight: the body of the answer is on its way. */
  open: boolean;
  /** The request was of no use to its item: the turn does not count. */
  futile: boolean;
}

/** What an answer teaches about key and quota, and what happens to the request. `dateMs`: the calendar's time at `nowMs`. */
export function learnFrom(
  answer: VendorAnswer,
  sent: SentRequest,
  keys: PoolKeys,
  onEvent: (event: PoolEvent) => void,
  { nowMs, dateMs }: { nowMs: number; dateMs: number },
): Learned {
  const { key, charges, request } = sent;
  const limits = readLimits(key.vendor, answer, dateMs);
  const merged = limits.organisation === null ? null : keys.merge(key, limits.organisation, nowMs);
  if (merged !== null) onEvent({ type: 'groups-merged', ...merged });
  const quota = key.group.of(request.model, nowMs);
  if (answer.status < 400) {
    key.group.concurrency.succeeded(sent.inFlightAtSending, nowMs);
    quota.admitted();
    quota.observe(limits.readings, nowMs);
    return { ruling: { action: 'pass', error: null }, open: true, futile: false };
  }
  const error = failureOf(key, answer, dateMs);
  const meaning = meaningOf(error);
  quota.giveBack(charges, meaning === 'bad-request' ? 'tokens' : 'all', nowMs);
  switch (meaning) {
    case 'out-of-quota':
      learnRefusal(answer, sent, limits, onEvent, { nowMs, dateMs });
      return { ruling: { action: 'retry' }, open: false, futile: true };
    case 'dead-key': {
      markDead(key, error, onEvent);
      const ruling: Ruling = keys.whyNone(key.vendor) === null ? { action: 'retry' } : { action: 'fail', error };
      return { ruling, open: false, futile: true };
    }
    case 'overloaded':
    case 'bad-request':
      quota.observe(limits.readings, nowMs);
      return { ruling: { action: 'pass', error }, open: false, futile: meaning === 'overloaded' };
  }
}

function failureOf(key: PoolKey, { status, headers, body }: VendorAnswer, nowMs: number): AgentosError {
  const secret = key.given.secret.reveal();
  return vendorFailure({ provider: key.vendor, status, headers, body, fallback: `status ${status}`, secret, nowMs });
}

/** dead-key: it won't work again (wrong, forbidden, no credit); overloaded: the vendor's own failure, no key can help. */
function meaningOf({ code, retry }: AgentosError): 'out-of-quota' | 'dead-key' | 'overloaded' | 'bad-request' {
  if (code === 'provider-rejected-key') return 'dead-key';
  if (code === 'provider-quota') return retry === 'quota' ? 'out-of-quota' : 'dead-key';
  return code === 'provider-overloaded' || code === 'provider-bad-reply' ? 'overloaded' : 'bad-request';
}

function learnRefusal(
  { headers, body }: VendorAnswer,
  sent: SentRequest,
  limits: AnswerLimits,
  onEvent: (event: PoolEvent) => void,
  { nowMs, dateMs }: { nowMs: number; dateMs: number },
): void {
  const { key, charges, request } = sent;
  const { group } = key;
  const hintMs = readRetryHintMs({ headers, body, message: errorMessage(body) }, dateMs);
  const quota = group.of(request.model, nowMs);
  // Requests overtake each other on the way, so the refused one need not be the last one sent.
  const inFlight = Math.max(sent.inFlightAtSending, group.inFlight);
  const dimension = refusedDimension(group, inFlight, limits, hintMs);
  if (dimension !== 'concurrency') {
    const { untilMs, why } = quota.refused(charges, { dimension, limits, hintMs }, nowMs);
    return onEvent({ type: 'key-cooling', keyId: key.id, forMs: untilMs - nowMs, why });
  }
  group.concurrency.refused(inFlight, nowMs);
  quota.observe(limits.readings, nowMs);
  if (hintMs === null) return;
  quota.block(nowMs + hintMs, 'concurrency');
  onEvent({ type: 'key-cooling', keyId: key.id, forMs: hintMs, why: 'concurrency' });
}

/** Which limit was reached. If the vendor doesn't say: one with nothing left, or more requests at once than ever before. */
function refusedDimension(
  group: QuotaGroup,
  inFlight: number,
  { refused, readings }: AnswerLimits,
  hintMs: number | null,
): Dimension | 'concurrency' {
  if (refused !== null) return refused;
  const empty = DIMENSIONS.find((dimension) => (readings[dimension]?.remaining?.least ?? 1) <= 0);
  if (empty !== undefined) return empty;
  return hintMs === null && group.concurrency.suspects(inFlight) ? 'concurrency' : 'requests';
}

function markDead(key: PoolKey, { problem }: AgentosError, onEvent: (event: PoolEvent) => void): void {
  if (key.dead !== null) return;
  key.dead = 'detail' in problem ? problem.detail : 'rejected';
  onEvent({ type: 'key-dead', keyId: key.id, reason: key.dead });
}
