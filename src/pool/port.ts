import type { AgentosError } from '../core/errors.ts';
import type { RunEvent, WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';

/** What a request needs from the pool. A lease lasts one request, not a whole item. */
export interface LeaseRequest {
  vendor: VendorName;
  model: string;
  /** Items are served in turn. */
  item: string;
  estimatedInputTokens: number;
  /** It was refused before, and goes before other requests of its item. */
  isRetry: boolean;
  /** On the pool's clock. A wait that can't end by then is refused at once, with the earliest reset. */
  deadlineMs: number;
  /** Aborted when the caller has gone: it leaves the queue. */
  signal: AbortSignal;
}

export type LeaseNeeds = Pick<LeaseRequest, 'vendor' | 'model' | 'item' | 'estimatedInputTokens'>;

export interface Lease {
  keyId: string;
  key: Secret;
  /** To be called with the response, once its headers and, for an error, its body are there. */
  answered(answer: VendorAnswer): Ruling;
  /** Ends the lease with what the request used; null: as estimated. An error as the answer has ended it already. */
  finished(usage: Usage | null): void;
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
