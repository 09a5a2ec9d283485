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
  /** Itself included. */
  inFlightAtSending: number;
  /** What the item was charged for its turn. */
  turnCost: number;
}

/**
 * admitted: the vendor serves it; out-of-quota: comes back; dead: the key won't work again (wrong, forbidden, no credit);
 * overloaded: the provider's own failure, which no key can help; refused: the request's own fault.
 */
type Meaning = 'admitted' | 'out-of-quota' | 'dead' | 'overloaded' | 'refused';

interface Learned {
  ruling: Ruling;
  /** Still in flight: the answer's body is on its way. */
  open: boolean;
  /** The request did nothing for its item: the turn is not counted. */
  futile: boolean;
}

/** What an answer teaches about key and quota, and what becomes of the request. `dateMs`: the calendar's time at `nowMs`. */
export function learnFrom(
  answer: VendorAnswer,
  sent: SentRequest,
  keys: PoolKeys,
  onEvent: (event: PoolEvent) => void,
  { nowMs, dateMs }: { nowMs: number; dateMs: number },
): Learned {
  const { key, charges, request } = sent;
  const limits = readLimits(key.vendor, answer, dateMs);
  const error = answer.status < 400 ? null : failureOf(key, answer, dateMs);
  const meaning = error === null ? 'admitted' : meaningOf(error);
  const merged = limits.organisation === null ? null : keys.merge(key, limits.organisation, nowMs);
  if (merged !== null) onEvent({ type: 'groups-merged', ...merged });
  const quota = key.group.of(request.model, nowMs);
  switch (meaning) {
    case 'admitted':
      key.group.concurrency.succeeded(sent.inFlightAtSending, nowMs);
      quota.admitted();
      quota.observe(limits.readings, nowMs);
      break;
    case 'out-of-quota':
      quota.giveBack(charges, 'all', nowMs);
      learnRefusal(answer, sent, limits, onEvent, { nowMs, dateMs });
      break;
    case 'dead':
      quota.giveBack(charges, 'all', nowMs);
      markDead(key, error, onEvent);
      break;
    case 'overloaded':
    case 'refused':
      quota.giveBack(charges, meaning === 'refused' ? 'tokens' : 'all', nowMs);
      quota.observe(limits.readings, nowMs);
      break;
  }
  const open = meaning === 'admitted';
  return { ruling: rulingOn(meaning, key, keys, error), open, futile: !open && meaning !== 'refused' };
}

function failureOf(key: PoolKey, { status, headers, body }: VendorAnswer, nowMs: number): AgentosError {
  const secret = key.given.secret.reveal();
  return vendorFailure({ provider: key.vendor, status, headers, body, fallback: `status ${status}`, secret, nowMs });
}

function meaningOf({ code, retry }: AgentosError): Meaning {
  if (code === 'provider-rejected-key') return 'dead';
  if (code === 'provider-quota') return retry === 'quota' ? 'out-of-quota' : 'dead';
  return code === 'provider-overloaded' || code === 'provider-bad-reply' ? 'overloaded' : 'refused';
}

function rulingOn(meaning: Meaning, key: PoolKey, keys: PoolKeys, error: AgentosError | null): Ruling {
  if (meaning === 'out-of-quota') return { action: 'retry' };
  const absence = meaning === 'dead' ? keys.absence(key.vendor) : null;
  if (absence !== null) return { action: 'fail', error: error ?? absence };
  return meaning === 'dead' ? { action: 'retry' } : { action: 'pass', error };
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
  // Requests overtake each other on the way: it need not be the last one sent that was one too many.
  const inFlight = Math.max(sent.inFlightAtSending, group.inFlight);
  const dimension = refusedDimension(group, inFlight, limits, hintMs);
  if (dimension !== 'concurrency') {
    const cooling = quota.refused(charges, { dimension, limits, hintMs }, nowMs);
    return onEvent({ type: 'key-cooling', keyId: key.id, ...cooling });
  }
  group.concurrency.refused(inFlight, nowMs);
  quota.observe(limits.readings, nowMs);
  if (hintMs === null) return;
  quota.block(nowMs + hintMs, 'concurrency');
  onEvent({ type: 'key-cooling', keyId: key.id, untilMs: nowMs + hintMs, why: 'concurrency' });
}

/** What the refusal ran into, where the vendor doesn't say: what has nothing left, or more at once than ever before. */
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

function markDead(key: PoolKey, error: AgentosError | null, onEvent: (event: PoolEvent) => void): void {
  if (key.dead !== null) return;
  const problem = error?.problem;
  key.dead = problem !== undefined && 'detail' in problem ? problem.detail : 'rejected';
  onEvent({ type: 'key-dead', keyId: key.id, reason: key.dead });
}
