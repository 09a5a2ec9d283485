import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import type { PoolKey } from './key.ts';
import type { Lease, LeaseRequest, Ruling, VendorAnswer } from './port.ts';
import type { Portion } from './quota-group-lane.ts';

/** What the pool knows of a request that it has let out. */
export interface Outing {
  request: LeaseRequest;
  key: PoolKey;
  portion: Portion;
  sentMs: number;
  /** Itself included. */
  inFlightAtSending: number;
  /** What the workflow was charged for its turn. */
  turnCost: number;
}

export interface LeaseOwner {
  answered(outing: Outing, answer: VendorAnswer): { ruling: Ruling; ended: boolean };
  ended(outing: Outing, usage: Usage | null, unanswered: boolean): void;
}

/** Out → answered → ended; an answer that is an error ends it at once. Every further call is ignored. */
export class PoolLease implements Lease {
  readonly keyId: string;
  readonly key: Secret;
  readonly #outing: Outing;
  readonly #owner: LeaseOwner;
  #state: 'out' | 'answered' | 'ended' = 'out';
  #ruling: Ruling = { verdict: 'pass' };

  constructor(outing: Outing, owner: LeaseOwner) {
    this.keyId = outing.key.id;
    this.key = outing.key.given.secret;
    this.#outing = outing;
    this.#owner = owner;
  }

  answered(answer: VendorAnswer): Ruling {
    if (this.#state !== 'out') return this.#ruling;
    const { ruling, ended } = this.#owner.answered(this.#outing, answer);
    this.#ruling = ruling;
    this.#state = ended ? 'ended' : 'answered';
    return ruling;
  }

  finished(usage: Usage | null): void {
    this.#end(usage);
  }

  abandon(): void {
    this.#end(null);
  }

  #end(usage: Usage | null): void {
    if (this.#state === 'ended') return;
    const unanswered = this.#state === 'out';
    this.#state = 'ended';
    this.#owner.ended(this.#outing, usage, unanswered);
  }
}
