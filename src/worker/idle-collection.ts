import type { ItemEvent } from '../core/events.ts';

/** A collection takes as long as all other computing of an item, so it runs only in a long call. */
const AFTER_MS = 3_000;

/** Collects garbage once in each long call of a model: many workers wait for minutes, and memory counts once per worker. */
interface IdleCollection {
  onEvent(event: ItemEvent): void;
  /** When the item ends. */
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
