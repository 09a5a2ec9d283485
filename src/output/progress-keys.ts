import type { AgentosEvent } from '../core/events.ts';

/** A key of the pool, as far as the events tell. */
export interface KeyView {
  id: string;
  /** `rejected` by its vendor: it is not used any more. */
  state: 'ready' | 'cooling' | 'rejected';
  untilMs: number | null;
}

/** What the events of a run say of its keys, in the order in which they were first heard of. */
export function createKeyWatch(): { add(event: AgentosEvent): void; view(nowMs: number): KeyView[] } {
  const keys = new Map<string, { isRejected: boolean; untilMs: number }>();
  return {
    add(event) {
      if (event.type === 'gateway-call') {
        if (event.keyId !== null && !keys.has(event.keyId)) keys.set(event.keyId, { isRejected: false, untilMs: 0 });
      } else if (event.type === 'key-cooling') {
        keys.set(event.keyId, { isRejected: false, untilMs: Date.parse(event.at) + event.forMs });
      } else if (event.type === 'key-dead') {
        keys.set(event.keyId, { isRejected: true, untilMs: 0 });
      }
    },
    view: (nowMs) =>
      [...keys].map(([id, { isRejected, untilMs }]) => {
        if (isRejected) return { id, state: 'rejected', untilMs: null };
        return untilMs > nowMs ? { id, state: 'cooling', untilMs } : { id, state: 'ready', untilMs: null };
      }),
  };
}
