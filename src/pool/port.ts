import type { AgentosError } from '../core/errors.ts';
import type { RunEvent, WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';

/**
 * What a request needs from the pool. A lease lasts one request, not a whole item. The same object handed in again is a retry: it
 * goes to the head of its item's queue.
 */
export interface LeaseRequest {
  vendor: VendorName;
  model: string;
  /** Items are served in turn. */
  item: string;
  estimatedInputTokens: number;
  /** On the pool's clock. A wait that can't end by then is refused at once, with the earliest reset. */
  deadlineMs: number | null;
  /** Aborted when the caller has gone: it leaves the queue. */
  signal: AbortSignal;
}

export type LeaseNeeds = Pick<LeaseRequest, 'vendor' | 'model' | 'item' | 'estimatedInputTokens'>;

export interface Lease {
  keyId: string;
  key: Secret;
  /** To be called with the response, once its headers and, for an error, its body are there. */
  answered(answer: VendorAnswer): Ruling;
  /** Ends the lease with what the request used; null: as estimated. Idempotent. */
  finished(usage: Usage | null): void;
  /** Nothing was sent, or the connection broke: the slot is free again, the estimated use stays charged. */
  abandon(): void;
}

export interface VendorAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The parsed body of an error; null: there is none, or it is not JSON. */
  body: unknown;
}

/**
 * pass: give the response to the caller, with the classified error if it is one; retry: ask for another lease (the pool does the
 * waiting); fail: no key can serve the request.
 */
export type Ruling =
  | { action: 'pass'; error: AgentosError | null }
  | { action: 'retry' }
  | { action: 'fail'; error: AgentosError };

export type KeyState = 'available' | 'in-use' | 'cooling' | 'dead';

export type CoolingReason = 'rate' | 'tokens' | 'concurrency' | 'quota';

/** Learned or configured; null: not known. */
export interface LearnedLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  concurrency: number | null;
}

/** A key for people, without the secret. */
export interface KeyView {
  id: string;
  vendor: VendorName;
  /** Keys that share a quota are in one group. */
  group: string;
  state: KeyState;
  /** When it is expected back; null: at once, or never. */
  untilMs: number | null;
  inFlight: number;
  limits: LearnedLimits;
  reason: string | null;
}

export type PoolEvent = Extract<
  RunEvent,
  { type: 'key-cooling' | 'key-dead' | 'groups-merged' | 'pool-exhausted' | 'pool-resumed' }
>;

/** Why a request has to wait, and until when at the earliest; null: until another request ends. */
export interface ExpectedWait {
  reason: WaitReason;
  untilMs: number | null;
}

export interface Pool {
  /**
   * Waits for its turn and a key. Fails with `key-missing`, `provider-rejected-key` (all keys are dead),
   * `provider-quota` (not before the deadline), or with the signal's reason.
   */
  acquire(request: LeaseRequest): Promise<Lease>;
  expectedWait(request: LeaseNeeds): ExpectedWait;
  /** A lease if one is possible now and no other request waits, else null. */
  tryAcquire(request: LeaseRequest): Lease | null;
  /** True as soon as a key is available; false after the timeout. */
  waitForAvailable(vendor: VendorName, timeoutMs: number): Promise<boolean>;
  /** Every vendor has quota left, and no request waits. Otherwise one more worker would only wait too. */
  hasQuota(): boolean;
  view(): KeyView[];
  /** live keys = available + reserved (as many in flight as allowed) + cooling; waiting counts requests. */
  counts(vendor: VendorName): Record<'live' | 'available' | 'reserved' | 'cooling' | 'waiting', number>;
}
