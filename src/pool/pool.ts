import type { Clock } from '../core/clock.ts';
import type { VendorName } from '../core/keys.ts';
import type { Usage } from '../core/money.ts';
import { ProviderBreaker } from './breaker.ts';
import { PoolExhaustion } from './exhaustion.ts';
import type { PoolKey } from './key.ts';
import { type LeaseOwner, type Outing, PoolLease } from './lease.ts';
import { PoolLine, type Waiter } from './line.ts';
import { type MemberOptions, PoolMembers } from './members.ts';
import type { KeyView, Lease, LeaseRequest, Outlook, Pool, PoolEvent, Ruling, VendorAnswer } from './port.ts';
import { waitRefusal } from './refusal.ts';
import { PoolSettlement } from './settlement.ts';

export interface PoolOptions extends MemberOptions {
  clock: Clock;
  onEvent: (event: PoolEvent) => void;
  /** Nobody waits longer than this, deadline or not. */
  longestWaitMs?: number;
}

const LONGEST_WAIT_MS = 24 * 3_600_000;
/** Timers can't be set for more than 24 days, and quota comes back during a suspension: look again now and then. */
const LONGEST_TIMER_MS = 60_000;
/** A warm prompt cache is worth this much of a full bucket. */
const WARM_CACHE = 0.25;

export function createCredentialPool(options: PoolOptions): Pool {
  return new CredentialPool(options);
}

/**
 * Decides which request goes out when, and with which key. The only writer of all that is known about quotas. A lease
 * lasts one request; who has to wait stands in the line of their vendor and model.
 */
class CredentialPool implements Pool, LeaseOwner {
  readonly #options: PoolOptions;
  readonly #clock: Clock;
  readonly #members: PoolMembers;
  readonly #settlement: PoolSettlement;
  readonly #exhaustion: PoolExhaustion;
  readonly #lines = new Map<string, PoolLine>();
  readonly #breakers = new Map<VendorName, ProviderBreaker>();
  readonly #retries = new WeakSet<LeaseRequest>();
  readonly #watchers = new Set<() => void>();
  #timer: { atMs: number; stop: AbortController } | null = null;
  #pumping: 'no' | 'yes' | 'again' = 'no';

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#members = new PoolMembers(options);
    const tell = (event: PoolEvent): void => options.onEvent(this.#onClock(event));
    this.#settlement = new PoolSettlement(this.#members, (vendor) => this.#breaker(vendor), tell);
    this.#exhaustion = new PoolExhaustion(tell, () => this.#nowMs());
    for (const { id, dead } of this.#members.keys) {
      if (dead !== null) tell({ type: 'key-dead', keyId: id, reason: dead });
    }
  }

  /** Quota comes back while this process is suspended too; only the deadlines of those who wait stand still. */
  #nowMs(): number {
    return this.#clock.now() + this.#clock.suspendedMs();
  }

  /** What is told to others is on the clock that they have. */
  #onClock(event: PoolEvent): PoolEvent {
    const lostMs = this.#clock.suspendedMs();
    if (event.type === 'key-cooling') return { ...event, untilMs: event.untilMs - lostMs };
    if (event.type !== 'exhausted' || event.earliestMs === null) return event;
    return { ...event, earliestMs: event.earliestMs - lostMs };
  }

  acquire(request: LeaseRequest): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      if (signal.aborted) return reject(signal.reason);
      const absence = this.#members.absence(request.vendor);
      if (absence !== null) return reject(absence);
      const line = this.#line(request);
      const retry = this.#retries.has(request);
      const leave = (): void => {
        if (!line.queue.remove(request.workflow, waiter)) return;
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
      line.queue.push(request.workflow, waiter, retry ? 'head' : 'tail');
      this.#pump();
    });
  }

  outlook(request: Parameters<Pool['outlook']>[0]): Outlook {
    const nowMs = this.#nowMs();
    const line = this.#line(request);
    const choice = this.#choose(line, request, nowMs);
    const isKnown = choice.key !== null && !choice.busy && choice.readyMs > nowMs;
    const untilMs = isKnown ? choice.readyMs - this.#clock.suspendedMs() : null;
    return { reason: this.#reason(choice, line, nowMs), untilMs };
  }

  tryAcquire(request: LeaseRequest): Lease | null {
    const line = this.#line(request);
    if (line.queue.size > 0) return null;
    const nowMs = this.#nowMs();
    const choice = this.#choose(line, request, nowMs);
    return choice.key !== null && choice.readyMs <= nowMs ? this.#letOut(line, request, choice.key) : null;
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
      const cooling = this.#members.live(vendor).flatMap((key) => key.coolingUntilMs(nowMs) ?? []);
      const readyInMs = cooling.map((untilMs) => untilMs - nowMs);
      await this.#clock.sleep(Math.min(leftMs, LONGEST_TIMER_MS, ...readyInMs), stop.signal);
      this.#watchers.delete(changed);
    }
  }

  view(): KeyView[] {
    const nowMs = this.#nowMs();
    const lostMs = this.#clock.suspendedMs();
    return this.#members.keys.map((key) => {
      const view = key.view(this.#breaker(key.vendor).isOpen(), nowMs);
      return { ...view, untilMs: view.untilMs === null ? null : view.untilMs - lostMs };
    });
  }

  counts(vendor: VendorName): ReturnType<Pool['counts']> {
    const nowMs = this.#nowMs();
    const live = this.#members.live(vendor);
    const cooling = live.filter((key) => key.coolingUntilMs(nowMs) !== null);
    const reserved = live.filter((key) => !cooling.includes(key) && key.group.inFlight >= key.group.concurrency.limit);
    const waiting = [...this.#lines.values()].filter((line) => line.vendor === vendor);
    return {
      live: live.length,
      available: this.#breaker(vendor).isOpen() ? 0 : live.length - cooling.length - reserved.length,
      reserved: reserved.length,
      cooling: cooling.length,
      waiting: waiting.reduce((sum, line) => sum + line.queue.size, 0),
    };
  }

  answered(outing: Outing, answer: VendorAnswer): { ruling: Ruling; ended: boolean } {
    const { ruling, open, futile } = this.#settlement.settle(outing, answer, {
      nowMs: this.#nowMs(),
      dateMs: this.#clock.dateMs(),
    });
    if (futile) this.#line(outing.request).queue.refund(outing.request.workflow, outing.turnCost);
    if (!open) this.#free(outing);
    this.#pump();
    return { ruling, ended: !open };
  }

  ended(outing: Outing, usage: Usage | null, unanswered: boolean): void {
    const nowMs = this.#nowMs();
    outing.key.group.lane(outing.request.model, nowMs).settle(outing.portion, usage, nowMs);
    if (unanswered) this.#breaker(outing.key.vendor).unanswered();
    this.#free(outing);
    this.#pump();
  }

  #free({ key }: Outing): void {
    key.inFlight -= 1;
    key.group.inFlight -= 1;
  }

  /** One pass at a time; what is asked for meanwhile, by whoever hears of an event, gets a pass of its own. */
  #pump(): void {
    const before = this.#pumping;
    this.#pumping = before === 'no' ? 'yes' : 'again';
    if (before !== 'no') return;
    try {
      for (;;) {
        this.#pumping = 'yes';
        let wakeMs = Number.POSITIVE_INFINITY;
        for (const line of this.#lines.values()) wakeMs = Math.min(wakeMs, this.#serve(line));
        this.#wakeAt(wakeMs);
        if (!this.#isAskedAgain()) break;
      }
    } finally {
      this.#pumping = 'no';
    }
    for (const watcher of this.#watchers) watcher();
  }

  #isAskedAgain(): boolean {
    return this.#pumping === 'again';
  }

  /** Lets out whoever can go now. Returns when to look again. */
  #serve(line: PoolLine): number {
    for (;;) {
      const nowMs = this.#nowMs();
      const [first, ...others] = line.queue.heads();
      if (first === undefined) return Number.POSITIVE_INFINITY;
      const absence = this.#members.absence(line.vendor);
      if (absence !== null) {
        line.refuseAll(absence);
        return Number.POSITIVE_INFINITY;
      }
      const choice = this.#choose(line, first.item.request, nowMs);
      if (choice.key !== null && choice.readyMs <= nowMs) {
        const near = line.nearestTo(choice.key.id, first, others);
        const key = near === first ? choice.key : (this.#ready(line, near.item.request, choice.key, nowMs) ?? null);
        const served = key === null ? first : near;
        line.queue.remove(served.workflow, served.item);
        served.item.granted(this.#letOut(line, served.item.request, key ?? choice.key));
        continue;
      }
      // A key that is only busy may be free at any moment: then nothing is known about when.
      if (!choice.busy) {
        const reasonOf = (): Outlook['reason'] => this.#reason(choice, line, nowMs);
        this.#exhaustion.servedFrom(line.vendor, choice.readyMs, reasonOf);
      }
      const earliestMs = choice.busy ? nowMs : choice.readyMs;
      const overloaded = this.#breaker(line.vendor).isOpen();
      const lostMs = this.#clock.suspendedMs();
      line.refuseLate(earliestMs - lostMs, nowMs - lostMs, () =>
        waitRefusal(line.vendor, overloaded, earliestMs - nowMs),
      );
      if (line.queue.size === 0) return Number.POSITIVE_INFINITY;
      return Math.min(choice.readyMs, line.firstDeadlineMs() + lostMs);
    }
  }

  /** The live key that can go first; near ties go to the workflow's last one, whose prompt cache is warm. */
  #choose(line: PoolLine, request: Parameters<Pool['outlook']>[0], nowMs: number): Choice {
    const gateMs = this.#breaker(line.vendor).readyAtMs(nowMs);
    if (gateMs === null) return { key: null, readyMs: Number.POSITIVE_INFINITY, busy: true };
    let best: Candidate | null = null;
    let freeMs = Number.POSITIVE_INFINITY;
    for (const key of this.#members.live(line.vendor)) {
      const { group } = key;
      const lane = group.lane(request.model, nowMs);
      const readyMs = Math.max(gateMs, lane.readyAtMs(request.estimatedInputTokens, nowMs));
      if (group.inFlight >= group.concurrency.limit) {
        if (readyMs <= nowMs) group.concurrency.heldBack();
        freeMs = Math.min(freeMs, readyMs);
        continue;
      }
      const fullness = lane.fullness(nowMs) + (line.lastKey(request.workflow) === key.id ? WARM_CACHE : 0);
      const candidate = { key, readyMs, fullness };
      if (best === null || precedes(candidate, best)) best = candidate;
    }
    const readyMs = best?.readyMs ?? Number.POSITIVE_INFINITY;
    return { key: best?.key ?? null, readyMs, busy: freeMs < readyMs };
  }

  /** What keeps the choice back. Only a refusal by the vendor is called quota. */
  #reason({ key, readyMs, busy }: Choice, { vendor, model }: PoolLine, nowMs: number): Outlook['reason'] {
    const breaker = this.#breaker(vendor);
    if (breaker.isOpen() && (breaker.readyAtMs(nowMs) ?? Number.POSITIVE_INFINITY) >= readyMs) return 'retry';
    if (key === null || busy) return 'key';
    const blocked = key.group.lane(model, nowMs).blocked(nowMs);
    return blocked !== null && blocked.why !== 'concurrency' && blocked.untilMs >= readyMs ? 'quota' : 'pace';
  }

  #ready(line: PoolLine, request: LeaseRequest, key: PoolKey, nowMs: number): PoolKey | null {
    if (this.#breaker(line.vendor).isOpen()) return null;
    return key.group.lane(request.model, nowMs).readyAtMs(request.estimatedInputTokens, nowMs) <= nowMs ? key : null;
  }

  #letOut(line: PoolLine, request: LeaseRequest, key: PoolKey): Lease {
    const nowMs = this.#nowMs();
    const { group } = key;
    const lane = group.lane(request.model, nowMs);
    const turnCost = line.turnCost(lane.expectedTokens(request.estimatedInputTokens), {
      requests: this.#members.perMinute(line.vendor, line.model, 'requests', nowMs),
      tokens: this.#members.perMinute(line.vendor, line.model, 'tokens', nowMs),
    });
    const portion = lane.take(request.estimatedInputTokens, nowMs);
    key.inFlight += 1;
    group.inFlight += 1;
    this.#breaker(line.vendor).sent();
    line.queue.charge(request.workflow, turnCost);
    line.remember(request.workflow, key.id);
    this.#exhaustion.served(line.vendor);
    return new PoolLease({ request, key, portion, sentMs: nowMs, inFlightAtSending: group.inFlight, turnCost }, this);
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

  #line({ vendor, model }: { vendor: VendorName; model: string }): PoolLine {
    const name = `${vendor}\0${model}`;
    const known = this.#lines.get(name) ?? new PoolLine(vendor, model);
    this.#lines.set(name, known);
    return known;
  }

  #breaker(vendor: VendorName): ProviderBreaker {
    const known = this.#breakers.get(vendor) ?? new ProviderBreaker();
    this.#breakers.set(vendor, known);
    return known;
  }
}

interface Choice {
  /** Null: none has a slot. */
  key: PoolKey | null;
  readyMs: number;
  /** Another could go sooner, but for those that it has in flight. */
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
