import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../test/support/virtual-clock.ts';
import { codeOf } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';
import { Secret } from '../core/secret.ts';
import type { VendorAnswer } from './answer.ts';
import { CredentialPool, type Lease, type LeaseRequest, type PoolEvent, type PoolOptions } from './pool.ts';
import type { RateLimits } from './quota.ts';

const DAY_MS = 24 * 3_600_000;
const OK: VendorAnswer = { status: 200, headers: {}, body: null };

function keysOf(vendor: VendorName, ...ids: string[]): PoolOptions['keys'] {
  return ids.map((id) => ({ id, vendor, secret: new Secret(`secret-of-${id}`) }));
}

function setUp(options: Partial<PoolOptions> = {}) {
  const clock = createVirtualClock();
  const events: PoolEvent[] = [];
  const pool = new CredentialPool({
    keys: keysOf('anthropic', 'a', 'b'),
    clock,
    random: () => 0.5,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const ask = (changes: Partial<LeaseRequest> = {}): LeaseRequest => ({
    vendor: 'anthropic',
    model: 'm',
    item: 'w',
    estimatedInputTokens: 10,
    isRetry: false,
    deadlineMs: clock.now() + DAY_MS,
    signal: new AbortController().signal,
    ...changes,
  });
  return { clock, events, pool, ask };
}

/** What has become of a promise by now. */
function fate<T>(promise: Promise<T>): { value: T | null; code: string | null; problem: unknown; done: boolean } {
  const seen: ReturnType<typeof fate<T>> = { value: null, code: null, problem: null, done: false };
  promise.then(
    (value) => Object.assign(seen, { value, done: true }),
    (error: unknown) => {
      const problem = error instanceof Error && 'problem' in error ? error.problem : error;
      Object.assign(seen, { code: codeOf(error), problem, done: true });
    },
  );
  return seen;
}

function refusal(headers: Record<string, string> = {}, body: unknown = null): VendorAnswer {
  return { status: 429, headers, body };
}

describe('which request gets a key', () => {
  it('refuses when there is no key for the vendor, and names the variables', async () => {
    const { pool, ask } = setUp();
    await expect(pool.acquire(ask({ vendor: 'openai' }))).rejects.toMatchObject({
      problem: {
        code: 'key-missing',
        missing: [{ provider: 'openai', variables: ['OPENAI_API_KEY', 'OPENAI_API_KEYS'] }],
      },
    });
  });

  it('uses a key that is given twice only once', () => {
    const key = { vendor: 'anthropic', secret: new Secret('same') } as const;
    const { pool } = setUp({
      keys: [
        { id: 'a', ...key },
        { id: 'b', ...key },
      ],
    });
    expect(pool.view().map(({ id }) => id)).toEqual(['a']);
  });

  it('never uses a key with a line break in it, and reports it once', async () => {
    const { pool, ask, events } = setUp({
      keys: [{ id: 'a', vendor: 'anthropic', secret: new Secret('sk\nbroken') }, ...keysOf('anthropic', 'b')],
    });
    expect((await pool.acquire(ask())).keyId).toBe('b');
    expect(events).toEqual([expect.objectContaining({ type: 'key-dead', keyId: 'a' })]);
    expect(JSON.stringify(pool.view())).not.toContain('broken');
  });

  it('serves items in turn, however many requests one of them has', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: { concurrency: 1 } } });
    const served: string[] = [];
    const call = async (workflow: string): Promise<void> => {
      const lease = await pool.acquire(ask({ item: workflow }));
      served.push(workflow);
      await clock.sleep(1_000);
      lease.answered(OK);
      lease.finished(null);
    };
    const all = Promise.all([...Array.from({ length: 8 }, () => call('greedy')), call('small'), call('small')]);
    await clock.runUntil(all);
    expect(served.indexOf('small')).toBeLessThanOrEqual(2);
    expect(served.lastIndexOf('small')).toBeLessThanOrEqual(4);
  });

  it('puts a retry before the other requests of its item', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: { concurrency: 1 } } });
    const lease = await pool.acquire(ask());
    const later = fate(pool.acquire(ask()));
    expect(lease.answered(refusal({ 'retry-after': '2' }))).toEqual({ action: 'retry' });
    const again = fate(pool.acquire(ask({ isRetry: true })));
    await clock.advance(2_500);
    expect([again.done, later.done]).toEqual([true, false]);
  });

  it('prefers the key that an item used before', async () => {
    const { pool, ask } = setUp();
    const finish = (lease: Lease): string => {
      lease.answered(OK);
      lease.finished(null);
      return lease.keyId;
    };
    const first = finish(await pool.acquire(ask({ item: 'x' })));
    const other = await pool.acquire(ask({ item: 'y' }));
    expect(finish(await pool.acquire(ask({ item: 'x' })))).toBe(first);
    finish(other);
    expect(finish(await pool.acquire(ask({ item: 'x' })))).toBe(first);
  });

  it('removes a caller that leaves while it waits', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: { concurrency: 1 } } });
    const lease = await pool.acquire(ask());
    const leaving = new AbortController();
    const gone = fate(pool.acquire(ask({ signal: leaving.signal })));
    const next = fate(pool.acquire(ask()));
    leaving.abort('left');
    await clock.advance(0);
    expect(gone.problem).toBe('left');
    expect(pool.hasQuota()).toBe(false);
    lease.finished(null);
    await clock.advance(0);
    expect(next.done).toBe(true);
    expect(pool.hasQuota()).toBe(true);
  });

  it('frees the slot of a lease once', async () => {
    const { clock, pool, ask } = setUp({
      keys: keysOf('anthropic', 'a'),
      limits: { anthropic: { concurrency: 1 } },
    });
    const lease = await pool.acquire(ask());
    const [next, last] = [fate(pool.acquire(ask())), fate(pool.acquire(ask()))];
    lease.finished(null);
    lease.finished(null);
    await clock.advance(0);
    expect([next.done, last.done]).toEqual([true, false]);
  });

  it('frees the slot of a refused request once', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: { concurrency: 1 } } });
    const lease = await pool.acquire(ask());
    const [next, last] = [fate(pool.acquire(ask())), fate(pool.acquire(ask()))];
    expect(lease.answered({ status: 400, headers: {}, body: null }).action).toBe('pass');
    lease.finished(null);
    await clock.advance(0);
    expect([next.done, last.done]).toEqual([true, false]);
  });
});

describe('limits', () => {
  it('never exceeds a configured rate', async () => {
    const { clock, pool, ask } = setUp({
      keys: keysOf('anthropic', 'a'),
      limits: { anthropic: { requestsPerMinute: 6, concurrency: 100 } },
    });
    let granted = 0;
    for (let n = 0; n < 20; n++) void pool.acquire(ask()).then(() => (granted += 1));
    await clock.advance(1_000);
    const atOnce = granted;
    expect(atOnce).toBeLessThanOrEqual(6);
    await clock.advance(60_000);
    expect(granted - atOnce).toBeGreaterThanOrEqual(5);
    expect(granted - atOnce).toBeLessThanOrEqual(7);
  });

  it('waits as long as the vendor asks, and uses the other key meanwhile', async () => {
    const { clock, events, pool, ask } = setUp();
    const first = await pool.acquire(ask());
    first.answered(refusal({ 'retry-after': '30' }));
    expect(events).toEqual([{ type: 'key-cooling', keyId: first.keyId, forMs: 30_000, why: 'rate' }]);
    const second = await pool.acquire(ask());
    expect(second.keyId).not.toBe(first.keyId);
    second.answered(refusal({ 'retry-after': '10' }));
    const waiting = fate(pool.acquire(ask()));
    await clock.advance(9_900);
    expect(waiting.done).toBe(false);
    await clock.advance(1_500);
    expect(waiting.value?.keyId).toBe(second.keyId);
    expect(events.map(({ type }) => type)).toEqual(['key-cooling', 'key-cooling', 'pool-exhausted', 'pool-resumed']);
  });

  it('wakes one waiter, not all, when one request is possible again', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    const lease = await pool.acquire(ask());
    lease.answered(refusal({ 'retry-after': '5' }));
    let granted = 0;
    for (let n = 0; n < 5; n++) void pool.acquire(ask()).then(() => (granted += 1));
    await clock.advance(5_400);
    expect(granted).toBe(1);
  });

  it('backs off longer and longer after refusals without a hint', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('google', 'a') });
    const waits: number[] = [];
    for (let n = 0; n < 6; n++) {
      const beforeMs = clock.now();
      const acquired = pool.acquire(ask({ vendor: 'google' }));
      await clock.runUntil(acquired);
      waits.push(clock.now() - beforeMs);
      (await acquired).answered(refusal());
    }
    expect(waits[1]).toBeGreaterThan(100);
    expect(waits[5]).toBeGreaterThan(4 * (waits[1] ?? 0));
    expect(waits[5]).toBeLessThanOrEqual(60_000);
  });

  it('recovers from several refusals at once that name no limit', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('google', 'a') });
    const leases = [await pool.acquire(ask({ vendor: 'google' })), await pool.acquire(ask({ vendor: 'google' }))];
    for (const lease of leases) lease.answered(refusal());
    const waiting = fate(pool.acquire(ask({ vendor: 'google' })));
    await clock.advance(5_000);
    expect(waiting.done).toBe(true);
  });

  it('learns requests, tokens and the burst from headers', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('openai', 'a') });
    const lease = await pool.acquire(ask({ vendor: 'openai' }));
    lease.answered({
      status: 200,
      body: null,
      headers: {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '1',
        'x-ratelimit-reset-requests': '3s',
        'x-ratelimit-limit-tokens': '30000',
        'x-ratelimit-remaining-tokens': '29000',
        'x-ratelimit-reset-tokens': '2s',
      },
    });
    lease.finished(null);
    expect(pool.view()[0]?.limits).toEqual({ requestsPerMinute: 60, tokensPerMinute: 30_000, concurrency: null });
    let granted = 0;
    for (let n = 0; n < 30; n++) {
      void pool.acquire(ask({ vendor: 'openai' })).then((next) => {
        granted += 1;
        next.answered(OK);
        next.finished(null);
      });
    }
    await clock.advance(100);
    expect(granted).toBeLessThanOrEqual(1);
    await clock.advance(10_000);
    expect(granted).toBeGreaterThanOrEqual(9);
    expect(granted).toBeLessThanOrEqual(11);
  });

  it('counts the limits of each model separately', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    (await pool.acquire(ask({ model: 'large' }))).answered(refusal({ 'retry-after': '60' }));
    const large = fate(pool.acquire(ask({ model: 'large' })));
    const small = fate(pool.acquire(ask({ model: 'small' })));
    await clock.advance(1_000);
    expect([large.done, small.done]).toEqual([false, true]);
  });

  it('treats keys of one organisation as one quota', async () => {
    const { clock, events, pool, ask } = setUp();
    const headers = { 'anthropic-organization-id': 'org' };
    const leases = [await pool.acquire(ask({ item: 'x' })), await pool.acquire(ask({ item: 'y' }))];
    expect(new Set(leases.map(({ keyId }) => keyId)).size).toBe(2);
    leases[0]?.answered({ ...OK, headers });
    leases[1]?.answered(refusal({ ...headers, 'retry-after': '20' }));
    expect(events[0]).toMatchObject({ type: 'groups-merged', keyIds: ['a', 'b'] });
    expect(new Set(pool.view().map(({ group }) => group)).size).toBe(1);
    leases[0]?.finished(null);
    const waiting = fate(pool.acquire(ask()));
    await clock.advance(19_000);
    expect(waiting.done).toBe(false);
    await clock.advance(3_000);
    expect(waiting.done).toBe(true);
    expect(
      pool
        .view()
        .map(({ inFlight }) => inFlight)
        .toSorted((a, b) => a - b),
    ).toEqual([0, 1]);
  });

  it('lowers the number in flight after a refusal for concurrency, without a pause', async () => {
    const { clock, events, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    const leases: Lease[] = [];
    for (let n = 0; n < 3; n++) leases.push(await pool.acquire(ask()));
    const body = { error: { type: 'rate_limit_error', message: 'Number of concurrent connections has exceeded …' } };
    leases[2]?.answered(refusal({}, body));
    expect(pool.view()[0]?.limits.concurrency).toBe(2);
    const waiting = fate(pool.acquire(ask()));
    await clock.advance(1_000);
    expect(waiting.done).toBe(false);
    leases[0]?.answered(OK);
    leases[0]?.finished(null);
    await clock.advance(0);
    expect(waiting.done).toBe(true);
    expect(events).toEqual([]);
  });

  it('waits until midnight Pacific when a daily quota is used up, whatever delay the vendor names', async () => {
    const { clock, events, pool, ask } = setUp({ keys: keysOf('google', 'a') });
    const details = [
      { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
      { retryDelay: '5s' },
    ];
    const lease = await pool.acquire(ask({ vendor: 'google' }));
    lease.answered(refusal({}, { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'x', details } }));
    const untilMs = Date.parse('2026-01-16T08:00:00Z');
    expect(events).toEqual([{ type: 'key-cooling', keyId: 'a', forMs: untilMs - clock.now(), why: 'quota' }]);
    expect(pool.view()[0]).toMatchObject({ state: 'cooling', untilMs });
    const refused = fate(pool.acquire(ask({ vendor: 'google', deadlineMs: clock.now() + 3_600_000 })));
    await clock.advance(0);
    expect(refused.problem).toMatchObject({ code: 'provider-quota', retryAfterMs: untilMs - clock.now() });
  });

  it('does not wait for a hint of 25 days', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    (await pool.acquire(ask())).answered(refusal({ 'retry-after': String(25 * 86_400) }));
    const refused = fate(pool.acquire(ask()));
    await clock.advance(0);
    expect(refused.problem).toMatchObject({ code: 'provider-quota', retryAfterMs: 25 * 86_400_000 });
  });

  it('reads times by the vendor’s own clock', async () => {
    const { clock, events, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    const aheadMs = clock.now() + 3_600_000;
    const date = new Date(aheadMs).toUTCString();
    const retryAfter = new Date(aheadMs + 20_000).toUTCString();
    (await pool.acquire(ask())).answered(refusal({ date, 'retry-after': retryAfter }));
    expect(events).toMatchObject([{ type: 'key-cooling', forMs: 20_000 }]);
  });
});

describe('what an earlier run learned', () => {
  const remembered = new Map([['a', { requestsPerMinute: 30, tokensPerMinute: null, concurrency: 2 }]]);

  it('is a ceiling that is probed at once, so a raised limit is noticed', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), remembered });
    const call = async (): Promise<void> => {
      const lease = await pool.acquire(ask());
      await clock.sleep(1_000);
      lease.answered(OK);
      lease.finished(null);
    };
    const calls = Promise.all(Array.from({ length: 60 }, call));
    await clock.advance(500);
    expect(pool.view()[0]).toMatchObject({ inFlight: 2, limits: { requestsPerMinute: 30, concurrency: 2 } });
    await clock.runUntil(calls);
    expect(pool.view()[0]?.limits.concurrency).toBeGreaterThan(4);
  });

  it('is the pace after a first refusal that names none', async () => {
    const grantsInAMinute = async (options: Partial<PoolOptions>): Promise<number> => {
      const { clock, pool, ask } = setUp({ keys: keysOf('google', 'a'), ...options });
      const request = (): LeaseRequest => ask({ vendor: 'google' });
      (await pool.acquire(request())).answered(refusal({ 'retry-after': '2' }));
      let granted = 0;
      for (let n = 0; n < 60; n++) {
        void pool.acquire(request()).then((lease) => {
          granted += 1;
          lease.answered(OK);
          lease.finished(null);
        });
      }
      await clock.advance(60_000);
      return granted;
    };
    const known = await grantsInAMinute({ remembered });
    expect(known).toBeGreaterThanOrEqual(27);
    expect(known).toBeLessThanOrEqual(32);
    expect(await grantsInAMinute({})).not.toBe(known);
  });
});

describe('exhaustion', () => {
  it('is reported before requests that can’t wait that long are refused, and ends even if no request follows', async () => {
    const { clock, events, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    (await pool.acquire(ask())).answered(refusal({ 'retry-after': '60' }));
    await expect(pool.acquire(ask({ deadlineMs: clock.now() + 1_000 }))).rejects.toMatchObject({
      code: 'provider-quota',
    });
    expect(events.map(({ type }) => type)).toEqual(['key-cooling', 'pool-exhausted']);
    await clock.advance(61_000);
    await expect
      .poll(() => events.at(-1), { timeout: 5_000 })
      .toEqual({
        type: 'pool-resumed',
        vendor: 'anthropic',
        reason: 'quota',
      });
  });

  it('is called quota only if the vendor refused, and is reported again when a refusal follows our own pacing', async () => {
    const limits = { anthropic: { requestsPerMinute: 1 } };
    const { clock, events, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits });
    const lease = await pool.acquire(ask());
    const waiting = fate(pool.acquire(ask()));
    expect(events).toMatchObject([{ type: 'pool-exhausted', reason: 'pace' }]);
    lease.answered(refusal({ 'retry-after': '120' }));
    expect(events.slice(1)).toMatchObject([{ type: 'key-cooling' }, { type: 'pool-exhausted', reason: 'quota' }]);
    await clock.advance(121_000);
    expect(waiting.done).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'pool-resumed', reason: 'quota' });
  });
});

describe('the expected wait', () => {
  const one = (limits: RateLimits = {}): ReturnType<typeof setUp> =>
    setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: limits } });

  it('is for quota until the time that the vendor named', async () => {
    const { clock, pool, ask } = one();
    (await pool.acquire(ask())).answered(refusal({ 'retry-after': '30' }));
    expect(pool.expectedWait(ask())).toEqual({ reason: 'quota', untilMs: clock.now() + 30_000 });
  });

  it('is for pace until a request fits the rate', async () => {
    const { clock, pool, ask } = one({ requestsPerMinute: 1 });
    await pool.acquire(ask());
    const { reason, untilMs } = pool.expectedWait(ask());
    expect(reason).toBe('pace');
    expect(untilMs).toBeGreaterThan(clock.now() + 50_000);
  });

  it('is for a key while as many requests as allowed are in flight', async () => {
    const { pool, ask } = one({ concurrency: 1 });
    await pool.acquire(ask());
    expect(pool.expectedWait(ask())).toEqual({ reason: 'key', untilMs: null });
  });
});

describe('deadlines', () => {
  it('refuses at once a wait that can’t end in time, and names the earliest reset', async () => {
    const { clock, pool, ask } = setUp();
    for (const seconds of ['90', '60']) (await pool.acquire(ask())).answered(refusal({ 'retry-after': seconds }));
    const refused = fate(pool.acquire(ask({ deadlineMs: clock.now() + 30_000 })));
    const patient = fate(pool.acquire(ask({ deadlineMs: clock.now() + 70_000 })));
    await clock.advance(0);
    expect(refused.problem).toMatchObject({ code: 'provider-quota', retryAfterMs: 60_000 });
    await clock.advance(65_000);
    expect(patient.value?.keyId).toBeDefined();
  });

  it('does not refuse because one key is cooling while another is only busy', async () => {
    const { clock, events, pool, ask } = setUp({ limits: { anthropic: { concurrency: 1 } } });
    const resting = await pool.acquire(ask());
    const busy = await pool.acquire(ask());
    resting.answered(refusal({ 'retry-after': '60' }));
    const waiting = fate(pool.acquire(ask({ deadlineMs: clock.now() + 10_000 })));
    await clock.advance(5_000);
    expect([waiting.done, events.map(({ type }) => type)]).toEqual([false, ['key-cooling']]);
    busy.answered(OK);
    busy.finished(null);
    await clock.advance(0);
    expect(waiting.value?.keyId).toBe(busy.keyId);
  });

  it('serves a request that is made while an event is reported', async () => {
    const clock = createVirtualClock();
    const asked: ReturnType<typeof fate<Lease>>[] = [];
    const pool = new CredentialPool({
      keys: keysOf('anthropic', 'a', 'b'),
      clock,
      random: () => 0.5,
      onEvent: () => asked.push(fate(pool.acquire(request))),
    });
    const { signal } = new AbortController();
    const request: LeaseRequest = {
      vendor: 'anthropic',
      model: 'm',
      item: 'w',
      estimatedInputTokens: 1,
      isRetry: false,
      deadlineMs: clock.now() + DAY_MS,
      signal,
    };
    (await pool.acquire({ ...request })).answered({ status: 401, headers: {}, body: null });
    await clock.advance(0);
    expect(asked.map(({ done }) => done)).toEqual([true]);
  });

  it('refuses when the deadline passes while all slots are taken', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits: { anthropic: { concurrency: 1 } } });
    await pool.acquire(ask());
    const waiting = fate(pool.acquire(ask({ deadlineMs: clock.now() + 5_000 })));
    await clock.advance(4_000);
    expect(waiting.done).toBe(false);
    await clock.advance(2_000);
    expect(waiting.code).toBe('provider-quota');
  });
});

describe('keys that die', () => {
  it('disables a rejected key once and continues with the others', async () => {
    const { events, pool, ask } = setUp();
    const leases = [await pool.acquire(ask({ item: 'x' })), await pool.acquire(ask({ item: 'x' }))];
    const dying = leases[0]?.keyId;
    for (const lease of leases.filter(({ keyId }) => keyId === dying)) {
      expect(lease.answered({ status: 401, headers: {}, body: null })).toEqual({ action: 'retry' });
    }
    expect(events.filter(({ type }) => type === 'key-dead')).toHaveLength(1);
    for (let n = 0; n < 3; n++) expect((await pool.acquire(ask())).keyId).not.toBe(dying);
    expect(pool.view().find(({ id }) => id === dying)?.state).toBe('dead');
  });

  it.each([
    ['no credit', 402, {}],
    ['an empty account', 429, { error: { code: 'insufficient_quota', message: 'x' } }],
    [
      'a spend limit',
      429,
      { error: { type: 'rate_limit_error', message: 'x', details: { error_code: 'enforced_spend_limit_reached' } } },
    ],
    [
      'a balance that is too low, as a 400',
      400,
      {
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the Anthropic API.',
        },
      },
    ],
  ])('does not wait for %s to come back', async (_, status, body) => {
    const { events, pool, ask } = setUp();
    const lease = await pool.acquire(ask());
    expect(lease.answered({ status, headers: {}, body })).toEqual({ action: 'retry' });
    expect(events).toMatchObject([{ type: 'key-dead', keyId: lease.keyId }]);
  });

  it('fails all waiting requests when the last key dies', async () => {
    const { clock, pool, ask } = setUp({ limits: { anthropic: { concurrency: 1 } } });
    const leases = [await pool.acquire(ask()), await pool.acquire(ask())];
    const waiting = fate(pool.acquire(ask()));
    for (const lease of leases.slice(1)) lease.answered({ status: 401, headers: {}, body: null });
    await clock.advance(0);
    expect(waiting.done).toBe(false);
    const ruling = leases[0]?.answered({ status: 403, headers: {}, body: null });
    expect(ruling).toMatchObject({ action: 'fail', error: { code: 'provider-rejected-key' } });
    await clock.advance(0);
    expect(waiting.code).toBe('provider-rejected-key');
    await expect(pool.acquire(ask())).rejects.toMatchObject({ code: 'provider-rejected-key' });
  });
});

describe('the provider’s own failures', () => {
  it('do not count against the key and go to the caller', async () => {
    const { events, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    for (let n = 0; n < 5; n++) {
      const lease = await pool.acquire(ask());
      expect(lease.answered({ status: 529, headers: {}, body: null })).toMatchObject({ action: 'pass' });
    }
    expect(events).toEqual([]);
    expect(pool.view()[0]).toMatchObject({ state: 'available', inFlight: 0 });
  });
});

describe('time that jumps', () => {
  const HOURS = 3 * 3_600_000;

  /** Half of the limits are learned from headers that name dates, half from refusals alone. */
  async function learn(jump: (clock: ReturnType<typeof createVirtualClock>, call: number) => void) {
    const { clock, pool, ask } = setUp({ keys: [...keysOf('anthropic', 'a'), ...keysOf('openai', 'b')] });
    const startMs = clock.now();
    // What the vendor's own calendar says is nobody else's business.
    const dateOfVendor = (): number => startMs + clock.now() - startMs;
    for (let call = 0; call < 30; call++) {
      jump(clock, call);
      const named = await pool.acquire(ask());
      const remaining = 50 - call;
      named.answered({
        status: 200,
        headers: {
          date: new Date(dateOfVendor()).toUTCString(),
          'anthropic-ratelimit-requests-limit': '60',
          'anthropic-ratelimit-requests-remaining': String(remaining),
          'anthropic-ratelimit-requests-reset': new Date(dateOfVendor() + (60 - remaining) * 1_000).toISOString(),
        },
        body: null,
      });
      named.finished(null);
      const wanted = pool.acquire(ask({ vendor: 'openai' }));
      await clock.runUntil(wanted);
      const silent = await wanted;
      silent.answered(call % 6 === 5 ? refusal({ 'retry-after': '2' }) : OK);
      silent.finished(null);
      await clock.advance(300);
    }
    return pool.view().map(({ id, limits, state, untilMs }) => ({
      id,
      limits,
      state,
      waitMs: untilMs === null ? null : untilMs - clock.now(),
    }));
  }

  it.each([
    ['back', -HOURS],
    ['forth', HOURS],
  ])('a date that is set %s by hours changes nothing that was learned', async (_, ms) => {
    const usual = await learn(() => undefined);
    expect(usual.map(({ limits }) => limits.requestsPerMinute)).toEqual([expect.any(Number), expect.any(Number)]);
    const jumped = await learn((clock, call) => {
      if (call % 7 === 3) clock.setDateBy(ms);
    });
    expect(jumped).toEqual(usual);
  });

  it('setting the date ends no wait early and refuses no request', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    (await pool.acquire(ask())).answered(refusal({ 'retry-after': '60' }));
    const waiting = fate(pool.acquire(ask({ deadlineMs: clock.now() + 90_000 })));
    for (const ms of [HOURS, -2 * HOURS]) {
      await clock.advance(25_000);
      clock.setDateBy(ms);
    }
    await clock.advance(9_000);
    expect(waiting.done).toBe(false);
    await clock.advance(2_000);
    expect(waiting.value?.keyId).toBe('a');
  });

  it('a suspension refuses no request whose deadline would have passed in it', async () => {
    const limits = { anthropic: { concurrency: 1 } };
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a'), limits });
    const holder = await pool.acquire(ask());
    const waiting = fate(pool.acquire(ask({ deadlineMs: clock.now() + 30_000 })));
    clock.suspend(HOURS);
    await clock.advance(29_000);
    fate(pool.acquire(ask()));
    await clock.advance(0);
    expect(waiting.done).toBe(false);
    holder.finished(null);
    await clock.advance(0);
    expect(waiting.value?.keyId).toBe('a');
  });

  it('quota has come back during a suspension', async () => {
    const { clock, pool, ask } = setUp({ keys: keysOf('anthropic', 'a') });
    (await pool.acquire(ask())).answered(refusal({ 'retry-after': '20' }));
    const waiting = fate(pool.acquire(ask({ deadlineMs: clock.now() + 30_000 })));
    await clock.advance(5_000);
    clock.suspend(HOURS);
    expect(pool.view()[0]).toMatchObject({ state: 'available', untilMs: null });
    expect(waiting.done).toBe(false);
    // Whoever comes next makes the pool look again.
    fate(pool.acquire(ask()));
    await clock.advance(0);
    expect(waiting.value?.keyId).toBe('a');
  });
});
