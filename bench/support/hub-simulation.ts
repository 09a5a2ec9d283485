import type { Clock } from '../../src/core/clock.ts';
import type { VendorKey } from '../../src/core/keys.ts';
import { Secret } from '../../src/core/secret.ts';
import { CredentialPool } from '../../src/pool/pool.ts';
import { seededRandom } from '../../test/support/vendor/random.ts';

/*
 * A hub with many machines, in discrete events: machines that die and come back, items, calls, keys with a vendor's limits, and every
 * statement that the program sends to the database for them. Keys are chosen by the real pool, or by a model of it where that would take too
 * long: both are run at a small size, to see how far the model is off.
 */

export interface SimulatedHub {
  machines: number;
  workers: number;
  keys: number;
  items: number;
  /** Of each key. */
  requestsPerMinute: number;
  /** Calls of one item, and how long each takes. */
  calls: [least: number, most: number];
  callMs: [least: number, most: number];
  /** A machine dies so often, on average, and is back after so long. */
  deathEveryMs: number;
  backAfterMs: number;
  seed: number;
  pool: 'real' | 'model';
}

export interface Simulated {
  /** Of simulated time. */
  hours: number;
  calls: number;
  callsPerSecond: number;
  /** Answered calls over what keys and workers allow, while there was work for all. */
  goodput: number;
  /** Requests that the vendor refused. */
  refused: number;
  deaths: number;
  transactionsPerSecond: number;
  /** In the busiest second. */
  mostTransactions: number;
  /** Calls in flight at once. */
  streams: number;
  /** Real time that choosing a key took for each call. */
  poolMs: number;
}

/** Statements that the program sends: see `src/hub/`. A gateway request asks who sends it and for what. */
const STATEMENTS = { claim: 2, place: 1, step: 2, request: 1, answered: 1, end: 5, handled: 4 };
const BEAT_MS = 5_000;
const HUB_PASS_MS = 1_000;
const HUB_PASS = 5;
/** Events of all items of a machine are written together; a busy one has some in most of these. */
const WRITE_MS = 300;
const WRITES = 0.8;
/** Until a dead machine's items are free. */
const LOST_MS = 14_000;

export async function simulateHub(hub: SimulatedHub): Promise<Simulated> {
  const clock = createEventClock();
  const random = seededRandom(hub.seed);
  const between = ([least, most]: [number, number]): number => least + random() * (most - least);
  const vendor = createVendorLimits(clock, hub);
  const pool = hub.pool === 'real' ? realPool(clock, hub, random) : modelledPool(clock, hub);
  const bySecond = new Map<number, number>();
  let transactions = 0;
  const spend = (count: number): void => {
    transactions += count;
    const second = Math.floor(clock.now() / 1_000);
    bySecond.set(second, (bySecond.get(second) ?? 0) + count);
  };

  let left = hub.items;
  let done = 0;
  let calls = 0;
  let refused = 0;
  let streams = 0;
  let mostStreams = 0;
  let deaths = 0;
  let whileBusy = { calls: 0, untilMs: 0 };
  /** Calls that items still need whose machine died. */
  const freed: number[] = [];

  const call = async (item: string): Promise<void> => {
    spend(STATEMENTS.request);
    for (;;) {
      const lease = await pool.acquire(item);
      if (vendor.admits(lease.key)) {
        streams += 1;
        mostStreams = Math.max(mostStreams, streams);
        await clock.sleep(between(hub.callMs));
        streams -= 1;
        lease.end(true);
        break;
      }
      refused += 1;
      lease.end(false);
    }
    calls += 1;
    if (left > 0) whileBusy = { calls: whileBusy.calls + 1, untilMs: clock.now() };
    spend(STATEMENTS.answered);
  };

  interface Machine {
    /** Another one after each death. */
    life: number;
    isUp: boolean;
  }
  const worker = async (machine: Machine, name: string): Promise<void> => {
    const { life } = machine;
    const isAlive = (): boolean => machine.isUp && machine.life === life;
    for (let n = 0; isAlive() && done < hub.items; n++) {
      const resumed = freed.shift();
      if (resumed === undefined && left === 0) {
        spend(1);
        await clock.sleep(2_000);
        continue;
      }
      if (resumed === undefined) left -= 1;
      spend(STATEMENTS.claim + STATEMENTS.place);
      let needed = resumed ?? Math.round(between(hub.calls));
      while (needed > 0 && isAlive()) {
        spend(STATEMENTS.step);
        await call(`${name}.${n}`);
        // Its machine may have died meanwhile: the answer is at the hub, and is not asked for again.
        needed -= 1;
      }
      if (!isAlive()) {
        await clock.sleep(LOST_MS);
        freed.push(needed);
        return;
      }
      spend(STATEMENTS.end + STATEMENTS.handled);
      done += 1;
    }
  };

  const every = async (ms: number, machine: Machine | null, count: number): Promise<void> => {
    while (done < hub.items) {
      await clock.sleep(ms);
      if (machine?.isUp ?? true) spend(count);
    }
  };
  for (let m = 0; m < hub.machines; m++) {
    const machine: Machine = { life: 0, isUp: true };
    const start = (): void => {
      for (let w = 0; w < hub.workers; w++) void worker(machine, `${m}.${w}.${machine.life}`);
    };
    start();
    void every(BEAT_MS, machine, 1);
    void every(WRITE_MS * 20, machine, 20 * WRITES);
    void (async () => {
      while (done < hub.items) {
        await clock.sleep(-Math.log(1 - random()) * hub.deathEveryMs);
        deaths += 1;
        machine.isUp = false;
        await clock.sleep(hub.backAfterMs);
        machine.life += 1;
        machine.isUp = true;
        start();
      }
    })();
  }
  void every(HUB_PASS_MS, null, HUB_PASS);
  await clock.run(() => done === hub.items);
  const seconds = clock.now() / 1_000;
  const meanCallMs = (hub.callMs[0] + hub.callMs[1]) / 2;
  const possible = Math.min((hub.keys * hub.requestsPerMinute) / 60, (hub.machines * hub.workers * 1_000) / meanCallMs);
  return {
    hours: seconds / 3_600,
    calls,
    callsPerSecond: whileBusy.calls / (whileBusy.untilMs / 1_000),
    goodput: whileBusy.calls / (whileBusy.untilMs / 1_000) / possible,
    refused: refused / (calls + refused),
    deaths,
    transactionsPerSecond: transactions / seconds,
    mostTransactions: [...bySecond.values()].reduce((most, count) => Math.max(most, count), 0),
    streams: mostStreams,
    poolMs: pool.spentMs() / calls,
  };
}

interface SimulatedPool {
  acquire(item: string): Promise<{ key: string; end: (isAnswered: boolean) => void }>;
  /** Real time spent in it. */
  spentMs(): number;
}

function realPool(clock: Clock, hub: SimulatedHub, random: () => number): SimulatedPool {
  let spent = 0;
  const timed = <T>(work: () => T): T => {
    const began = performance.now();
    try {
      return work();
    } finally {
      spent += performance.now() - began;
    }
  };
  const keys = Array.from(
    { length: hub.keys },
    (_, n): VendorKey => ({ id: `key-${n}`, vendor: 'anthropic', secret: new Secret(`secret-${n}`) }),
  );
  const limits = { anthropic: { requestsPerMinute: hub.requestsPerMinute } };
  const pool = new CredentialPool({ keys, limits, remembered: new Map(), clock, random, onEvent: () => undefined });
  const { signal } = new AbortController();
  return {
    async acquire(item) {
      const request = {
        vendor: 'anthropic',
        model: 'm',
        item,
        estimatedInputTokens: 8_000,
        isRetry: false,
        deadlineMs: Number.POSITIVE_INFINITY,
        signal,
      } as const;
      const lease = await timed(() => pool.acquire(request));
      return {
        key: lease.keyId,
        end: (isAnswered) =>
          timed(() => {
            lease.answered(
              isAnswered
                ? { status: 200, headers: {}, body: null }
                : { status: 429, headers: { 'retry-after': '5' }, body: null },
            );
            lease.finished(null);
          }),
      };
    },
    spentMs: () => spent,
  };
}

/** What the pool does once it knows the limits: the key that has rested longest goes first, at the pace of its limit. */
function modelledPool(clock: Clock, hub: SimulatedHub): SimulatedPool {
  const gapMs = 60_000 / hub.requestsPerMinute;
  const ready = createHeap<{ key: string }>();
  for (let n = 0; n < hub.keys; n++) ready.push(0, { key: `key-${n}` });
  return {
    async acquire() {
      const next = ready.pop();
      if (next === undefined) throw new Error('there are no keys');
      const at = Math.max(next.at, clock.now());
      ready.push(at + gapMs, next.value);
      if (at > clock.now()) await clock.sleep(at - clock.now());
      return { key: next.value.key, end: () => undefined };
    },
    spentMs: () => 0,
  };
}

/** Token buckets: as many at once as in a minute, refilled steadily. */
function createVendorLimits(clock: Clock, { requestsPerMinute }: SimulatedHub): { admits(key: string): boolean } {
  const buckets = new Map<string, { tokens: number; atMs: number }>();
  return {
    admits(key) {
      const before = buckets.get(key) ?? { tokens: requestsPerMinute, atMs: clock.now() };
      const refilled = before.tokens + ((clock.now() - before.atMs) * requestsPerMinute) / 60_000;
      const tokens = Math.min(requestsPerMinute, refilled);
      const isAdmitted = tokens >= 1 - 1e-9;
      buckets.set(key, { tokens: isAdmitted ? tokens - 1 : tokens, atMs: clock.now() });
      return isAdmitted;
    },
  };
}

interface Heap<T> {
  push(at: number, value: T): void;
  pop(): { at: number; value: T } | undefined;
  peek(): { at: number; value: T } | undefined;
}

/** By time; of equals, the one that came first. */
function createHeap<T>(): Heap<T> {
  const nodes: { at: number; order: number; value: T }[] = [];
  let count = 0;
  const isBefore = (a: number, b: number): boolean => {
    const [x, y] = [nodes[a], nodes[b]];
    return x !== undefined && y !== undefined && (x.at < y.at || (x.at === y.at && x.order < y.order));
  };
  const swap = (a: number, b: number): void => {
    const [x, y] = [nodes[a], nodes[b]];
    if (x !== undefined && y !== undefined) [nodes[a], nodes[b]] = [y, x];
  };
  return {
    push(at, value) {
      count += 1;
      nodes.push({ at, order: count, value });
      for (let i = nodes.length - 1; i > 0 && isBefore(i, (i - 1) >> 1); i = (i - 1) >> 1) swap(i, (i - 1) >> 1);
    },
    pop() {
      const first = nodes[0];
      const last = nodes.pop();
      if (first === undefined || last === undefined || nodes.length === 0) return first;
      nodes[0] = last;
      for (let i = 0; ; ) {
        const left = 2 * i + 1;
        let least = isBefore(left, i) ? left : i;
        if (isBefore(left + 1, least)) least = left + 1;
        if (least === i) return first;
        swap(i, least);
        i = least;
      }
    },
    peek: () => nodes[0],
  };
}

/** Time goes from one sleeper to the next. A sorted list of them would take hours for half a million calls. */
function createEventClock(): Clock & { run(isOver: () => boolean): Promise<void> } {
  const sleepers = createHeap<() => void>();
  let now = 0;
  return {
    now: () => now,
    suspendedMs: () => 0,
    dateMs: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        sleepers.push(now + Math.max(0, ms), resolve);
        signal?.addEventListener('abort', () => resolve(), { once: true });
      }),
    timer(ms, run) {
      let latest = 0;
      const set = (): void => {
        latest += 1;
        const own = latest;
        sleepers.push(now + Math.max(0, ms), () => {
          if (own === latest) run();
        });
      };
      set();
      return {
        refresh: set,
        stop: () => {
          latest += 1;
        },
      };
    },
    async run(isOver) {
      while (!isOver()) {
        const next = sleepers.pop();
        if (next === undefined) throw new Error('nothing is left to happen');
        now = Math.max(now, next.at);
        next.value();
        // Those that are due at the same time first; then whoever reacts to them.
        while (sleepers.peek()?.at === next.at) sleepers.pop()?.value();
        for (let turn = 0; turn < 8; turn++) await Promise.resolve();
      }
    },
  };
}
