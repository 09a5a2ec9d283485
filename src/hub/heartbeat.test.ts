import { expect, test } from 'vitest';
import type { Database } from './database.ts';
import { startHeartbeat } from './heartbeat.ts';
import type { HeldItem } from './held-item.ts';

test('an item that is claimed while leases are renewed is kept, and one that the database gave away is given up', async () => {
  const lost: number[] = [];
  const heldItem = (id: number): HeldItem =>
    ({ key: String(id), claim: { id, fence: 1 }, lose: () => lost.push(id) }) as unknown as HeldItem;
  const held = new Map([1, 2].map((id) => [String(id), heldItem(id)]));
  const answer = Promise.withResolvers<unknown[]>();
  const asked = Promise.withResolvers<void>();
  const rows = (): Promise<unknown[]> => {
    asked.resolve();
    return answer.promise;
  };
  const stop = new AbortController();
  const heartbeat = startHeartbeat({
    database: { rows } as unknown as Database,
    machine: { id: 'm', name: 'm' },
    leaseMs: 600_000,
    held,
    isClaiming: () => false,
    isHeard: () => true,
    onRevoked: () => undefined,
    onLine: () => undefined,
    signal: stop.signal,
  });
  const beat = heartbeat.beat();
  await asked.promise;
  held.set('3', heldItem(3));
  answer.resolve([{ nowMs: Date.now(), isRevoked: false, held: [{ id: 1, fence: 1, cancel: null }] }]);
  await beat;
  expect(lost).toEqual([2]);
  stop.abort();
  await heartbeat.closed;
});

test('where no notices arrive, a cancellation reaches its item within 2 s', async () => {
  const reason = { problem: { code: 'item-cancelled', by: null }, retry: 'permanent' };
  const cancelled = Promise.withResolvers<unknown>();
  const item = { key: '1', claim: { id: 1, fence: 1 }, cancel: cancelled.resolve } as unknown as HeldItem;
  const rows = async (): Promise<unknown[]> => [
    { nowMs: Date.now(), isRevoked: false, held: [{ id: 1, fence: 1, cancel: reason }] },
  ];
  const stop = new AbortController();
  const startedAt = performance.now();
  const heartbeat = startHeartbeat({
    database: { rows } as unknown as Database,
    machine: { id: 'm', name: 'm' },
    leaseMs: 600_000,
    held: new Map([['1', item]]),
    isClaiming: () => false,
    isHeard: () => false,
    onRevoked: () => undefined,
    onLine: () => undefined,
    signal: stop.signal,
  });
  expect(await cancelled.promise).toBe(reason);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  stop.abort();
  await heartbeat.closed;
});
