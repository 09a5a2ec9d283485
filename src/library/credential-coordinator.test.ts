import { expect, it } from 'vitest';
import { createVirtualClock } from '../../test/support/virtual-clock.ts';
import { Secret } from '../core/secret.ts';
import { CredentialCoordinator } from './credential-coordinator.ts';

function setUp() {
  const clock = createVirtualClock();
  const keys = ['a', 'b'].map((id) => ({ id, vendor: 'google' as const, secret: new Secret(id) }));
  return { clock, coordinator: new CredentialCoordinator({ keys, clock }) };
}

it('reserves each key once, and is exhausted, not rate limited, when all are reserved', () => {
  const { coordinator } = setUp();
  const first = coordinator.reserve('x');
  const second = coordinator.reserve('y');
  expect(new Set([first?.keyId, second?.keyId])).toEqual(new Set(['a', 'b']));
  expect(coordinator.reserve('z')).toBeNull();
  expect([coordinator.availableCount(), coordinator.isExhausted(), coordinator.isRateLimited()]).toEqual([
    0,
    true,
    false,
  ]);
  if (first !== null) coordinator.release(first);
  if (first !== null) coordinator.release(first);
  expect(coordinator.availableCount()).toBe(1);
  expect(coordinator.reserve('z')?.keyId).toBe(first?.keyId);
});

it('is rate limited, not exhausted, while every key rests', async () => {
  const { clock, coordinator } = setUp();
  for (const seconds of [30, 60]) {
    const reservation = coordinator.reserve('x');
    expect(reservation).not.toBeNull();
    if (reservation !== null) coordinator.reportRateLimit(reservation, seconds * 1_000);
  }
  expect([coordinator.availableCount(), coordinator.isExhausted(), coordinator.isRateLimited()]).toEqual([
    0,
    false,
    true,
  ]);
  const tooShort = coordinator.waitForAvailable(10_000);
  await clock.runUntil(tooShort);
  expect(await tooShort).toBe(false);
  const enough = coordinator.waitForAvailable(60_000);
  await clock.runUntil(enough);
  expect(await enough).toBe(true);
  expect(coordinator.availableCount()).toBe(1);
});

it('wakes whoever waits when a reservation is released', async () => {
  const { clock, coordinator } = setUp();
  const reservations = [coordinator.reserve('x'), coordinator.reserve('y')];
  const waited = coordinator.waitForAvailable(3_600_000);
  const startMs = clock.now();
  const [first] = reservations;
  if (first !== null && first !== undefined) coordinator.release(first);
  await clock.runUntil(waited);
  expect(await waited).toBe(true);
  expect(clock.now()).toBe(startMs);
});
