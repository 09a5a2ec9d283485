import { systemClock } from '../core/clock.ts';
import type { ItemEvent, RunEvent } from '../core/events.ts';
import type { VendorKey, VendorName } from '../core/keys.ts';
import { Secret } from '../core/secret.ts';
import type { PoolEvent } from '../pool/port.ts';
import type { GatewayEvent } from './exchange.ts';

/** A compatible server on this machine often asks for no key; the pool needs one to lease all the same. */
export function keysFor(all: readonly VendorKey[], vendors: readonly VendorName[]): VendorKey[] {
  const keys = all.filter((key) => vendors.includes(key.vendor));
  const keyless = vendors.includes('openai-compatible') && !keys.some((key) => key.vendor === 'openai-compatible');
  return keyless ? [...keys, { id: 'no-key', vendor: 'openai-compatible', secret: new Secret('none') }] : keys;
}

/** What the pool says, as an event of a run. */
export function poolEvent(event: PoolEvent): RunEvent {
  const inMs = (atMs: number): number => Math.max(0, atMs - systemClock.now());
  switch (event.type) {
    case 'key-cooling':
      return { type: 'key-cooling', keyId: event.keyId, forMs: inMs(event.untilMs), why: event.why };
    case 'exhausted':
      return {
        type: 'pool-exhausted',
        vendor: event.vendor,
        reason: event.reason,
        forMs: event.earliestMs === null ? null : inMs(event.earliestMs),
      };
    case 'resumed':
      return { type: 'pool-resumed', vendor: event.vendor, reason: event.reason };
    case 'key-dead':
    case 'groups-merged':
      return event;
  }
}

/** What happens to a request, as an event of its item; null: nothing that anyone has to know. */
export function itemEvent(event: GatewayEvent): ItemEvent | null {
  switch (event.type) {
    case 'gateway-waiting':
      return { type: 'quota-waiting', vendor: event.vendor, reason: event.reason, forMs: event.forMs };
    case 'gateway-resumed':
      return { type: 'quota-resumed', vendor: event.vendor, reason: event.reason, waitedMs: event.waitedMs };
    case 'gateway-answer-reused':
      return { type: 'answer-reused', step: event.step };
    case 'gateway-call': {
      const { vendor, model, keyId, status, attempts, waitedMs, durationMs, costUsd, usage } = event;
      return { type: 'gateway-call', vendor, model, keyId, status, attempts, waitedMs, durationMs, costUsd, usage };
    }
  }
}
