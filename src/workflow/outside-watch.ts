import { AgentosError } from '../core/errors.ts';
import { changedOutside, type OutsideView } from '../workspace/outside.ts';

/** Finds what was changed outside of the worktree; every check rejects with `changed-outside`. */
export interface OutsideWatch {
  /** Checks when the work has ended, however it ended. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** As `during`, but what was changed is found by the next check: a look at a large checkout is not free. */
  before<T>(work: () => Promise<T>): Promise<T>;
  /** Looks now, if something ran that was not checked. */
  check(): Promise<void>;
}

/** What was seen just now is still so. */
const FRESH_MS = 5_000;

export function createOutsideWatch(look: () => Promise<OutsideView>, worktree: string): OutsideWatch {
  let last: { view: OutsideView; atMs: number } | null = null;
  let isUnchecked = false;

  const begin = async (): Promise<OutsideView> => {
    if (last === null || (!isUnchecked && performance.now() - last.atMs > FRESH_MS)) {
      last = { view: await look(), atMs: performance.now() };
    }
    isUnchecked = true;
    return last.view;
  };
  const compare = async (before: OutsideView): Promise<void> => {
    const view = await look();
    last = { view, atMs: performance.now() };
    isUnchecked = false;
    const files = changedOutside(before, view);
    if (files.length > 0) throw new AgentosError({ code: 'changed-outside', files, worktree });
  };

  return {
    async during(work) {
      const before = await begin();
      const [ended] = await Promise.allSettled([work()]);
      // Named even if the work failed as well: it is the worse of the two.
      await compare(before);
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    },
    async before(work) {
      await begin();
      return work();
    },
    async check() {
      if (isUnchecked && last !== null) await compare(last.view);
    },
  };
}
