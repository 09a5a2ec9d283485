import { isAbsolute } from 'node:path';
import type { AgentosEvent, ItemEvent, RunEvent, Subscriber } from '../core/events.ts';
import type { Item } from '../core/item.ts';
import { shownPath } from '../core/paths.ts';
import { foldEvent, type RunState } from '../core/run-state.ts';
import { type Pipeline, stageAfter } from './pipeline.ts';

/** The one place that events of a run come from: each is stamped, folded into the state, and passed to all subscribers. */
export interface Emitter {
  /** `at`: when it happened, if not now. */
  run(event: RunEvent, at?: string): void;
  item(item: Item, event: ItemEvent, at?: string): void;
  /** Says the same thing once. */
  warn(text: string): void;
  subscribe(...subscribers: Subscriber[]): void;
}

export function createEmitter(state: RunState, pipeline: Pipeline, repository: string): Emitter {
  const subscribers: Subscriber[] = [];
  const publish = (event: AgentosEvent): void => {
    foldEvent(state, event);
    for (const subscriber of subscribers) subscriber(event);
  };
  const warned = new Set<string>();
  const now = (): string => new Date().toISOString();
  return {
    run: (event, at = now()) => publish({ at, ...event }),
    item({ id, workflow }, event, at = now()) {
      // The last words of a worker that was killed can come after its stage was ended. What a call has cost still counts.
      const isLate = state.items.get(id)?.ends.some((end) => end.workflow === workflow);
      if (isLate && event.type !== 'gateway-call') return;
      const known = { at, item: id, workflow };
      if (event.type !== 'item-finished') return publish({ ...known, ...event });
      const following = event.status === 'succeeded' ? stageAfter(pipeline, workflow) : undefined;
      publish({
        ...known,
        ...event,
        outputs: event.outputs.map((path) => (isAbsolute(path) ? shownPath(repository, path) : path)),
        ...(following && { goesOnWith: following.workflow }),
      });
    },
    warn(text) {
      if (!warned.has(text)) publish({ at: now(), type: 'warning', text });
      warned.add(text);
    },
    subscribe: (...more) => void subscribers.push(...more),
  };
}
