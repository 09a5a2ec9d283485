import type { Journal } from '../journal/port.ts';

/** Stored results are still given out, but no new step begins once the signal has fired. */
export function stoppableJournal(journal: Journal, stop: AbortSignal): Journal {
  return {
    location: journal.location,
    step: (key, run) =>
      journal.step(key, (step) => {
        stop.throwIfAborted();
        return run(step);
      }),
    steps: () => journal.steps(),
    last: (name) => journal.last(name),
    remove: () => journal.remove(),
    close: () => journal.close(),
  };
}
