import type { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { FairQueue } from './fair-queue.ts';
import type { Lease, LeaseRequest } from './port.ts';

export interface Waiter {
  request: LeaseRequest;
  deadlineMs: number;
  granted: (lease: Lease) => void;
  refused: (error: AgentosError) => void;
}

export interface Head {
  workflow: string;
  item: Waiter;
  behind: number;
}

/** By how many turns a workflow may be served early because the free key is the one that knows its prompts. */
const AFFINITY_TURNS = 1;

/** Those who wait for one model of one vendor. */
export class PoolLine {
  readonly vendor: VendorName;
  readonly model: string;
  readonly queue = new FairQueue<Waiter>();
  readonly #lastKeys = new Map<string, string>();
  #usualTokens: number | null = null;

  constructor(vendor: VendorName, model: string) {
    this.vendor = vendor;
    this.model = model;
  }

  lastKey(workflow: string): string | null {
    return this.#lastKeys.get(workflow) ?? null;
  }

  remember(workflow: string, keyId: string): void {
    this.#lastKeys.set(workflow, keyId);
  }

  /** Whose turn it is, or somebody hardly behind whose last key is the free one. */
  nearestTo(keyId: string, first: Head, others: readonly Head[]): Head {
    if (this.lastKey(first.workflow) === keyId) return first;
    const near = others.find(({ workflow, behind }) => behind < AFFINITY_TURNS && this.lastKey(workflow) === keyId);
    return near ?? first;
  }

  /** In usual requests: the larger of the shares that it takes of the requests and of the tokens. */
  turnCost(tokens: number, perMinute: { requests: number | null; tokens: number | null }): number {
    this.#usualTokens = (this.#usualTokens ?? tokens) * 0.95 + tokens * 0.05;
    if (perMinute.tokens === null) return 1;
    if (perMinute.requests === null) return tokens / Math.max(1, this.#usualTokens);
    return Math.max(1, (tokens / perMinute.tokens) * perMinute.requests);
  }

  firstDeadlineMs(): number {
    return this.queue.items().reduce((least, waiter) => Math.min(least, waiter.deadlineMs), Number.POSITIVE_INFINITY);
  }

  refuseLate(earliestMs: number, nowMs: number, error: () => AgentosError): void {
    this.#refuse(({ deadlineMs }) => deadlineMs < earliestMs || deadlineMs <= nowMs, error);
  }

  refuseAll(error: AgentosError): void {
    this.#refuse(
      () => true,
      () => error,
    );
  }

  #refuse(which: (waiter: Waiter) => boolean, error: () => AgentosError): void {
    for (const waiter of this.queue.items()) {
      if (!which(waiter)) continue;
      this.queue.remove(waiter.request.workflow, waiter);
      waiter.refused(error());
    }
  }
}
