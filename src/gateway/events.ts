import type { ErrorRecord } from '../core/errors.ts';
import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';

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
