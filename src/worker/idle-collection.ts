import type { ItemEvent } from '../core/events.ts';

/** A collection costs as much as all else that an item computes, so only a call that is going to be long gets one. */
const AFTER_MS = 3_000;

/**
 * Frees what the last document left behind while an item waits for a model: once a call, and only when it has lasted for
 * seconds. Many workers wait at the same time, each for minutes; none of them should hold memory that it doesn't need.
 */
interface IdleCollection {
  onEvent(event: ItemEvent): void;
  /** The item has ended, in the middle of a call or not. */
  cancel(): void;
}

export function createIdleCollection(collect: () => void, afterMs: number = AFTER_MS): IdleCollection {
  let timer: NodeJS.Timeout | undefined;
  return {
    onEvent: (event) => {
      if (event.type !== 'step-started' && event.type !== 'step-finished') return;
      clearTimeout(timer);
      if (event.type === 'step-started' && event.model !== null) timer = setTimeout(collect, afterMs).unref();
    },
    cancel: () => clearTimeout(timer),
  };
}
