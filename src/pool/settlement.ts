import type { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { type Meaning, readAnswer } from './answer.ts';
import type { ProviderBreaker } from './breaker.ts';
import type { PoolKey } from './key.ts';
import type { Outing } from './lease.ts';
import type { AnswerLimits, Dimension } from './limits/reading.ts';
import type { PoolMembers } from './members.ts';
import type { PoolEvent, Ruling, VendorAnswer } from './port.ts';
import type { QuotaGroup } from './quota-group.ts';

interface Settlement {
  ruling: Ruling;
  /** Still in flight: the answer's body is on its way. */
  open: boolean;
  /** The request did nothing for its workflow: the turn is not counted. */
  futile: boolean;
}

/** What an answer teaches about key, quota and provider, and what becomes of the request. */
export class PoolSettlement {
  readonly #members: PoolMembers;
  readonly #breakerOf: (vendor: VendorName) => ProviderBreaker;
  readonly #onEvent: (event: PoolEvent) => void;

  constructor(
    members: PoolMembers,
    breakerOf: (vendor: VendorName) => ProviderBreaker,
    onEvent: (event: PoolEvent) => void,
  ) {
    this.#members = members;
    this.#breakerOf = breakerOf;
    this.#onEvent = onEvent;
  }

  /** Vendors name dates: `dateMs` is what the calendar says at `nowMs`. */
  settle(outing: Outing, answer: VendorAnswer, { nowMs, dateMs }: { nowMs: number; dateMs: number }): Settlement {
    const { key, portion, request } = outing;
    const { meaning, limits, hintMs, error } = readAnswer(key, answer, dateMs);
    const merged = limits.organisation === null ? null : this.#members.named(key, limits.organisation, nowMs);
    if (merged !== null) this.#onEvent({ type: 'groups-merged', ...merged });
    const lane = key.group.lane(request.model, nowMs);
    const breaker = this.#breakerOf(key.vendor);
    if (meaning === 'overloaded') breaker.failed(nowMs);
    else breaker.succeeded();
    switch (meaning) {
      case 'admitted': {
        const sent = { inFlight: outing.inFlightAtSending, atMs: outing.sentMs };
        key.group.concurrency.succeeded(sent, nowMs, this.#members.siblingConcurrency(key));
        lane.admitted();
        lane.observe(limits.readings, portion, nowMs);
        break;
      }
      case 'out-of-quota':
        lane.giveBack(portion, 'all', nowMs);
        this.#outOfQuota(outing, limits, hintMs, nowMs);
        break;
      case 'dead':
        lane.giveBack(portion, 'all', nowMs);
        this.#bury(key, error);
        break;
      case 'overloaded':
      case 'refused':
        lane.giveBack(portion, meaning === 'refused' ? 'tokens' : 'all', nowMs);
        lane.observe(limits.readings, null, nowMs);
        break;
    }
    const open = meaning === 'admitted';
    return { ruling: this.#ruling(meaning, key.vendor, error), open, futile: !open && meaning !== 'refused' };
  }

  #ruling(meaning: Meaning, vendor: VendorName, error: AgentosError | null): Ruling {
    if (meaning === 'out-of-quota') return { verdict: 'again' };
    if (meaning !== 'dead') return { verdict: 'pass' };
    const absence = this.#members.absence(vendor);
    return absence === null ? { verdict: 'again' } : { verdict: 'fail', error: error ?? absence };
  }

  #outOfQuota(outing: Outing, limits: AnswerLimits, hintMs: number | null, nowMs: number): void {
    const { key, portion, request } = outing;
    const { group } = key;
    const lane = group.lane(request.model, nowMs);
    // Requests overtake each other on the way: it need not be the last one sent that was one too many.
    const inFlight = Math.max(outing.inFlightAtSending, group.inFlight);
    const dimension = refusedDimension(group, inFlight, limits, hintMs);
    if (dimension === 'concurrency') {
      group.concurrency.refused(inFlight, nowMs);
      lane.observe(limits.readings, null, nowMs);
      if (hintMs === null) return;
      lane.block(nowMs + hintMs, 'concurrency');
      this.#onEvent({ type: 'key-cooling', keyId: key.id, untilMs: nowMs + hintMs, why: 'concurrency' });
      return;
    }
    const siblings = this.#members.siblingRates(key, request.model, dimension, nowMs);
    const cooling = lane.refused(portion, { dimension, limits, hintMs, siblings }, nowMs);
    this.#onEvent({ type: 'key-cooling', keyId: key.id, ...cooling });
  }

  #bury(key: PoolKey, error: AgentosError | null): void {
    if (key.dead !== null) return;
    const problem = error?.problem;
    key.dead = problem !== undefined && 'detail' in problem ? problem.detail : 'rejected';
    this.#onEvent({ type: 'key-dead', keyId: key.id, reason: key.dead });
  }
}

/** What the refusal ran into, where the vendor doesn't say: what has nothing left, or more at once than ever before. */
function refusedDimension(
  group: QuotaGroup,
  inFlight: number,
  { refused, readings }: AnswerLimits,
  hintMs: number | null,
): Dimension | 'concurrency' {
  if (refused !== null) return refused;
  const dimensions = ['requests', 'tokens', 'input-tokens', 'output-tokens'] as const;
  const empty = dimensions.find((dimension) => (readings[dimension]?.remaining?.least ?? 1) <= 0);
  if (empty !== undefined) return empty;
  return hintMs === null && group.concurrency.suspects(inFlight) ? 'concurrency' : 'requests';
}
