import type { Clock } from '../core/clock.ts';
import type { RunEvent, WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import type { Secret } from '../core/secret.ts';
import { learnFrom, type Ruling, type SentRequest, type VendorAnswer } from './answer.ts';
import { type KeyOptions, type KeyView, type PoolKey, PoolKeys } from './keys.ts';
import { ModelQueue, PoolExhaustion, quotaRefusal, type Waiter } from './queue.ts';

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

type LeaseNeeds = Pick<LeaseRequest, 'vendor' | 'model' | 'item' | 'estimatedInputTokens'>;

export interface Lease {
  keyId: string;
  key: Secret;
  /** To be called with the response, once its headers and, for an error, its body are there. */
  answered(answer: VendorAnswer): Ruling;
  /** Ends the lease with what the request used; null: as estimated. An error as the answer has ended it already. */
  finished(usage: Usage | null): void;
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

export interface PoolOptions extends KeyOptions {
  clock: Clock;
  onEvent: (event: PoolEvent) => void;
}

/** Timers can't be set for more than 24 days, and quota comes back while we are suspended: check again now and then. */
const LONGEST_TIMER_MS = 60_000;

/**
 * Decides which request goes out when, and with which key. All that is known about quotas is changed from here only. A request
 * that has to wait stands in the queue of its vendor and model.
 */
export class CredentialPool {
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #keys: PoolKeys;
  readonly #exhaustion: PoolExhaustion;
  readonly #queues = new Map<string, ModelQueue>();
  #timer: { atMs: number; stop: AbortController } | null = null;
  /** Passes over the queues that were asked for; 0: none is running. */
  #passes = 0;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#keys = new PoolKeys(options);
    this.#exhaustion = new PoolExhaustion(options.onEvent, () => this.#nowMs());
    for (const { id, dead } of this.#keys.all) {
      if (dead !== null) options.onEvent({ type: 'key-dead', keyId: id, reason: dead });
    }
  }

  /** Quota also comes back while this process is suspended; only the deadlines of waiting requests stand still. */
  #nowMs(): number {
    return this.#clock.now() + this.#clock.suspendedMs();
  }

  /**
   * Waits for its turn and a key. Fails with `key-missing`, `provider-rejected-key` (all keys are dead),
   * `provider-quota` (not before the deadline), or with the signal's reason.
   */
  acquire(request: LeaseRequest): Promise<Lease> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const queue = this.#queue(request);
      const leave = (): void => {
        if (!queue.remove(waiter)) return;
        reject(signal.reason);
        this.#pump();
      };
      const waiter: Waiter = {
        request,
        granted: (lease) => {
          signal.removeEventListener('abort', leave);
          resolve(lease);
        },
        refused: (error) => {
          signal.removeEventListener('abort', leave);
          reject(error);
        },
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(waiter);
      this.#pump();
    });
  }

  expectedWait(request: LeaseNeeds): ExpectedWait {
    const nowMs = this.#nowMs();
    const choice = this.#choose(this.#queue(request), request, nowMs);
    const isKnown = choice.key !== null && !choice.busy && choice.readyMs > nowMs;
    const untilMs = isKnown ? choice.readyMs - this.#clock.suspendedMs() : null;
    return { reason: reasonOf(choice, request.model, nowMs), untilMs };
  }

  view(): KeyView[] {
    const nowMs = this.#nowMs();
    const lostMs = this.#clock.suspendedMs();
    return this.#keys.all.map((key) => {
      const view = key.view(nowMs);
      return { ...view, untilMs: view.untilMs === null ? null : view.untilMs - lostMs };
    });
  }

  /** Every vendor has quota left, and no request waits. Otherwise one more worker would only wait too. */
  hasQuota(): boolean {
    return !this.#exhaustion.isExhausted && [...this.#queues.values()].every((queue) => queue.first() === undefined);
  }

  /** onEvent may ask for a lease re-entrantly: then the running pass is followed by another one. */
  #pump(): void {
    this.#passes += 1;
    if (this.#passes > 1) return;
    try {
      for (let done = 0; done < this.#passes; ) {
        done = this.#passes;
        let wakeMs = Number.POSITIVE_INFINITY;
        for (const queue of this.#queues.values()) wakeMs = Math.min(wakeMs, this.#serve(queue));
        this.#wakeAt(wakeMs);
      }
    } finally {
      this.#passes = 0;
    }
  }

  /** Grants what can go now, and refuses what can't go in time. Returns when to check again. */
  #serve(queue: ModelQueue): number {
    for (;;) {
      const nowMs = this.#nowMs();
      const first = queue.first();
      if (first === undefined) return Number.POSITIVE_INFINITY;
      const noKey = this.#keys.whyNone(queue.vendor);
      if (noKey !== null) {
        queue.remove(first);
        first.refused(noKey);
        continue;
      }
      const choice = this.#choose(queue, first.request, nowMs);
      if (choice.key !== null && choice.readyMs <= nowMs) {
        queue.serve(first, choice.key.id);
        first.granted(this.#grant(first.request, choice.key));
        continue;
      }
      // A key that is only busy may become free at any moment, so the time is unknown.
      if (!choice.busy) {
        this.#exhaustion.servedFrom(queue.vendor, choice.readyMs, () => reasonOf(choice, queue.model, nowMs));
      }
      const earliestMs = choice.busy ? nowMs : choice.readyMs;
      let firstDeadlineMs = Number.POSITIVE_INFINITY;
      for (const waiter of queue.waiters()) {
        const deadlineMs = waiter.request.deadlineMs + this.#clock.suspendedMs();
        if (deadlineMs < earliestMs || deadlineMs <= nowMs) {
          queue.remove(waiter);
          waiter.refused(quotaRefusal(queue.vendor, earliestMs - nowMs));
        } else firstDeadlineMs = Math.min(firstDeadlineMs, deadlineMs);
      }
      return Math.min(queue.first() === undefined ? Number.POSITIVE_INFINITY : choice.readyMs, firstDeadlineMs);
    }
  }

  /** The live key that can go first. Ties go to the item's last key, whose prompt cache is warm. */
  #choose(queue: ModelQueue, request: LeaseNeeds, nowMs: number): Choice {
    let best: Candidate | null = null;
    let freeMs = Number.POSITIVE_INFINITY;
    for (const key of this.#keys.live(queue.vendor)) {
      const { group } = key;
      const readyMs = group.of(request.model, nowMs).readyAtMs(request.estimatedInputTokens, nowMs);
      if (group.inFlight >= group.concurrency.limit) {
        if (readyMs <= nowMs) group.concurrency.heldBack();
        freeMs = Math.min(freeMs, readyMs);
        continue;
      }
      const candidate = { key, readyMs, isWarm: queue.lastKey(request.item) === key.id };
      if (best === null || precedes(candidate, best)) best = candidate;
    }
    const readyMs = best?.readyMs ?? Number.POSITIVE_INFINITY;
    return { key: best?.key ?? null, readyMs, busy: freeMs < readyMs };
  }

  #grant(request: LeaseRequest, key: PoolKey): Lease {
    const nowMs = this.#nowMs();
    const { group } = key;
    const charges = group.of(request.model, nowMs).take(request.estimatedInputTokens, nowMs);
    key.inFlight += 1;
    group.inFlight += 1;
    this.#exhaustion.served(request.vendor);
    return this.#lease({ request, key, charges, inFlightAtSending: group.inFlight });
  }

  #lease(sent: SentRequest): Lease {
    const { key, request, charges } = sent;
    let isOpen = true;
    const end = (): void => {
      isOpen = false;
      key.inFlight -= 1;
      key.group.inFlight -= 1;
      this.#pump();
    };
    return {
      keyId: key.id,
      key: key.secret,
      answered: (answer) => {
        const time = { nowMs: this.#nowMs(), dateMs: this.#clock.dateMs() };
        const ruling = learnFrom(answer, sent, this.#keys, this.#options.onEvent, time);
        if (answer.status >= 400) end();
        else this.#pump();
        return ruling;
      },
      finished: (usage) => {
        if (!isOpen) return;
        const nowMs = this.#nowMs();
        key.group.of(request.model, nowMs).finish(charges, usage, nowMs);
        end();
      },
    };
  }

  #wakeAt(atMs: number): void {
    if (this.#timer !== null && this.#timer.atMs === atMs) return;
    this.#timer?.stop.abort();
    this.#timer = null;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const stop = new AbortController();
    this.#timer = { atMs, stop };
    const waitMs = Math.min(LONGEST_TIMER_MS, Math.max(0, atMs - this.#nowMs()));
    void this.#clock.sleep(waitMs, stop.signal).then(() => {
      if (stop.signal.aborted) return;
      this.#timer = null;
      this.#pump();
    });
  }

  #queue({ vendor, model }: Pick<LeaseNeeds, 'vendor' | 'model'>): ModelQueue {
    const name = `${vendor}\0${model}`;
    const known = this.#queues.get(name) ?? new ModelQueue(vendor, model);
    this.#queues.set(name, known);
    return known;
  }
}

interface Choice {
  /** Null: every key has as many in flight as allowed. */
  key: PoolKey | null;
  readyMs: number;
  /** Another key could go sooner if it had fewer in flight. */
  busy: boolean;
}

interface Candidate {
  key: PoolKey;
  readyMs: number;
  isWarm: boolean;
}

function precedes(a: Candidate, b: Candidate): boolean {
  if (a.readyMs !== b.readyMs) return a.readyMs < b.readyMs;
  if (a.isWarm !== b.isWarm) return a.isWarm;
  return a.key.group.inFlight < b.key.group.inFlight;
}

/** Why the chosen key can't go now. Only a refusal by the vendor is called quota. */
function reasonOf({ key, readyMs, busy }: Choice, model: string, nowMs: number): ExpectedWait['reason'] {
  if (key === null || busy) return 'key';
  const blocked = key.group.of(model, nowMs).blocked(nowMs);
  return blocked !== null && blocked.why !== 'concurrency' && blocked.untilMs >= readyMs ? 'quota' : 'pace';
}
