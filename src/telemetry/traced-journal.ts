import type { Journal } from '../journal/port.ts';
import { traced } from './tracer.ts';

/** Every step that really runs is a span; one that is replayed takes no time and is told by its event. */
export function tracedJournal(journal: Journal): Journal {
  return {
    location: journal.location,
    step: (key, run) =>
      journal.step(key, (step) => {
        const attributes = { 'agentos.step': key.name, 'agentos.step.earlier_starts': step.earlierStarts };
        return traced(`step ${key.name}`, { attributes }, () => run(step));
      }),
    steps: () => journal.steps(),
    last: (name) => journal.last(name),
    remove: () => journal.remove(),
    close: () => journal.close(),
  };
}
