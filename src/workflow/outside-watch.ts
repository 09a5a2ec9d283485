import { AgentosError } from '../core/errors.ts';
import type { OutsideView } from '../git/checkout-watch.ts';
import { changesOutside } from './checkout-changes.ts';

/** Finds what was changed outside of the worktree while something ran in it. */
export interface OutsideWatch {
  /** Looks first; what is changed by it is found by the next check: a look at a large checkout is not free. */
  before<T>(work: () => Promise<T>): Promise<T>;
  /** Looks now, if something ran that was not checked. Rejects with `changed-outside`. */
  check(): Promise<void>;
  /**
   * A step with such work in it, and a check when it has ended, however it ended. Behind the step and not in it: what was
   * paid for is stored, whatever else is found.
   */
  checked<T>(step: () => Promise<T>): Promise<T>;
}

export interface OutsideWatchOptions {
  look: () => Promise<OutsideView>;
  worktree: string;
  /** Changes that are no fault, each file once. */
  onChanged: (files: string[]) => void;
}

/** What was seen just now is still so. */
const FRESH_MS = 5_000;

export function createOutsideWatch({ look, worktree, onChanged }: OutsideWatchOptions): OutsideWatch {
  let last: { view: OutsideView; atMs: number } | null = null;
  let isUnchecked = false;
  const told = new Set<string>();

  const tell = (files: readonly string[]): void => {
    const fresh = files.filter((file) => !told.has(file));
    for (const file of fresh) told.add(file);
    if (fresh.length > 0) onChanged(fresh);
  };
  const check = async (): Promise<void> => {
    if (!isUnchecked || last === null) return;
    const before = last.view;
    const view = await look();
    last = { view, atMs: performance.now() };
    isUnchecked = false;
    const { files, faults } = changesOutside(before, view);
    if (faults.length > 0) throw new AgentosError({ code: 'changed-outside', files, worktree });
    tell(files);
  };

  return {
    check,
    async before(work) {
      if (last === null || (!isUnchecked && performance.now() - last.atMs > FRESH_MS)) {
        last = { view: await look(), atMs: performance.now() };
      }
      isUnchecked = true;
      return work();
    },
    async checked(step) {
      const [ended] = await Promise.allSettled([step()]);
      // Named even if the work failed as well: it is the worse of the two.
      await check();
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    },
  };
}
