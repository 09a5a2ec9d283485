import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { WaitReason } from '../core/events.ts';
import type { VendorName } from '../core/keys.ts';
import type { Lease, LeaseRequest, PoolEvent } from './port.ts';

interface Line<T> {
  waiting: T[];
  /** Virtual time at which the turns that it got are paid off. */
  finish: number;
}

interface First<T> {
  owner: string;
  waiter: T;
  finish: number;
  /** How much more it got than the owner whose turn it is. */
  behind: number;
}

/**
 * Start-time fair queueing: the owner that got least comes first; within an owner, first come, first served. An owner that was
 * away has no claim on the time it missed.
 */
export class FairQueue<T> {
  readonly #lines = new Map<string, Line<T>>();
  #virtual = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: string, waiter: T, where: 'head' | 'tail'): void {
    const line = this.#lines.get(owner) ?? { waiting: [], finish: this.#virtual };
    this.#lines.set(owner, line);
    if (line.waiting.length === 0) line.finish = Math.max(line.finish, this.#virtual);
    if (where === 'head') line.waiting.unshift(waiter);
    else line.waiting.push(waiter);
    this.#size += 1;
  }

  /** The first waiter of each owner, in the order of their turns. */
  firsts(): First<T>[] {
    const firsts: First<T>[] = [];
    for (const [owner, { waiting, finish }] of this.#lines) {
      const waiter = waiting[0];
      if (waiter !== undefined) firsts.push({ owner, waiter, finish, behind: 0 });
      else if (finish <= this.#virtual) this.#lines.delete(owner);
    }
    firsts.sort((a, b) => a.finish - b.finish);
    const least = firsts[0]?.finish ?? 0;
    for (const first of firsts) first.behind = first.finish - least;
    return firsts;
  }

  /** The owner got a turn, at this cost. */
  charge(owner: string, cost: number): void {
    const line = this.#lines.get(owner) ?? { waiting: [], finish: this.#virtual };
    this.#lines.set(owner, line);
    const start = Math.max(line.finish, this.#virtual);
    // Not past owners that still wait: they must not lose their claim because another one was served early.
    const waiting = this.firsts()[0]?.finish ?? start;
    this.#virtual = Math.max(this.#virtual, Math.min(start, waiting));
    line.finish = start + cost;
  }

  /** The turn was of no use, so it does not count. */
  refund(owner: string, cost: number): void {
    const line = this.#lines.get(owner);
    if (line !== undefined) line.finish -= cost;
  }

  remove(owner: string, waiter: T): boolean {
    const waiting = this.#lines.get(owner)?.waiting;
    const index = waiting?.indexOf(waiter) ?? -1;
    if (waiting === undefined || index < 0) return false;
    waiting.splice(index, 1);
    this.#size -= 1;
    return true;
  }

  waiters(): T[] {
    return [...this.#lines.values()].flatMap((line) => line.waiting);
  }
}

export interface Waiter {
  request: LeaseRequest;
  deadlineMs: number;
  granted: (lease: Lease) => void;
  refused: (error: AgentosError) => void;
}

/** By how many turns an item may be served early because the free key has its prompts cached. */
const AFFINITY_TURNS = 1;

/** The requests that wait for one model of one vendor. */
export class ModelQueue extends FairQueue<Waiter> {
  readonly vendor: VendorName;
  readonly model: string;
  readonly #lastKeys = new Map<string, string>();
  #usualTokens: number | null = null;

  constructor(vendor: VendorName, model: string) {
    super();
    this.vendor = vendor;
    this.model = model;
  }

  lastKey(item: string): string | null {
    return this.#lastKeys.get(item) ?? null;
  }

  remember(item: string, keyId: string): void {
    this.#lastKeys.set(item, keyId);
  }

  /** The waiter whose turn it is, or one shortly behind it whose item used this key before. */
  nearestTo(keyId: string): Waiter | null {
    const [first, ...others] = this.firsts();
    if (first === undefined) return null;
    if (this.lastKey(first.owner) === keyId) return first.waiter;
    const near = others.find(({ owner, behind }) => behind < AFFINITY_TURNS && this.lastKey(owner) === keyId);
    return (near ?? first).waiter;
  }

  /** In usual requests: the larger of its share of the requests and its share of the tokens. */
  turnCost(tokens: number, perMinute: { requests: number | null; tokens: number | null }): number {
    this.#usualTokens = (this.#usualTokens ?? tokens) * 0.95 + tokens * 0.05;
    if (perMinute.tokens === null) return 1;
    if (perMinute.requests === null) return tokens / Math.max(1, this.#usualTokens);
    return Math.max(1, (tokens / perMinute.tokens) * perMinute.requests);
  }

  firstDeadlineMs(): number {
    return this.waiters().reduce((least, { deadlineMs }) => Math.min(least, deadlineMs), Number.POSITIVE_INFINITY);
  }

  refuse(error: () => AgentosError, which: (waiter: Waiter) => boolean = () => true): void {
    for (const waiter of this.waiters()) {
      if (!which(waiter)) continue;
      this.remove(waiter.request.item, waiter);
      waiter.refused(error());
    }
  }
}

/** For a wait that can't end in time. `inMs`: until the first key is back; 0: unknown. */
export function quotaRefusal(provider: VendorName, inMs: number): AgentosError {
  const retryAfterMs = inMs > 0 ? Math.ceil(inMs) : null;
  const detail =
    retryAfterMs === null
      ? 'no key became free in time'
      : `every key has used its quota; the first is back in ${formatDuration(retryAfterMs)}`;
  return new AgentosError({ code: 'provider-quota', provider, detail, retryAfterMs, status: null }, { retry: 'quota' });
}

/** If no request can be served for this long, the pool is exhausted. */
const EXHAUSTED_AFTER_MS = 2_000;
const CHECK_EVERY_MS = 1_000;

/**
 * Reports once that a vendor has no quota left, and once that it has some again: when a request is served, or when the time has
 * come and no request waits any more. The timer for the latter keeps no process alive.
 */
export class PoolExhaustion {
  readonly #known = new Map<VendorName, { untilMs: number; reason: WaitReason }>();
  readonly #onEvent: (event: PoolEvent) => void;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | null = null;

  constructor(onEvent: (event: PoolEvent) => void, now: () => number) {
    this.#onEvent = onEvent;
    this.#now = now;
  }

  /** The next request can be served at this time. Reported again if a refusal by the vendor follows our own pacing. */
  servedFrom(vendor: VendorName, readyMs: number, reasonOf: () => WaitReason): void {
    const known = this.#known.get(vendor);
    if (known === undefined && readyMs <= this.#now() + EXHAUSTED_AFTER_MS) return;
    const found = known?.reason === 'quota' ? 'quota' : reasonOf();
    const isNews = known === undefined || (found === 'quota' && known.reason !== 'quota');
    const reason = isNews ? found : known.reason;
    this.#known.set(vendor, { untilMs: readyMs, reason });
    if (isNews) this.#onEvent({ type: 'pool-exhausted', vendor, reason, forMs: Math.max(0, readyMs - this.#now()) });
    this.#timer ??= setInterval(() => this.#check(), CHECK_EVERY_MS).unref();
  }

  /** A vendor has no quota left. */
  get isExhausted(): boolean {
    return this.#known.size > 0;
  }

  served(vendor: VendorName): void {
    const known = this.#known.get(vendor);
    if (known === undefined) return;
    this.#known.delete(vendor);
    this.#onEvent({ type: 'pool-resumed', vendor, reason: known.reason });
    if (this.#known.size > 0 || this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
  }

  #check(): void {
    for (const [vendor, { untilMs }] of this.#known) if (untilMs <= this.#now()) this.served(vendor);
  }
}
