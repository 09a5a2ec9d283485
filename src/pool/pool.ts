import type { Clock } from '../core/clock.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { learnFrom, type SentRequest } from './answer.ts';
import { type KeyOptions, type PoolKey, PoolKeys } from './key.ts';
import type { ExpectedWait, KeyView, Lease, LeaseNeeds, LeaseRequest, Pool, PoolEvent, Ruling } from './port.ts';
import { ModelQueue, PoolExhaustion, quotaRefusal, type Waiter } from './queue.ts';

export interface PoolOptions extends KeyOptions {
  clock: Clock;
  onEvent: (event: PoolEvent) => void;
  /** No request waits longer than this. Default: a day. */
  longestWaitMs?: number;
}

const LONGEST_WAIT_MS = 24 * 3_600_000;
/** Timers can't be set for more than 24 days, and quota comes back while we are suspended: check again now and then. */
const LONGEST_TIMER_MS = 60_000;
/** A key with a warm prompt cache counts as fuller by this share of a bucket. */
const WARM_CACHE = 0.25;

export function createCredentialPool(options: PoolOptions): Pool {
  return new CredentialPool(options);
}

/**
 * Decides which request goes out when, and with which key. All that is known about quotas is changed from here only. A request
 * that has to wait stands in the queue of its vendor and model.
 */
class CredentialPool implements Pool {
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #keys: PoolKeys;
  readonly #exhaustion: PoolExhaustion;
  readonly #queues = new Map<string, ModelQueue>();
  readonly #retries = new WeakSet<LeaseRequest>();
  readonly #watchers = new Set<() => void>();
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

  acquire(request: LeaseRequest): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal.aborted) return reject(signal.reason);
      const noKey = this.#keys.whyNone(request.vendor);
      if (noKey !== null) return reject(noKey);
      const queue = this.#queue(request);
      const retry = this.#retries.has(request);
      const leave = (): void => {
        if (!queue.remove(request.item, waiter)) return;
        reject(signal.reason);
        this.#pump();
      };
      const waiter: Waiter = {
        request,
        deadlineMs: Math.min(
          request.deadlineMs ?? Number.POSITIVE_INFINITY,
          this.#clock.now() + (this.#options.longestWaitMs ?? LONGEST_WAIT_MS),
        ),
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
      this.#retries.add(request);
      queue.push(request.item, waiter, retry ? 'head' : 'tail');
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

  tryAcquire(request: LeaseRequest): Lease | null {
    const queue = this.#queue(request);
    if (queue.size > 0) return null;
    const nowMs = this.#nowMs();
    const choice = this.#choose(queue, request, nowMs);
    return choice.key !== null && choice.readyMs <= nowMs ? this.#grant(queue, request, choice.key) : null;
  }

  async waitForAvailable(vendor: VendorName, timeoutMs: number): Promise<boolean> {
    const endMs = this.#clock.now() + timeoutMs;
    for (;;) {
      const nowMs = this.#nowMs();
      const leftMs = endMs - this.#clock.now();
      if (this.counts(vendor).available > 0) return true;
      if (leftMs <= 0) return false;
      const stop = new AbortController();
      const changed = (): void => stop.abort();
      this.#watchers.add(changed);
      const cooling = this.#keys.live(vendor).flatMap((key) => key.coolingUntilMs(nowMs) ?? []);
      const readyInMs = cooling.map((untilMs) => untilMs - nowMs);
      await this.#clock.sleep(Math.min(leftMs, LONGEST_TIMER_MS, ...readyInMs), stop.signal);
      this.#watchers.delete(changed);
    }
  }

  view(): KeyView[] {
    const nowMs = this.#nowMs();
    const lostMs = this.#clock.suspendedMs();
    return this.#keys.all.map((key) => {
      const view = key.view(nowMs);
      return { ...view, untilMs: view.untilMs === null ? null : view.untilMs - lostMs };
    });
  }

  hasQuota(): boolean {
    return !this.#exhaustion.isExhausted && [...this.#queues.values()].every((queue) => queue.size === 0);
  }

  counts(vendor: VendorName): ReturnType<Pool['counts']> {
    const nowMs = this.#nowMs();
    const live = this.#keys.live(vendor);
    const cooling = live.filter((key) => key.coolingUntilMs(nowMs) !== null);
    const reserved = live.filter((key) => !cooling.includes(key) && key.group.inFlight >= key.group.concurrency.limit);
    const waiting = [...this.#queues.values()].filter((queue) => queue.vendor === vendor);
    return {
      live: live.length,
      available: live.length - cooling.length - reserved.length,
      reserved: reserved.length,
      cooling: cooling.length,
      waiting: waiting.reduce((sum, queue) => sum + queue.size, 0),
    };
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
    for (const watcher of this.#watchers) watcher();
  }

  /** Grants what can go now. Returns when to check again. */
  #serve(queue: ModelQueue): number {
    for (;;) {
      const nowMs = this.#nowMs();
      const first = queue.firsts()[0]?.waiter;
      if (first === undefined) return Number.POSITIVE_INFINITY;
      const noKey = this.#keys.whyNone(queue.vendor);
      if (noKey !== null) {
        queue.refuse(() => noKey);
        return Number.POSITIVE_INFINITY;
      }
      const choice = this.#choose(queue, first.request, nowMs);
      if (choice.key !== null && choice.readyMs <= nowMs) {
        const near = queue.nearestTo(choice.key.id) ?? first;
        const served = isReady(choice.key, near.request, nowMs) ? near : first;
        queue.remove(served.request.item, served);
        served.granted(this.#grant(queue, served.request, choice.key));
        continue;
      }
      // A key that is only busy may become free at any moment, so the time is unknown.
      if (!choice.busy) {
        this.#exhaustion.servedFrom(queue.vendor, choice.readyMs, () => reasonOf(choice, queue.model, nowMs));
      }
      const earliestMs = choice.busy ? nowMs : choice.readyMs;
      const lostMs = this.#clock.suspendedMs();
      queue.refuse(
        () => quotaRefusal(queue.vendor, earliestMs - nowMs),
        ({ deadlineMs }) => deadlineMs < earliestMs - lostMs || deadlineMs <= nowMs - lostMs,
      );
      if (queue.size === 0) return Number.POSITIVE_INFINITY;
      return Math.min(choice.readyMs, queue.firstDeadlineMs() + lostMs);
    }
  }

  /** The live key that can go first. Near ties go to the item's last key, whose prompt cache is warm. */
  #choose(queue: ModelQueue, request: LeaseNeeds, nowMs: number): Choice {
    let best: Candidate | null = null;
    let freeMs = Number.POSITIVE_INFINITY;
    for (const key of this.#keys.live(queue.vendor)) {
      const { group } = key;
      const quota = group.of(request.model, nowMs);
      const readyMs = quota.readyAtMs(request.estimatedInputTokens, nowMs);
      if (group.inFlight >= group.concurrency.limit) {
        if (readyMs <= nowMs) group.concurrency.heldBack();
        freeMs = Math.min(freeMs, readyMs);
        continue;
      }
      const fullness = quota.fullness(nowMs) + (queue.lastKey(request.item) === key.id ? WARM_CACHE : 0);
      const candidate = { key, readyMs, fullness };
      if (best === null || precedes(candidate, best)) best = candidate;
    }
    const readyMs = best?.readyMs ?? Number.POSITIVE_INFINITY;
    return { key: best?.key ?? null, readyMs, busy: freeMs < readyMs };
  }

  #grant(queue: ModelQueue, request: LeaseRequest, key: PoolKey): Lease {
    const nowMs = this.#nowMs();
    const { group } = key;
    const quota = group.of(request.model, nowMs);
    const turnCost = queue.turnCost(quota.expectedTokens(request.estimatedInputTokens), {
      requests: this.#keys.perMinute(queue.vendor, queue.model, 'requests', nowMs),
      tokens: this.#keys.perMinute(queue.vendor, queue.model, 'tokens', nowMs),
    });
    const charges = quota.take(request.estimatedInputTokens, nowMs);
    key.inFlight += 1;
    group.inFlight += 1;
    queue.charge(request.item, turnCost);
    queue.remember(request.item, key.id);
    this.#exhaustion.served(queue.vendor);
    return this.#lease({ request, key, charges, inFlightAtSending: group.inFlight, turnCost });
  }

  /** Sent → answered → ended; an error as the answer ends it at once. Every further call is ignored. */
  #lease(sent: SentRequest): Lease {
    const { key, request } = sent;
    let state: 'sent' | 'answered' | 'ended' = 'sent';
    let ruling: Ruling = { action: 'pass', error: null };
    const end = (usage: Usage | null): void => {
      if (state === 'ended') return;
      state = 'ended';
      const nowMs = this.#nowMs();
      key.group.of(request.model, nowMs).finish(sent.charges, usage, nowMs);
      this.#free(key);
    };
    return {
      keyId: key.id,
      key: key.given.secret,
      answered: (answer) => {
        if (state !== 'sent') return ruling;
        const time = { nowMs: this.#nowMs(), dateMs: this.#clock.dateMs() };
        const learned = learnFrom(answer, sent, this.#keys, this.#options.onEvent, time);
        ruling = learned.ruling;
        state = learned.open ? 'answered' : 'ended';
        if (learned.futile) this.#queue(request).refund(request.item, sent.turnCost);
        if (learned.open) this.#pump();
        else this.#free(key);
        return ruling;
      },
      finished: end,
      abandon: () => end(null),
    };
  }

  #free(key: PoolKey): void {
    key.inFlight -= 1;
    key.group.inFlight -= 1;
    this.#pump();
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

  #queue({ vendor, model }: { vendor: VendorName; model: string }): ModelQueue {
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
  fullness: number;
}

function precedes(a: Candidate, b: Candidate): boolean {
  if (a.readyMs !== b.readyMs) return a.readyMs < b.readyMs;
  if (a.fullness !== b.fullness) return a.fullness > b.fullness;
  return a.key.group.inFlight < b.key.group.inFlight;
}

function isReady(key: PoolKey, { model, estimatedInputTokens }: LeaseNeeds, nowMs: number): boolean {
  return key.group.of(model, nowMs).readyAtMs(estimatedInputTokens, nowMs) <= nowMs;
}

/** Why the chosen key can't go now. Only a refusal by the vendor is called quota. */
function reasonOf({ key, readyMs, busy }: Choice, model: string, nowMs: number): ExpectedWait['reason'] {
  if (key === null || busy) return 'key';
  const blocked = key.group.of(model, nowMs).blocked(nowMs);
  return blocked !== null && blocked.why !== 'concurrency' && blocked.untilMs >= readyMs ? 'quota' : 'pace';
}
