import type { AgentosError } from '../core/errors.ts';
import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';

/**
 * What a request needs of the pool. A lease lasts one request, not a whole item. The same object handed in again is
 * a retry: it goes to the head of its item's line.
 */
export interface LeaseRequest {
  vendor: VendorName;
  model: string;
  /** Whose request it is: items are served in turn. */
  item: string;
  estimatedInputTokens: number;
  /** Milliseconds on the pool's clock; a wait that can't end by then is refused now, with the earliest reset. */
  deadlineMs: number | null;
  /** A caller that went away gives its place back. */
  signal: AbortSignal;
}

export interface Lease {
  keyId: string;
  key: Secret;
  /** The response, as far as limits are concerned, once its headers and, for an error, its body are there. */
  answered(answer: VendorAnswer): Ruling;
  /** What it used in the end; a stream knows that last. Idempotent; without it the tokens stay as estimated. */
  finished(usage: Usage | null): void;
  /** Nothing was sent, or the connection broke: the slot is free again, what may have been spent stays spent. */
  abandon(): void;
}

/** What the vendor answered, as facts. */
export interface VendorAnswer {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The parsed body of an error; null where there is none or it is not JSON. */
  body: unknown;
}

/**
 * pass: hand it to the caller, with what an error means; retry: ask for another lease (waiting is the pool's business);
 * fail: no key can serve it.
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

/** A key as people see it; never the secret. */
export interface KeyView {
  id: string;
  vendor: VendorName;
  /** Keys that draw on one quota share a group. */
  group: string;
  state: KeyState;
  /** When it is expected back; null: at once, or never. */
  untilMs: number | null;
  inFlight: number;
  limits: LearnedLimits;
  reason: string | null;
}

export type PoolEvent =
  | { type: 'key-cooling'; keyId: string; untilMs: number; why: CoolingReason }
  | { type: 'key-dead'; keyId: string; reason: string }
  | { type: 'groups-merged'; group: string; keyIds: string[] }
  | { type: 'exhausted'; vendor: VendorName; reason: WaitReason; earliestMs: number | null }
  | { type: 'resumed'; vendor: VendorName; reason: WaitReason };

/** Why a request has to wait, and until when at the earliest; null: until another one ends. */
export interface Outlook {
  reason: WaitReason;
  untilMs: number | null;
}

export interface Pool {
  /**
   * Waits for its turn and a key. Fails with `key-missing`, `provider-rejected-key` (all keys are dead),
   * `provider-quota` (not before the deadline), or with the signal's reason.
   */
  acquire(request: LeaseRequest): Promise<Lease>;
  outlook(request: Pick<LeaseRequest, 'vendor' | 'model' | 'item' | 'estimatedInputTokens'>): Outlook;
  /** A lease if one can be had now and no other caller is waiting, else null. */
  tryAcquire(request: LeaseRequest): Lease | null;
  /** True as soon as a key could serve; false when the time is over. */
  waitForAvailable(vendor: VendorName, timeoutMs: number): Promise<boolean>;
  view(): KeyView[];
  /** live = available + reserved (all that may be in flight is) + cooling; waiting counts requests. */
  counts(vendor: VendorName): PoolCounts;
}

export interface PoolCounts {
  live: number;
  available: number;
  reserved: number;
  cooling: number;
  waiting: number;
}
